//! One live tab: registry, attach and end, restore, its outbox.
//!
//! A session is a small state machine behind a short lock. Sockets come and go without waiting for anything; what has
//! to wait (reading a thread, a hook) is a task of its own that comes back to the machine when it is done. The
//! machine's phase is the gate: while a restore is under way, no queued event of the session is handled.

mod connect;
#[doc(hidden)]
pub mod fault;
mod favorite;
mod link;
mod outbox;
mod page;
mod refresh;
mod restore;
mod state;
mod visit;

pub use connect::{Connect, Refusal};
pub use link::{Flooded, Link};
pub use outbox::{Asked, ConnectionNumber, Entry, Missed, Outbox, Owed};
pub use visit::{NoSuchQuestion, NotTalking, Visit};

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use dashmap::mapref::entry::Entry as MapEntry;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::app::Answers;
use crate::chat::{About, Values};
use crate::config::Config;
use crate::conversation::{Conversations, Input, Member, Owner, SessionHook, TabId};
use crate::id::{SessionId, ThreadId};
use crate::journal::Journal;
use crate::screen::Bounds;
use crate::store::{LiveSession, Store};
use page::Page;
use state::{Phase, State};

/// How sessions behave.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// How long a session without a socket lives.
    pub timeout: Duration,
    /// Whether stored threads can be opened: whether there is an `on_chat_resume`.
    pub resumes: bool,
    /// Whether anybody wants to hear of broken lines.
    pub tells_lines: bool,
    /// Whether anybody wants to hear what windows post.
    pub hears_window: bool,
    /// How much is kept for a page that may have missed it.
    pub bounds: Bounds,
    /// What stands in front of every route: `/chat`, or nothing.
    pub root: String,
    /// What a test lets go wrong.
    pub faults: fault::Faults,
}

/// The live tabs of this process.
pub struct Sessions {
    live: DashMap<SessionId, Arc<Session>>,
    conversations: Arc<Conversations>,
    store: Arc<dyn Store>,
    journal: Journal,
    settings: SessionSettings,
    answers: Answers,
    tracker: tokio_util::task::TaskTracker,
    tabs: AtomicU64,
    closed: AtomicBool,
    /// The keys of the tabs that former processes knew: nobody else's row is looked for.
    former: HashSet<String>,
    clock: crate::clock::Clock,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sessions", self.live.len())
    }
}

/// How the sessions of a process stand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Live tabs.
    pub live: usize,
    /// Those that have a line.
    pub with_line: usize,
    /// What is kept for pages that may have missed it, in bytes.
    pub unproven_bytes: usize,
}

/// One tab.
pub(crate) struct Session {
    id: SessionId,
    tab: TabId,
    owner: Option<Owner>,
    about: About,
    /// The settings that hold for the page: those of its profile, or of the profile of the thread that it resumed.
    config: Mutex<Arc<Config>>,
    outbox: Arc<Outbox>,
    home: Arc<Sessions>,
    state: Mutex<State>,
}

/// What sessions stand on.
pub struct Foundation {
    /// What they speak into.
    pub conversations: Arc<Conversations>,
    /// Where threads are read.
    pub store: Arc<dyn Store>,
    /// Where their rows are written, behind.
    pub journal: Journal,
    /// The keys of the tabs that former processes knew.
    pub former: HashSet<String>,
    /// How they behave.
    pub settings: SessionSettings,
    /// What the application answers: which profiles there are and what they change.
    pub answers: Answers,
    /// Every task is tracked.
    pub tracker: tokio_util::task::TaskTracker,
    /// The time of day.
    pub clock: crate::clock::Clock,
}

impl Sessions {
    /// No sessions yet.
    #[must_use]
    pub fn new(foundation: Foundation) -> Arc<Self> {
        let Foundation { conversations, store, journal, former, settings, answers, tracker, clock } = foundation;
        Arc::new(Self {
            live: DashMap::new(),
            conversations,
            store,
            journal,
            settings,
            answers,
            tracker,
            tabs: AtomicU64::new(1),
            closed: AtomicBool::new(false),
            former,
            clock,
        })
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

    /// How they stand. Costs a look at every session.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let mut figures = Figures { live: self.live.len(), ..Figures::default() };
        for session in &self.live {
            figures.with_line += usize::from(session.lock().alone_since.is_none());
            figures.unproven_bytes += session.outbox.unproven_bytes();
        }
        figures
    }

