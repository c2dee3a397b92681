//! What the tabs of a thread share: runs, questions, chat context, the ordered feed; and bringing a tab to its thread.
//!
//! A conversation is one task that owns its state; sessions and hooks speak to it through bounded channels. It lives
//! while a session is on it or a run works in it.

mod ask;
mod call;
mod cancel;
mod context;
mod edit;
mod element;
mod errand;
mod feed;
mod function;
mod job;
mod order;
mod outline;
mod overtaken;
mod preview;
mod renew;
mod restore;
mod run;
mod state;
mod tab;
mod task;
mod turn;
mod words;

pub use cancel::{Cancel, Cancelled, Told};
pub use element::ElementChange;
pub use function::CallEnd;
pub use job::SessionHook;
pub use preview::{Lagged, Piece, Previews};
pub use restore::Restored;
pub use tab::{Member, Tab, TabId};
pub use turn::Held;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::chat::FileKeeper;
use crate::clock::Clock;
use crate::hook::{HookRuntime, UserMessage};
use crate::id::{ElementId, StepId, ThreadId, UserId};
use crate::journal::Journal;
use crate::protocol::{Action, CallId, EditedMessage, FavoriteMessage, StoredFile, Thread};

/// Inputs wait for a conversation up to this many; a tab that sends more is cut off.
const INBOX: usize = 1024;

/// Words of hooks wait up to this many; a hook that says more waits.
const WORDS: usize = 256;

/// When what a hook says is shown (promise 15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// When it is stored, or after 250 ms without an answer of the store.
    #[default]
    Stored,
    /// At once; it is stored behind.
    AtOnce,
}

/// What conversations are told by the configuration and by what the application registered.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When things are shown.
    pub show: Show,
    /// Whether a hook's error is shown as it reads, rather than as one plain sentence.
    pub show_errors: bool,
    /// How long running hooks may go on when the server stops.
    pub grace: Duration,
    /// Whether there is an `on_chat_start`.
    pub greets: bool,
    /// Whether there is an `on_message`.
    pub answers: bool,
    /// Whether there is an `on_chat_resume`.
    pub resumes: bool,
    /// Whether there is an `on_settings_update`.
    pub hears_settings: bool,
    /// Whether there is an `on_settings_edit`.
    pub hears_edits: bool,
}

/// Who owns a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The row.
    pub id: Option<UserId>,
    /// The identifier.
    pub identifier: String,
}

/// What all conversations share.
pub struct Shared {
    /// The application.
    pub app: App,
    /// Where records go.
    pub journal: Journal,
    /// Where hooks run.
    pub hooks: HookRuntime,
    /// Where their files are kept.
    pub files: Arc<dyn FileKeeper>,
    /// The time of day.
    pub clock: Clock,
    /// How things are done.
    pub settings: Arc<Settings>,
    /// Every task is tracked.
    pub tracker: TaskTracker,
    /// Ends every conversation, after the grace period.
    pub stop: CancellationToken,
}

/// The conversations of this process.
pub struct Conversations {
    live: DashMap<ThreadId, Arc<Handle>>,
    taps: preview::Taps,
    shared: Arc<Shared>,
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} conversations", self.live.len())
    }
}

/// How a conversation is reached.
pub(crate) struct Handle {
    /// Boxed: a channel keeps room for many, and an idle tab should not.
    inputs: mpsc::Sender<Box<Input>>,
    holders: AtomicUsize,
    owner: Option<String>,
    /// Everything that runs was told to stop.
    stopping: AtomicBool,
}

/// What a session tells its conversation.
pub(crate) enum Input {
    /// A tab takes part from here on.
    Join(Member),
    /// Call `on_chat_start` for a tab.
    Greet(TabId),
    /// A tab's thread is about to be read: it may be once `ready` is told.
    Prepare { member: Member, ready: oneshot::Sender<()> },
    /// It was read: marker, hook, thread.
    Restore { tab: TabId, thread: Thread, files: Vec<(StepId, StoredFile)>, done: oneshot::Sender<Restored> },
    /// A tab needs its thread once more; which one has to be read for it, or none.
    Renew { tab: TabId, answer: oneshot::Sender<Option<ThreadId>> },
    /// It was read; `None` when it could not be.
    Renewed { tab: TabId, read: Option<Option<Thread>> },
    /// Somebody wrote something.
    Message { tab: TabId, message: UserMessage, held: Held },
    /// Somebody changed what they wrote.
    Edit { tab: TabId, edited: EditedMessage, held: Held },
    /// Somebody confirmed the settings.
    SettingsChanged(TabId, Map<String, Value>),
    /// Somebody changed a field of the settings form.
    SettingsEdited(TabId, Map<String, Value>),
    /// The window around a page posted something.
    Window(TabId, Value),
    /// Somebody pressed a button.
    Act { tab: TabId, action: Action, answer: oneshot::Sender<Value> },
    /// A page changes a custom element.
    ChangeElement(ElementChange, oneshot::Sender<bool>),
    /// A page takes a custom element away.
    RemoveElement(ElementId, oneshot::Sender<bool>),
    /// A page has done with a call of a function.
    CallEnded { tab: TabId, call: CallId, end: CallEnd },
    /// Somebody starred a message that they wrote here; false: it is not of this conversation.
    Star(FavoriteMessage, oneshot::Sender<bool>),
    /// Something that a tab sent was not taken.
    Complain { tab: TabId, text: String },
    /// Somebody pressed stop.
    Stop(TabId),
    /// A request to stop everything that runs, or one run.
    Cancel(Cancel, oneshot::Sender<Told>),
    /// Somebody answered a question.
    Answer { tab: TabId, ask: StepId, value: Value, files: Vec<StoredFile>, echo: bool },
    /// Call a hook for a tab.
    Call(TabId, SessionHook),
    /// A tab leaves.
    Leave(TabId),
    /// The thread was deleted.
    Deleted,
    /// A run that works here was settled by somebody else.
    Overtaken(StepId),
    /// Runs of a dead process were settled: these steps have changed in the store.
    Settled(Vec<StepId>),
    /// The store was asked for what pages show in doubt.
    LookedUp(overtaken::Doubtful, Thread),
    /// Tell what streams, as far as it is.
    SoFar(oneshot::Sender<Vec<Piece>>),
    /// Look whether anybody still needs you.
    Look,
}

