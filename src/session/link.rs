//! One socket's hold on its session.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::outbox::{Missed, Owed};
use super::state::{Event, Newest, Phase, Waiting};
use super::{Asked, ConnectionNumber, Entry, Session};
use crate::conversation::{CallEnd, Held, Input, SessionHook};
use crate::hook::UserMessage;
use crate::metrics::counts;
use crate::protocol::{BadEvent, ClientEvent, FileReference, ServerEvent};

/// Events that may wait for a restore.
const MOST_HELD: usize = 256;

/// A page sends faster than anybody can handle; its transport is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many events waiting")]
pub struct Flooded;

/// One socket's hold on its session. Dropping it says that the socket is gone.
pub struct Link {
    session: Arc<Session>,
    number: ConnectionNumber,
    replaced: CancellationToken,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, connection {}", self.session.id, self.number.0)
    }
}

impl Link {
    /// Gives the session this socket. `None` when the session is over.
    pub(super) fn attach(session: Arc<Session>, number: ConnectionNumber) -> Option<Self> {
        let replaced = CancellationToken::new();
        {
            let mut state = session.lock();
            if state.phase == Phase::Ended {
                return None;
            }
            match &state.newest {
                // An older connection, whose login took longer, never displaces a newer one.
                Some(newest) if newest.number > number => replaced.cancel(),
                former => {
                    if let Some(former) = former {
                        former.replaced.cancel();
                    }
                    state.newest = Some(Newest { number, replaced: replaced.clone() });
                    if let Some(since) = state.alone_since.take()
                        && state.was_ready
                    {
                        counts().gap_time.observe(since.elapsed().as_secs_f64());
                    }
                    session.outbox.expect(number);
                }
            }
        }
        Some(Self { session, number, replaced })
    }

    /// Takes an event from the page, in the order in which the frames came. Never waits. A bad event is logged here,
    /// and a person is told where the page shows a message that was refused.
    ///
    /// # Errors
    /// [`Flooded`] when too much is waiting: close the transport.
    pub fn receive(&self, event: Result<ClientEvent, BadEvent>) -> Result<(), Flooded> {
        let session = &self.session;
        if !session.lock().is_newest(self.number) {
            debug!(session = ?session.id, "event of a socket that was replaced");
            return Ok(());
        }
        match event {
            Ok(ClientEvent::ConnectionSuccessful) => {
                session.ready(self.number);
                Ok(())
            }
            Ok(ClientEvent::Message(message)) => {
                let files = session.lock().files_of(&message.files);
                session.take(Event::Message(UserMessage::new(Arc::new(message), files)))
            }
            Ok(ClientEvent::Edit(edited)) => session.take(Event::Edit(edited)),
            Ok(ClientEvent::SettingsChange(values)) => session.take(Event::SettingsChange(values)),
            Ok(ClientEvent::SettingsEdit(values)) => session.take(Event::SettingsEdit(values)),
            // Every page that is open anywhere posts to every window: without a hook it ends here.
            Ok(ClientEvent::WindowMessage(value)) if session.home.settings.hears_window => {
                session.take(Event::Window(value))
            }
            Ok(ClientEvent::Stop) => session.stop(),
            Ok(ClientEvent::ClearSession) => {
                session.clear();
                Ok(())
            }
            // Nobody listens: without an answer the page would go on connecting for ever (chat-wire 2.9, M13).
            Ok(ClientEvent::AudioStart) => {
                if session.config().features.audio.enabled {
                    session.outbox.show(ServerEvent::AudioConnection(false));
                }
                Ok(())
            }
            Ok(ClientEvent::FetchFavorites) => {
                session.show_favorites();
                Ok(())
            }
            Ok(ClientEvent::Favorite(favorite)) => {
                session.star(favorite);
                Ok(())
            }
            // Chunks of a recorder that has not yet heard that it is off.
            Ok(ClientEvent::WindowMessage(_) | ClientEvent::AudioChunk(_) | ClientEvent::AudioEnd) => Ok(()),
            Err(bad) => {
                warn!(session = ?session.id, "event refused: {bad}");
                match bad {
                    BadEvent::Message(_) => session.complain(format!("The message could not be read: {bad}.")),
                    BadEvent::Unknown | BadEvent::Argument(_) => Ok(()),
                }
            }
        }
    }

    /// The next events to write, at most `most`; waits while there are none, and until the page has said
    /// `connection_successful`. `None` when this socket is not the session's any more. Cancel safe.
    pub async fn next(&self, most: usize) -> Option<Vec<Entry>> {
        let entries = loop {
            match self.session.outbox.next(self.number, most).await {
                Some(Owed::Events(entries)) => break Some(entries),
                Some(Owed::Thread) => self.session.refresh(),
                None => break None,
            }
        };
        let faults = &self.session.home.settings.faults;
        let mut entries = entries.map(|entries| faults.tamper(&self.session.id, entries));
        for entry in entries.iter_mut().flatten() {
            self.session.address(&mut entry.event);
        }
        for call in self.session.outbox.take_lost_calls() {
            let end = CallEnd::Disconnected;
            self.session.tell(Input::CallEnded { tab: self.session.tab, call, end });
        }
        entries
    }

    /// Everything up to the entry `number` is known to have reached the page's JavaScript.
    pub fn proven(&self, number: u64) {
        self.session.outbox.proven(number);
    }

