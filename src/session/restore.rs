//! Where a session begins: a new conversation, or its stored thread — restored once, proven by the outbox.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::Session;
use super::state::{Phase, State};
use crate::conversation::{Held, Input, Lease, Restored};
use crate::id::{FileId, StepId, ThreadId};
use crate::protocol::{ServerEvent, StoredFile, Thread, Toast, ToastKind};
use crate::store::StoreError;

/// What a page asked for turned out to be.
enum Found {
    /// A thread of its visitor, with the profile that it was made under.
    Own(Option<String>),
    /// Nothing: the id is free.
    Nothing,
    /// Somebody else's, or no id at all. Shown as nothing.
    Foreign,
}

impl Session {
    /// The first page is ready: what the session begins with is decided, once.
    pub(super) fn begin(self: &Arc<Self>) {
        let (wanted, known) = {
            let mut state = self.lock();
            if state.phase != Phase::Fresh {
                return;
            }
            let known = state.former.as_ref().filter(|former| former.stored).map(|former| former.thread.clone());
            let wanted = known.clone().or_else(|| state.wanted.clone());
            if wanted.is_none() {
                let blank = state.former.take().is_some_and(|former| former.greeted);
                self.open_new(&mut state, blank);
                return;
            }
            state.phase = Phase::Restoring;
            (wanted, known.is_some())
        };
        if let Some(wanted) = wanted {
            self.clone().spawn_restore(wanted, known);
        }
    }

    /// A restore failed before: this socket or event tries again.
    pub(super) fn try_again(self: &Arc<Self>) {
        let wanted = {
            let mut state = self.lock();
            if state.phase != Phase::Undone {
                return;
            }
            state.phase = Phase::Restoring;
            let known = state.former.as_ref().filter(|former| former.stored).map(|former| former.thread.clone());
            let from_former = known.is_some();
            known.or_else(|| state.wanted.clone()).map(|wanted| (wanted, from_former))
        };
        if let Some((wanted, known)) = wanted {
            self.clone().spawn_restore(wanted, known);
        }
    }

    fn spawn_restore(self: Arc<Self>, wanted: ThreadId, known: bool) {
        let tracker = self.home.tracker.clone();
        tracker.spawn(async move { self.restore(wanted, known).await });
    }

    /// Reads the thread and restores it, or finds that there is none.
    async fn restore(self: Arc<Self>, wanted: ThreadId, known: bool) {
        // A thread that this very tab was on before a restart is its own even without a resume hook.
        let may = known || (self.home.settings.resumes && self.owner.is_some());
        if let Err(failure) = self.open_wanted(wanted, may).await {
            error!(session = ?self.id, %failure, "thread could not be read");
            self.lock().phase = Phase::Undone;
            let message = "The server cannot reach its store. Try again in a moment.".to_owned();
            self.outbox.show(ServerEvent::Toast(Toast { message, kind: ToastKind::Error }));
            self.outbox.show(ServerEvent::TaskEnd);
        }
    }

    async fn open_wanted(self: &Arc<Self>, wanted: ThreadId, may: bool) -> Result<(), StoreError> {
        match self.look_for(&wanted).await? {
            Found::Own(profile) if may => {
                self.take_profile(profile.as_deref()).await;
                self.restore_own(&wanted).await?;
            }
            Found::Own(_) => self.open_stored(&wanted),
            Found::Nothing => self.open_missing(wanted),
            Found::Foreign => self.open_missing(ThreadId::random()),
        }
        Ok(())
    }

    async fn look_for(&self, wanted: &ThreadId) -> Result<Found, StoreError> {
        let owner = self.owner.as_ref().map(|owner| &owner.identifier);
        Ok(match self.home.store.thread_head(wanted).await? {
            Some(head) if head.owner.as_ref() == owner => {
                let profile = head.metadata.get("chat_profile").and_then(Value::as_str);
                Found::Own(profile.filter(|name| !name.is_empty()).map(str::to_owned))
            }
            Some(_) => Found::Foreign,
            None if wanted.is_uuid4() => Found::Nothing,
            None => Found::Foreign,
        })
    }

