//! What streams in a conversation, for whoever follows it over HTTP: pieces of a text that are never stored, and may be
//! lost. Nobody is waited for: whoever does not keep up is told so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use tokio::sync::{broadcast, oneshot};

use super::state::{Conversation, Growing};
use super::{Conversations, Input};
use crate::chat::Speaker;
use crate::id::{ExecutionId, StepId, ThreadId};
use crate::protocol::Token;
use crate::screen::grow;

/// Pieces that wait for the slowest follower of a thread; whoever is further behind misses some.
const ROOM: usize = 256;

/// A piece of a text that grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The run it is output of.
    pub execution: Option<ExecutionId>,
    /// The message or step that grows.
    pub entity: StepId,
    /// Where the piece begins in its text, counted as JavaScript counts (UTF-16); at 0 the text begins anew.
    pub offset: usize,
    /// The piece.
    pub text: Arc<str>,
}

impl Piece {
    /// Where the next piece begins.
    #[must_use]
    pub fn end(&self) -> usize {
        self.offset + units(&self.text)
    }
}

/// A follower missed pieces: only what [`Previews::so_far`] gives is whole again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lagged;

/// The threads whose previews somebody follows.
#[derive(Debug, Default)]
pub(super) struct Taps {
    threads: DashMap<ThreadId, broadcast::Sender<Piece>>,
    /// Counts followers that came, so that a conversation looks for them only then.
    came: AtomicU64,
}

impl Taps {
    fn join(&self, thread: &ThreadId) -> broadcast::Receiver<Piece> {
        let entry = self.threads.entry(thread.clone()).or_insert_with(|| broadcast::Sender::new(ROOM));
        let receiver = entry.subscribe();
        drop(entry);
        self.came.fetch_add(1, Ordering::Release);
        receiver
    }

    fn leave(&self, thread: &ThreadId) {
        self.threads.remove_if(thread, |_, sender| sender.receiver_count() == 0);
    }
}

/// A conversation's way to its followers. Without any it costs a look at a number.
#[derive(Debug, Default)]
pub(super) struct Tap {
    came: u64,
    sender: Option<broadcast::Sender<Piece>>,
}

impl Tap {
    /// Whether anybody follows.
    pub fn is_on(&mut self, taps: &Taps, thread: &ThreadId) -> bool {
        let came = taps.came.load(Ordering::Acquire);
        if came != self.came {
            self.came = came;
            self.sender = taps.threads.get(thread).map(|sender| sender.value().clone());
        }
        self.sender.is_some()
    }

    /// Tells the followers.
    pub fn tell(&mut self, piece: Piece) {
        if self.sender.as_ref().is_some_and(|sender| sender.send(piece).is_err()) {
            // The last one has left; the next one is counted.
            self.sender = None;
        }
    }

    /// The thread has another id now.
    pub fn look_again(&mut self) {
        *self = Self::default();
    }
}

/// Somebody's place among the followers of what streams in a thread, whether a conversation works on it or not.
pub struct Previews {
    home: Arc<Conversations>,
    thread: ThreadId,
    /// None only while it is dropped.
    pieces: Option<broadcast::Receiver<Piece>>,
}

impl Conversations {
    /// Follows what streams in a thread from here on.
    #[must_use]
    pub fn previews(self: &Arc<Self>, thread: &ThreadId) -> Previews {
        Previews { home: Arc::clone(self), thread: thread.clone(), pieces: Some(self.taps.join(thread)) }
    }

    /// How many threads have followers of their previews.
    #[must_use]
    pub fn previewed(&self) -> usize {
        self.taps.threads.len()
    }
}

impl Previews {
    /// Asks for every text that streams now, whole, as a piece at offset 0; none where no conversation works on the
    /// thread. What [`Previews::next`] gives afterwards may overlap it, and leaves no gap to it.
    #[must_use]
    pub fn so_far(&self) -> Option<oneshot::Receiver<Vec<Piece>>> {
        let (answer, pieces) = oneshot::channel();
        let handle = self.home.live.get(&self.thread).map(|entry| entry.value().clone())?;
        handle.inputs.try_send(Box::new(Input::SoFar(answer))).ok()?;
        Some(pieces)
    }

    /// The next piece; waits for ever while nothing streams. Cancel safe.
    ///
    /// # Errors
    /// When pieces were missed.
    pub async fn next(&mut self) -> Result<Piece, Lagged> {
        match &mut self.pieces {
            Some(pieces) => match pieces.recv().await {
                Ok(piece) => Ok(piece),
                Err(broadcast::error::RecvError::Lagged(_)) => Err(Lagged),
                // Cannot be: the entry lives as long as its followers.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            },
            None => std::future::pending().await,
        }
    }

    /// The next piece, if there is one.
    ///
    /// # Errors
    /// When pieces were missed.
    pub fn next_now(&mut self) -> Result<Option<Piece>, Lagged> {
        match self.pieces.as_mut().map(broadcast::Receiver::try_recv) {
            Some(Ok(piece)) => Ok(Some(piece)),
            Some(Err(broadcast::error::TryRecvError::Lagged(_))) => Err(Lagged),
            Some(Err(_)) | None => Ok(None),
        }
    }
}

impl Drop for Previews {
    fn drop(&mut self) {
        drop(self.pieces.take());
        self.home.taps.leave(&self.thread);
    }
}

impl Conversation {
    /// Every text that streams, whole. What belongs to an attempt to restore is nobody else's yet.
    pub(super) fn so_far(&self) -> Vec<Piece> {
        let theirs = self.growing.values().filter(|growing| growing.speaker.attempt.is_none());
        theirs.filter_map(Growing::whole).collect()
    }

    /// What was just said is a piece of a text, for followers.
    pub(super) fn grew(&mut self, speaker: &Speaker, piece: Option<Piece>) {
        if speaker.attempt.is_none()
            && let Some(item) = self.items.last_mut()
        {
            item.showing.piece = piece;
        }
    }
}

impl Growing {
    /// The text so far.
    pub(super) fn whole(&self) -> Option<Piece> {
        let text = &self.step.output;
        (!text.is_empty()).then(|| self.piece(0, text))
    }

    /// It grows by a token: as followers are told. An input has no preview.
    pub(super) fn grow(&mut self, token: &Token, is_followed: bool) -> Option<Piece> {
        grow(&mut self.step, token);
        self.changed = true;
        if token.is_input {
            return None;
        }
        let offset = if token.is_sequence { 0 } else { self.units };
        self.units = offset + units(&token.token);
        is_followed.then(|| self.piece(offset, &token.token))
    }

    fn piece(&self, offset: usize, text: &str) -> Piece {
        Piece { execution: self.speaker.run.clone(), entity: self.step.id.clone(), offset, text: Arc::from(text) }
    }
}

/// How long JavaScript finds a text.
pub(super) fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}
