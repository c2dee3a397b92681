//! What happened, as hooks are told.

use std::sync::{Arc, Mutex, PoisonError};

use crate::chat::Chat;
use crate::id::{StepId, ThreadId};
use crate::protocol::{ClientMessage, Step, StepKind, StoredFile, Thread};

/// An event that has a conversation to speak into.
pub trait InChat {
    /// The hook's voice.
    fn chat(&self) -> &Chat;
}

/// The server starts or stops.
#[derive(Clone, Debug)]
pub struct AppEvent;

/// Something happened to a session: it began, it ended, its line broke or came back, somebody pressed stop.
#[derive(Clone, Debug)]
pub struct ChatEvent {
    /// The hook's voice.
    pub chat: Chat,
}

/// Somebody wrote something.
#[derive(Clone, Debug)]
pub struct MessageEvent {
    /// The hook's voice.
    pub chat: Chat,
    /// What they wrote.
    pub message: UserMessage,
}

/// A stored thread was opened again.
#[derive(Clone, Debug)]
pub struct ResumeEvent {
    /// The hook's voice.
    pub chat: Chat,
    /// The thread.
    pub thread: ResumedThread,
}

/// Somebody signs in with a name and a password.
#[derive(Clone)]
pub struct PasswordLoginEvent {
    /// What they typed.
    pub login: PasswordLogin,
}

/// A request wants to be signed in by its headers.
#[derive(Clone)]
pub struct HeaderLoginEvent {
    /// The headers.
    pub login: HeaderLogin,
}

impl InChat for ChatEvent {
    fn chat(&self) -> &Chat {
        &self.chat
    }
}

impl InChat for MessageEvent {
    fn chat(&self) -> &Chat {
        &self.chat
    }
}

impl InChat for ResumeEvent {
    fn chat(&self) -> &Chat {
        &self.chat
    }
}

/// A name and a password. It has no `Debug`, so that it cannot get into a log.
#[derive(Clone)]
pub struct PasswordLogin {
    /// The name.
    pub username: String,
    /// The password.
    pub password: String,
}

/// The headers of a login request, names in lower case. It has no `Debug`, so that it cannot get into a log.
#[derive(Clone)]
pub struct HeaderLogin {
    /// Name and value, in the order of the request.
    pub headers: Vec<(String, String)>,
    /// Whether the request came over loopback, to a loopback name, without a proxy in between.
    pub local: bool,
}

impl HeaderLogin {
    /// The first value of a header; the name in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What somebody wrote, with the files that came with it. Derefs to the message as the page sent it.
#[derive(Clone, Debug)]
pub struct UserMessage {
    message: Arc<ClientMessage>,
    files: Arc<[StoredFile]>,
}

impl UserMessage {
    pub(crate) fn new(message: Arc<ClientMessage>, files: Vec<StoredFile>) -> Self {
        Self { message, files: files.into() }
    }

    /// A message that was changed after it was sent.
    pub(crate) fn edited(step: &Step, files: Arc<[StoredFile]>) -> Self {
        let message = ClientMessage {
            id: step.id.clone(),
            name: Some(step.name.clone()),
            kind: step.kind.clone(),
            output: step.output.clone(),
            parent_id: step.parent_id.clone(),
            command: step.command.clone(),
            modes: step.modes.clone(),
            metadata: step.metadata.clone(),
            language: step.language.clone(),
            files: Vec::new(),
        };
        Self { message: Arc::new(message), files }
    }

    /// A message with this text, for tests of hooks.
    #[must_use]
    pub fn of(text: impl Into<String>) -> Self {
        let mut step = Step::new(StepId::random(), "test".into(), StepKind::UserMessage, "User");
        step.output = text.into();
        Self::edited(&step, Arc::from([]))
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.message.output
    }

    /// The files that came with it. [`Chat::read_file`] and [`Chat::open_file`] give their content.
    #[must_use]
    pub fn files(&self) -> &[StoredFile] {
        &self.files
    }

    pub(crate) fn shared_files(&self) -> Arc<[StoredFile]> {
        self.files.clone()
    }
}

impl std::ops::Deref for UserMessage {
    type Target = ClientMessage;

    fn deref(&self) -> &ClientMessage {
        &self.message
    }
}

/// The thread that is being resumed. It may be altered until the hook first says something: then the page is shown it.
#[derive(Clone, Debug)]
pub struct ResumedThread(Arc<Mutex<Thread>>);

impl ResumedThread {
    pub(crate) fn new(thread: Thread) -> Self {
        Self(Arc::new(Mutex::new(thread)))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> ThreadId {
        self.read(|thread| thread.id.clone())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.read(|thread| thread.name.clone())
    }

    /// A copy of it.
    #[must_use]
    pub fn get(&self) -> Thread {
        self.read(Thread::clone)
    }

    /// Alters what the page will be shown. The store is not changed.
    pub fn edit(&self, change: impl FnOnce(&mut Thread)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn read<T>(&self, look: impl FnOnce(&Thread) -> T) -> T {
        look(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