/// The conversation is over, or takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overfull;

/// A session's hold on a conversation, which lives at least as long.
pub(crate) struct Lease(Arc<Handle>);

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lease")
    }
}

impl Lease {
    /// Tells the conversation something. Never waits.
    pub(crate) fn tell(&self, input: Input) -> Result<(), Overfull> {
        self.0.inputs.try_send(Box::new(input)).map_err(|_| Overfull)
    }

    /// Tells the conversation something that must not be dropped.
    pub(crate) async fn tell_surely(&self, input: Input) -> Result<(), Overfull> {
        self.0.inputs.send(Box::new(input)).await.map_err(|_| Overfull)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.holders.fetch_sub(1, Ordering::AcqRel);
        // When the channel is full, the task looks by itself after what is in it.
        let _ = self.0.inputs.try_send(Box::new(Input::Look));
    }
}

impl Conversations {
    /// No conversations yet.
    #[must_use]
    pub fn new(shared: Shared) -> Arc<Self> {
        Arc::new(Self { live: DashMap::new(), taps: preview::Taps::default(), shared: Arc::new(shared) })
    }

    /// How many are live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live.len()
    }

    /// Whether none is live.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// A conversation of its own on a thread that is not stored. `None` when another one has that id: two visitors
    /// who chose the same id must not meet.
    pub(crate) fn begin(self: &Arc<Self>, thread: &ThreadId, owner: Option<Owner>) -> Option<Lease> {
        match self.live.entry(thread.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(place) => {
                let handle = self.spawn(thread.clone(), owner, false);
                place.insert(handle.clone());
                Some(Lease(handle))
            }
        }
    }

    /// The conversation on a stored thread that belongs to `owner`; made when there is none. `None` when it is live
    /// with another owner.
    pub(crate) fn open(self: &Arc<Self>, thread: &ThreadId, owner: Option<Owner>) -> Option<Lease> {
        match self.live.entry(thread.clone()) {
            Entry::Occupied(place) => {
                let handle = place.get();
                if handle.owner.as_deref() != owner.as_ref().map(|owner| owner.identifier.as_str()) {
                    return None;
                }
                handle.holders.fetch_add(1, Ordering::AcqRel);
                Some(Lease(handle.clone()))
            }
            Entry::Vacant(place) => {
                let handle = self.spawn(thread.clone(), owner, true);
                place.insert(handle.clone());
                Some(Lease(handle))
            }
        }
    }

    /// Tells whoever follows a thread, and the conversation on it, if there is one, that it was deleted.
    pub async fn deleted(&self, thread: &ThreadId) {
        self.shared.journal.look(thread);
        let handle = self.live.get(thread).map(|entry| entry.value().clone());
        if let Some(handle) = handle {
            let _ = handle.inputs.send(Box::new(Input::Deleted)).await;
        }
    }

    fn spawn(self: &Arc<Self>, thread: ThreadId, owner: Option<Owner>, saved: bool) -> Arc<Handle> {
        let (inputs, inbox) = mpsc::channel(INBOX);
        let (words, heard) = mpsc::channel(WORDS);
        let shared = self.shared.clone();
        let handle = Arc::new(Handle {
            inputs,
            holders: AtomicUsize::new(1),
            owner: owner.as_ref().map(|owner| owner.identifier.clone()),
            stopping: AtomicBool::new(false),
        });
        let state = state::Conversation::new(thread.clone(), owner, saved, &shared);
        let task = task::Task {
            state,
            feed: feed::Feed::default(),
            inputs: inbox,
            words: heard,
            caller: call::Caller { shared: shared.clone(), words },
            handle: handle.clone(),
            home: self.clone(),
            keys: vec![thread],
            partials_due: None,
            closing: None,
            tap: preview::Tap::default(),
        };
        shared.tracker.spawn(task.run());
        handle
    }

    fn also_known_as(&self, thread: ThreadId, handle: &Arc<Handle>) {
        self.live.insert(thread, handle.clone());
    }

    /// Takes a conversation off the list when nobody holds it. False when somebody does.
    fn forget(&self, thread: &ThreadId, handle: &Arc<Handle>) -> bool {
        let unheld = |known: &Arc<Handle>| Arc::ptr_eq(known, handle) && known.holders.load(Ordering::Acquire) == 0;
        let removed = self.live.remove_if(thread, |_, known| unheld(known)).is_some();
        removed || !self.live.get(thread).is_some_and(|known| Arc::ptr_eq(known.value(), handle))
    }
}
