//! What a page does with its session over plain HTTP: uploads, buttons, elements.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;

use super::state::Phase;
use super::{Session, Sessions};
use crate::chat::FilePlace;
use crate::config::Config;
use crate::conversation::{ElementChange, Input, TabId};
use crate::id::{ElementId, SessionId, StepId, ThreadId};
use crate::protocol::{Action, AskKind, ServerEvent, StoredFile, User};
use crate::record::address;

/// A request's hold on a live session of its caller. It keeps the session from being swept away meanwhile.
pub struct Visit(Arc<Session>);

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "visit of {:?}", self.0.id)
    }
}

/// No question for files is open below that step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no question for files is open there")]
pub struct NoSuchQuestion;

/// The session has no conversation yet, or no more, or it takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session is not on a conversation")]
pub struct NotTalking;

impl Sessions {
    /// A session for a request of `user`. `None` when there is none, or when it is somebody else's: the two look alike.
    #[must_use]
    pub fn visit(&self, session: &SessionId, user: Option<&User>) -> Option<Visit> {
        let session = self.live.get(session).map(|entry| entry.value().clone())?;
        let owner = session.owner.as_ref().map(|owner| owner.identifier.as_str());
        let is_theirs = owner == user.map(|user| user.identifier.as_str());
        (is_theirs && session.lock().phase != Phase::Ended).then_some(Visit(session))
    }

    /// The keys of all live sessions, under which files and rows know them. Costs a hash of each.
    #[must_use]
    pub fn keys(&self) -> HashSet<String> {
        let ids: Vec<SessionId> = self.live.iter().map(|entry| entry.key().clone()).collect();
        ids.iter().map(SessionId::key).collect()
    }
}

impl Session {
    /// Files that a former process kept for this tab: its page may still refer to them.
    pub(super) fn knows(&self, files: &[StoredFile]) {
        let mut state = self.lock();
        for file in files {
            state.files.entry(file.id.clone()).or_insert_with(|| file.clone());
        }
    }

    /// A thread on its way to the page: its elements say where their bytes are.
    pub(super) fn address(&self, event: &mut ServerEvent) {
        let ServerEvent::ResumeThread(thread) = event else { return };
        if thread.elements.is_empty() {
            return;
        }
        let visitor = self.owner.is_none().then_some(&self.id);
        let thread = Arc::make_mut(thread);
        for element in &mut thread.elements {
            address(&thread.id, element, &self.home.settings.root, visitor);
        }
    }
}

impl Visit {
    /// The settings that hold for the page of this session, its profile applied.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.0.config()
    }

    /// For whom files of this session are kept.
    #[must_use]
    pub fn place(&self) -> FilePlace {
        FilePlace { session: self.0.id.clone(), thread: self.0.lock().thread.clone() }
    }

    /// The question that an upload answers ([`AskKind::File`]): the one below `parent`, as pages name it; without a
    /// parent the open one that has none itself. `Ok(None)` when the upload is for a message.
    ///
    /// # Errors
    /// When a parent is named and no question for files is open below it.
    pub fn file_question(&self, parent: Option<&StepId>) -> Result<Option<AskKind>, NoSuchQuestion> {
        let question = self.0.outbox.question().filter(|ask| matches!(ask.spec.kind, AskKind::File { .. }));
        let question = question.filter(|ask| ask.msg.parent_id.as_ref() == parent);
        match (question, parent) {
            (Some(ask), _) => Ok(Some(ask.spec.kind.clone())),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(NoSuchQuestion),
        }
    }

    /// Whether the page of this session may see a file that is kept for a session ([`SessionId::key`]) and a thread: its
    /// own, or one of the thread that it is on.
    #[must_use]
    pub fn may_see(&self, session_key: &str, thread: &ThreadId) -> bool {
        session_key == self.0.id.key() || *thread == self.0.lock().thread
    }

    /// A file was uploaded: messages and answers may refer to it from now on.
    pub fn uploaded(&self, file: StoredFile) {
        self.0.lock().files.insert(file.id.clone(), file);
    }

    /// Somebody pressed a button. Gives what its hook returned, null when it failed (that is logged, and shown in the
    /// chat).
    ///
    /// # Errors
    /// When the session is not on a conversation.
    pub async fn act(&self, action: Action) -> Result<Value, NotTalking> {
        let (answer, answered) = oneshot::channel();
        self.tell(|tab| Input::Act { tab, action, answer })?;
        Ok(answered.await.unwrap_or(Value::Null))
    }

    /// Changes a custom element of the session's thread. When this answers true, the change is stored; false: the thread
    /// has no such element.
    ///
    /// # Errors
    /// When the session is not on a conversation.
    pub async fn change_element(&self, change: ElementChange) -> Result<bool, NotTalking> {
        let (done, changed) = oneshot::channel();
        self.tell(|_| Input::ChangeElement(change, done))?;
        changed.await.map_err(|_| NotTalking)
    }

    /// Takes a custom element of the session's thread away. Answers as [`change_element`](Self::change_element).
    ///
    /// # Errors
    /// When the session is not on a conversation.
    pub async fn remove_element(&self, id: ElementId) -> Result<bool, NotTalking> {
        let (done, removed) = oneshot::channel();
        self.tell(|_| Input::RemoveElement(id, done))?;
        removed.await.map_err(|_| NotTalking)
    }

    fn tell(&self, input: impl FnOnce(TabId) -> Input) -> Result<(), NotTalking> {
        let state = self.0.lock();
        let lease = state.lease.as_ref().ok_or(NotTalking)?;
        lease.tell(input(self.0.tab)).map_err(|_| NotTalking)
    }
}