    /// A thread goes on under the profile that it was made under, whatever the page had chosen. (The page asks for that
    /// profile's settings and connects again, chat-wire 1.8; nothing of that is a new session.)
    async fn take_profile(&self, profile: Option<&str>) {
        if profile.is_none() || profile == self.about.chat_profile.as_deref() {
            return;
        }
        let user = self.about.user.as_ref();
        let config = self.home.answers.settings(user, &self.about.language, profile).await;
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
    }

    async fn restore_own(self: &Arc<Self>, wanted: &ThreadId) -> Result<(), StoreError> {
        let Some(lease) = self.lease_on(wanted) else {
            self.open_missing(ThreadId::random());
            return Ok(());
        };
        // Prepared before it is read, or what happens between the two is lost. A conversation may be busy for a while.
        let (ready, prepared) = oneshot::channel();
        let told = lease.tell_surely(Input::Prepare { member: self.member(wanted), ready }).await;
        if told.is_err() || prepared.await.is_err() {
            // It ended this moment. Not to be left restoring for ever: the next socket or event finds another one.
            warn!(session = ?self.id, thread = %wanted, "conversation was over before its tab could be restored");
            self.undone();
            return Ok(());
        }
        let stored = self.home.store.thread(wanted).await;
        let thread = match stored {
            Ok(Some(stored)) => stored.thread,
            Ok(None) => {
                let _ = lease.tell_surely(Input::Leave(self.tab)).await;
                self.open_missing(wanted.clone());
                return Ok(());
            }
            Err(failure) => {
                let _ = lease.tell_surely(Input::Leave(self.tab)).await;
                return Err(failure);
            }
        };
        let files = self.files_of(&thread).await;
        let (done, restored) = oneshot::channel();
        let told = lease.tell_surely(Input::Restore { tab: self.tab, thread, files, done }).await;
        if let Some(lease) = self.keep(lease, wanted) {
            // The session ended meanwhile.
            let _ = lease.tell_surely(Input::Leave(self.tab)).await;
            return Ok(());
        }
        let outcome = if told.is_ok() { restored.await.unwrap_or(Restored::Failed) } else { Restored::Failed };
        match outcome {
            Restored::Done => {
                info!(session = ?self.id, thread = %wanted, "thread resumed");
                self.remember(wanted, true);
                self.open();
            }
            Restored::Failed => self.undone(),
        }
        Ok(())
    }

    /// The files that came with the messages of a thread: a message that is changed is answered with them again. Without
    /// them it is answered all the same.
    async fn files_of(&self, thread: &Thread) -> Vec<(StepId, StoredFile)> {
        let uploads = thread.elements.iter().filter(|element| element.is_upload());
        let sent: Vec<(&StepId, &FileId)> =
            uploads.filter_map(|element| element.for_id.as_ref().zip(element.chainlit_key.as_ref())).collect();
        if sent.is_empty() {
            return Vec::new();
        }
        let ids: Vec<FileId> = sent.iter().map(|&(_, id)| id.clone()).collect();
        let rows = self.home.store.files(&ids).await.unwrap_or_else(|failure| {
            warn!(session = ?self.id, %failure, "what came with messages could not be read");
            Vec::new()
        });
        let kept: HashMap<FileId, StoredFile> = rows.into_iter().map(|row| (row.file.id.clone(), row.file)).collect();
        sent.into_iter().filter_map(|(message, id)| Some((message.clone(), kept.get(id)?.clone()))).collect()
    }

    /// The conversation on a stored thread: the one that a failed attempt left, or a new hold on it.
    fn lease_on(self: &Arc<Self>, wanted: &ThreadId) -> Option<Lease> {
        let kept = self.lock().lease.take();
        kept.or_else(|| self.home.conversations.open(wanted, self.owner.clone()))
    }

