//! The state of a session: which socket counts, how far it has come with its thread, what waits.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ConnectionNumber;
use crate::conversation::{Held, Lease};
use crate::id::{FileId, ThreadId};
use crate::protocol::{ClientMessage, StoredFile};
use crate::store::LiveSession;

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its page has not said that it is ready. Loading a page makes sessions that never get further.
    Fresh,
    /// Its thread is being read, its hook runs. Events wait.
    Restoring,
    /// The restore failed: the next socket or event tries again first.
    Undone,
    /// It takes part in its conversation. It never goes back from here.
    Open,
    /// It is over.
    Ended,
}

pub(super) struct State {
    pub(super) phase: Phase,
    /// The newest socket; only what it says counts.
    pub(super) newest: Option<Newest>,
    /// Since when there has been no socket.
    pub(super) alone_since: Option<Instant>,
    /// Whether a page was ready before: the next one is a reconnect.
    pub(super) was_ready: bool,
    pub(super) lease: Option<Lease>,
    /// The thread it is on, or will make.
    pub(super) thread: ThreadId,
    /// The thread that its page asked for at first.
    pub(super) wanted: Option<ThreadId>,
    /// What a former process knew of it.
    pub(super) former: Option<LiveSession>,
    pub(super) held: VecDeque<Waiting>,
    /// Its uploads. They are kept for as long as it lives, and its messages and answers may refer to them.
    pub(super) files: HashMap<FileId, StoredFile>,
}

/// The socket that counts.
pub(super) struct Newest {
    pub(super) number: ConnectionNumber,
    pub(super) replaced: CancellationToken,
}

/// A message that waits for a restore.
pub(super) struct Waiting {
    pub(super) message: Arc<ClientMessage>,
    pub(super) held: Held,
    /// Whether a restore was tried for its sake.
    pub(super) tried: bool,
}

impl State {
    pub(super) fn new(thread: ThreadId, wanted: Option<ThreadId>, former: Option<LiveSession>) -> Self {
        Self {
            phase: Phase::Fresh,
            newest: None,
            alone_since: Some(Instant::now()),
            was_ready: false,
            lease: None,
            thread,
            wanted,
            former,
            held: VecDeque::new(),
            files: HashMap::new(),
        }
    }

    /// Whether a socket is the one that counts.
    pub(super) fn is_newest(&self, number: ConnectionNumber) -> bool {
        self.newest.as_ref().is_some_and(|newest| newest.number == number)
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    pub(super) fn is_expired(&self, now: Instant, timeout: Duration) -> bool {
        self.alone_since.is_some_and(|since| now.saturating_duration_since(since) >= timeout)
    }
}
