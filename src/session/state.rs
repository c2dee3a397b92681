//! The state of a session: which socket counts, how far it has come with its thread, what waits.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ConnectionNumber;
use crate::conversation::{Held, Input, Lease, TabId};
use crate::hook::UserMessage;
use crate::id::{FileId, ThreadId};
use crate::protocol::{EditedMessage, FileReference, StoredFile};
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

/// An event that waits for a restore.
pub(super) struct Waiting {
    pub(super) event: Event,
    pub(super) held: Held,
    /// Whether a restore was tried for its sake.
    pub(super) tried: bool,
}

/// What a page sent for its conversation, in the order of the frames.
pub(super) enum Event {
    /// Somebody wrote something.
    Message(UserMessage),
    /// Somebody changed what they wrote.
    Edit(EditedMessage),
    /// The settings were confirmed.
    SettingsChange(Map<String, Value>),
    /// A field of the settings form changed.
    SettingsEdit(Map<String, Value>),
    /// The window around the page posted something.
    Window(Value),
}

impl Event {
    /// For the conversation.
    pub(super) fn into_input(self, tab: TabId, held: Held) -> Input {
        match self {
            Self::Message(message) => Input::Message { tab, message, held },
            Self::Edit(edited) => Input::Edit { tab, edited, held },
            Self::SettingsChange(values) => Input::SettingsChanged(tab, values),
            Self::SettingsEdit(values) => Input::SettingsEdited(tab, values),
            Self::Window(value) => Input::Window(tab, value),
        }
    }
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

    /// The uploads that references name; unknown ones are passed over (chat-wire 3.2).
    pub(super) fn files_of(&self, references: &[FileReference]) -> Vec<StoredFile> {
        references.iter().filter_map(|reference| self.files.get(&reference.id).cloned()).collect()
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