    /// Keeps the conversation: from here on stop and answers find it, though events still wait. Gives it back when the
    /// session is over.
    fn keep(&self, lease: Lease, thread: &ThreadId) -> Option<Lease> {
        let mut state = self.lock();
        if state.phase == Phase::Ended {
            return Some(lease);
        }
        state.lease = Some(lease);
        state.thread = thread.clone();
        None
    }

    /// The restore is done: what waited has its turn.
    fn open(&self) {
        let mut state = self.lock();
        if state.phase == Phase::Ended {
            return;
        }
        state.phase = Phase::Open;
        self.let_go(&mut state);
    }

    fn let_go(&self, state: &mut State) {
        let State { held, lease, .. } = state;
        let Some(lease) = lease else { return };
        for waiting in held.drain(..) {
            if lease.tell(waiting.event.into_input(self.tab, waiting.held)).is_err() {
                error!(session = ?self.id, "conversation takes no more, an event that waited is lost");
            }
        }
    }

    /// The hook failed. A message that waits is an event that tries again, once for each.
    fn undone(self: &Arc<Self>) {
        let retry = {
            let mut state = self.lock();
            if state.phase == Phase::Ended {
                return;
            }
            state.phase = Phase::Undone;
            let untried = state.held.iter_mut().find(|waiting| !waiting.tried);
            untried.map(|waiting| waiting.tried = true).is_some()
        };
        if retry {
            self.try_again();
        }
    }

    /// There is no such thread for this visitor: told once, then a new conversation. An application that does not
    /// resume threads says nothing of one.
    fn open_missing(self: &Arc<Self>, thread: ThreadId) {
        let mut state = self.lock();
        if state.phase == Phase::Ended {
            return;
        }
        if self.home.settings.resumes || state.former.is_some() {
            self.outbox.show(ServerEvent::ResumeThreadError("Thread not found.".into()));
        }
        state.thread = thread;
        state.lease = None;
        let blank = state.former.take().is_some();
        self.open_new(&mut state, blank);
    }

    /// A stored thread of an application that does not resume: the page goes on in it as if it were new.
    fn open_stored(self: &Arc<Self>, thread: &ThreadId) {
        let mut state = self.lock();
        if state.phase == Phase::Ended {
            return;
        }
        let Some(lease) = self.home.conversations.open(thread, self.owner.clone()) else {
            return self.open_new(&mut state, false);
        };
        state.thread = thread.clone();
        self.enter(&mut state, lease);
        self.remember(thread, true);
    }

    /// A new conversation: joined, greeted. `blank`: the page shows what a former process greeted it with.
    fn open_new(self: &Arc<Self>, state: &mut State, blank: bool) {
        let lease = loop {
            match self.home.conversations.begin(&state.thread, self.owner.clone()) {
                Some(lease) => break lease,
                // Another tab invented the same id first.
                None => state.thread = ThreadId::random(),
            }
        };
        if blank {
            let thread = Thread {
                id: state.thread.clone(),
                created_at: Some(self.home.clock.now()),
                name: None,
                user_id: None,
                user_identifier: None,
                tags: None,
                metadata: serde_json::Map::new(),
                steps: Vec::new(),
                elements: Vec::new(),
            };
            self.outbox.show(ServerEvent::ResumeThread(Arc::new(thread)));
        }
        self.enter(state, lease);
        self.remember(&state.thread, false);
    }

    fn enter(self: &Arc<Self>, state: &mut State, lease: Lease) {
        let thread = state.thread.clone();
        let joined = lease.tell(Input::Join(self.member(&thread))).and(lease.tell(Input::Greet(self.tab)));
        if joined.is_err() {
            error!(session = ?self.id, "conversation takes no more, its tab could not join");
        }
        state.lease = Some(lease);
        state.phase = Phase::Open;
        for waiting in &mut state.held {
            // Unless a former process greeted it, nothing was wiped by a thread: the page shows what it sent.
            if waiting.held == Held::Waited && !self.outbox.may_have_wiped() {
                waiting.held = Held::No;
            }
        }
        self.let_go(state);
    }
}
