//! What a page does with its session over plain HTTP: uploads, buttons, elements.

use std::fmt;
use std::sync::Arc;

use super::state::Phase;
use super::{Session, Sessions};
use crate::chat::FilePlace;
use crate::id::{FileId, SessionId, StepId, ThreadId};
use crate::protocol::{AskKind, StoredFile, User};

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

impl Sessions {
    /// A session for a request of `user`. `None` when there is none, or when it is somebody else's: the two look alike.
    #[must_use]
    pub fn visit(&self, session: &SessionId, user: Option<&User>) -> Option<Visit> {
        let session = self.live.get(session).map(|entry| entry.value().clone())?;
        let owner = session.owner.as_ref().map(|owner| owner.identifier.as_str());
        let is_theirs = owner == user.map(|user| user.identifier.as_str());
        (is_theirs && session.lock().phase != Phase::Ended).then_some(Visit(session))
    }
}

impl Visit {
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

    /// A file that was uploaded before.
    #[must_use]
    pub fn file(&self, id: &FileId) -> Option<StoredFile> {
        self.0.lock().files.get(id).cloned()
    }
}