    /// From now on nobody connects any more.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Ends the sessions that have had no socket for longer than the timeout. A session is removed only when nobody
    /// else holds it and it is still expired. Costs a look at every session.
    pub fn sweep(&self, now: Instant) {
        let expired: Vec<SessionId> = self
            .live
            .iter()
            .filter(|entry| entry.value().lock().is_expired(now, self.settings.timeout))
            .map(|entry| entry.key().clone())
            .collect();
        for id in expired {
            let removed = self.live.remove_if(&id, |_, session| {
                Arc::strong_count(session) == 1 && session.lock().is_expired(now, self.settings.timeout)
            });
            if let Some((_, session)) = removed {
                info!(session = ?session.id, "session expired");
                session.end();
            }
        }
    }

    /// When the next sweep is due, after one.
    #[must_use]
    pub fn sweep_interval(&self) -> Duration {
        (self.settings.timeout / 4).clamp(Duration::from_millis(250), Duration::from_secs(30))
    }

    fn session(
        self: &Arc<Self>,
        page: &Connect,
        former: Option<LiveSession>,
        config: &Arc<Config>,
    ) -> Result<Arc<Session>, Refusal> {
        let fresh = || {
            let tab = TabId(self.tabs.fetch_add(1, Ordering::Relaxed));
            Arc::new(Session::new(self.clone(), tab, page, former, config.clone()))
        };
        match self.live.entry(page.session.clone()) {
            MapEntry::Occupied(entry) => {
                let session = entry.get().clone();
                let same = session.owner.as_ref().map(|owner| &owner.identifier)
                    == page.user.as_ref().map(|user| &user.identifier);
                if same { Ok(session) } else { Err(Refusal::NotYours) }
            }
            MapEntry::Vacant(entry) => {
                page.has_values(config)?;
                let session = fresh();
                entry.insert(session.clone());
                Ok(session)
            }
        }
    }
}

impl Session {
    fn new(home: Arc<Sessions>, tab: TabId, page: &Connect, former: Option<LiveSession>, config: Arc<Config>) -> Self {
        let thread = match &former {
            Some(former) => former.thread.clone(),
            None => ThreadId::random(),
        };
        let about = About {
            session: page.session.clone(),
            thread: thread.clone(),
            user: page.user.clone(),
            client_type: page.client_type.clone(),
            chat_profile: page.chat_profile.clone(),
            language: page.language.clone(),
            user_env: page.user_env.clone(),
            headers: page.headers.clone().into(),
            config: config.clone(),
        };
        let owner = page.user.as_ref().map(|user| Owner { id: user.id.clone(), identifier: user.identifier.clone() });
        Self {
            id: page.session.clone(),
            tab,
            owner,
            about,
            config: Mutex::new(config),
            outbox: Arc::new(Outbox::new(home.settings.bounds)),
            home,
            state: Mutex::new(State::new(thread, page.thread.clone(), former)),
        }
    }

    /// The settings that hold for the page now.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn member(self: &Arc<Self>, thread: &ThreadId) -> Member {
        let mut about = self.about.clone();
        about.thread = thread.clone();
        about.config = self.config();
        let page = Page::new(self);
        Member { id: self.tab, page: Arc::new(page), about: Arc::new(about), values: Arc::new(Values::default()) }
    }

    /// Writes the row that tells a next process of this tab, behind.
    fn remember(&self, thread: &ThreadId, stored: bool) {
        self.home.journal.remember(LiveSession {
            hash: self.id.key(),
            thread: thread.clone(),
            owner: self.owner.as_ref().map(|owner| owner.identifier.clone()),
            greeted: true,
            stored,
            seen_at: self.home.clock.now(),
        });
    }

    /// The tab is over: `on_chat_end` once, then it leaves its conversation and gives everything back.
    fn end(self: &Arc<Self>) {
        let lease = {
            let mut state = self.lock();
            if state.phase == Phase::Ended {
                return;
            }
            state.phase = Phase::Ended;
            state.held.clear();
            state.lease.take()
        };
        self.home.journal.forget(self.id.key());
        if let Some(lease) = lease {
            let tab = self.tab;
            self.home.tracker.spawn(async move {
                let told = lease.tell_surely(Input::Call(tab, SessionHook::End)).await;
                if told.and(lease.tell_surely(Input::Leave(tab)).await).is_err() {
                    warn!("conversation was over before its tab left");
                }
            });
        }
    }
}