    /// The page acknowledged the event of entry `number` (`ask`, `call_fn`) with `value`. A late, doubled or foreign
    /// answer is ignored.
    pub fn answered(&self, number: u64, value: Value) {
        if !self.session.lock().is_newest(self.number) {
            return;
        }
        let Some(asked) = self.session.outbox.asked(number) else {
            info!(session = ?self.session.id, "answer to nothing that was asked");
            return;
        };
        // Who answers has seen the question, and all that came before it.
        self.session.outbox.proven(number);
        let (tab, echo) = (self.session.tab, self.session.outbox.may_have_wiped());
        self.session.tell(match asked {
            Asked::Question(ask) => {
                let references = Vec::<FileReference>::deserialize(&value).unwrap_or_default();
                let files = self.session.lock().files_of(&references);
                Input::Answer { tab, ask, value, files, echo }
            }
            Asked::Call(call) => Input::CallEnded { tab, call, end: CallEnd::Answered(value) },
        });
    }

    /// Whether another socket took the session over.
    #[must_use]
    pub fn is_replaced(&self) -> bool {
        self.replaced.is_cancelled()
    }

    /// Resolves when another socket took the session over: send a Socket.IO DISCONNECT.
    pub async fn replaced(&self) {
        self.replaced.cancelled().await;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let session = &self.session;
        session.outbox.lost(self.number);
        {
            let mut state = session.lock();
            if !state.is_newest(self.number) {
                return;
            }
            state.alone_since = Some(Instant::now());
        }
        if session.home.settings.tells_lines {
            session.tell(Input::Call(session.tab, SessionHook::Disconnect));
        }
    }
}

impl Session {
    /// The page is ready: what it may have missed is said, then whatever is due.
    fn ready(self: &Arc<Self>, number: ConnectionNumber) {
        let wants_thread = self.lock().wanted.is_some();
        debug!(session = ?self.id, connection = number.0, wants_thread, "page is ready");
        let missed = self.outbox.ready(number);
        let (phase, again) = {
            let mut state = self.lock();
            if state.phase == Phase::Open && wants_thread && self.home.settings.faults.forgets_restores() {
                state.phase = Phase::Fresh;
            }
            (state.phase, std::mem::replace(&mut state.was_ready, true))
        };
        if again {
            count_return(missed);
        }
        match phase {
            Phase::Fresh => self.begin(),
            Phase::Undone => self.try_again(),
            Phase::Restoring | Phase::Open | Phase::Ended => {}
        }
        if again && self.home.settings.tells_lines {
            self.tell(Input::Call(self.tab, SessionHook::Reconnect));
        }
    }

    /// Takes an event for the conversation; while the session's thread is under way, it waits.
    fn take(self: &Arc<Self>, event: Event) -> Result<(), Flooded> {
        let retry = {
            let mut state = self.lock();
            match state.phase {
                Phase::Open => {
                    let lease = state.lease.as_ref().ok_or(Flooded)?;
                    // A thread that is still under way wipes it from the page, as if it had waited for the restore.
                    let held = if self.outbox.may_have_wiped() { Held::Waited } else { Held::No };
                    return lease.tell(event.into_input(self.tab, held)).map_err(|_| Flooded);
                }
                Phase::Ended => return Ok(()),
                Phase::Fresh | Phase::Restoring | Phase::Undone => {
                    if state.held.len() >= MOST_HELD {
                        // What windows post is not the page's fault.
                        return if matches!(event, Event::Window(_)) { Ok(()) } else { Err(Flooded) };
                    }
                    let undone = state.phase == Phase::Undone;
                    state.held.push_back(Waiting { event, held: Held::Waited, tried: undone });
                    undone
                }
            }
        };
        if retry {
            self.try_again();
        }
        Ok(())
    }

    /// Stop never waits: what runs is told, what waits will not run.
    fn stop(&self) -> Result<(), Flooded> {
        let mut state = self.lock();
        for waiting in &mut state.held {
            waiting.held = Held::Stopped;
        }
        match &state.lease {
            Some(lease) => lease.tell(Input::Stop(self.tab)).map_err(|_| Flooded),
            None => Ok(()),
        }
    }

    fn complain(&self, text: String) -> Result<(), Flooded> {
        match &self.lock().lease {
            Some(lease) => lease.tell(Input::Complain { tab: self.tab, text }).map_err(|_| Flooded),
            None => Ok(()),
        }
    }

    /// The tab says goodbye for good.
    fn clear(self: &Arc<Self>) {
        self.home.live.remove_if(&self.id, |_, session| Arc::ptr_eq(session, self));
        self.end();
    }

    pub(super) fn tell(&self, input: Input) {
        if let Some(lease) = &self.lock().lease
            && lease.tell(input).is_err()
        {
            warn!(session = ?self.id, "conversation takes no more");
        }
    }
}

/// Counts a page that came back, by what it may have missed.
fn count_return(missed: Missed) {
    let (what, events) = match missed {
        Missed::Events(0) => ("nothing", Some(0)),
        Missed::Events(events) => ("caught_up", Some(events)),
        Missed::Thread => ("thread", None),
        Missed::Outdated => return,
    };
    counts().reconnects.count(what);
    if let Some(events) = events {
        counts().gap_events.observe(events as f64);
    }
}
