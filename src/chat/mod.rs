//! What a hook holds: say, send, reply, step, ask, values. It knows no session and no conversation; it speaks through
//! a channel, and whoever listens makes events and records of it.

mod about;
mod action;
mod ask;
mod call;
mod command;
mod element;
mod file;
mod message;
mod recorded;
mod reply;
mod show;
mod step;
mod values;

pub use about::About;
pub use action::NewAction;
pub use ask::{Answer, AskError, Question, Submitted, WantsAction, WantsFiles, WantsForm, WantsText};
#[doc(hidden)]
pub use ask::{Prepared, Wanted};
pub use call::FunctionCall;
pub use command::{Command, Envelope, HookEnd, NewAsk, Said, Speaker};
pub use element::{NewElement, SentElement};
pub use file::{Content, FileError, FileKeeper, FilePlace, FileReader, NewFile};
pub use message::{Message, SentMessage};
pub use recorded::Recording;
pub use reply::Reply;
pub use step::{OpenStep, StepBuilder};
pub use values::{SessionValue, Values};

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::id::{ElementId, SessionId, StepId, ThreadId};
use crate::protocol::User;

/// What goes wrong when a hook speaks. Losing the page is not among it: a hook never notices a broken line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    /// The conversation is over: its thread was deleted, or the server is shutting down.
    #[error("the conversation has ended")]
    Ended,
    /// One text is larger than a mebibyte. Put it into a file.
    #[error("a message may hold one mebibyte of text at most")]
    TooLarge,
    /// The bytes of an element cannot be kept; the text says why. Nothing was shown.
    #[error("{0}")]
    NotKept(String),
}

/// The longest text of a step, in bytes (records.md, decision 10).
const LONGEST_TEXT: usize = 1 << 20;

/// A hook's voice in its conversation. Cheap to clone; clones speak for the same run.
///
/// What is said is shown to every tab of the conversation, in the order in which it was said. A method that returns
/// `Ok` has handed its words over: they are stored and shown whatever becomes of the hook or the line. It waits only
/// while the conversation is far behind with what this hook said before.
///
/// ```
/// use rejoinder::Chat;
///
/// async fn greet(chat: Chat) -> rejoinder::Result {
///     chat.say("hello").await?;
///     Ok(())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// greet(chat).await.unwrap();
/// assert_eq!(recording.texts(), ["hello"]);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Chat {
    voice: Arc<Voice>,
    parent: Option<StepId>,
}

/// What all clones of a chat share.
#[derive(Debug)]
pub(crate) struct Voice {
    pub(crate) speaker: Speaker,
    pub(crate) listener: Listener,
    pub(crate) about: Arc<About>,
    pub(crate) values: Arc<Values>,
    pub(crate) clock: Clock,
    pub(crate) files: Arc<dyn FileKeeper>,
    /// Gives the name that something is signed with; none where the application has no say in it.
    pub(crate) rename: Option<Rename>,
}

/// The application's `author_rename`.
#[derive(Clone)]
pub(crate) struct Rename(pub(crate) Arc<dyn Fn(String) -> BoxFuture<'static, String> + Send + Sync>);

impl fmt::Debug for Rename {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rename")
    }
}

/// Who takes the words.
#[derive(Clone, Debug)]
pub(crate) enum Listener {
    /// A conversation. Bounded: a hook that speaks faster than its conversation can store waits.
    Conversation(mpsc::Sender<Box<Envelope>>),
    /// A test.
    Recording(Recording),
}

impl Chat {
    /// A chat of a hook call. `parent` is the run step, below which everything hangs.
    pub(crate) fn new(voice: Voice, parent: Option<StepId>) -> Self {
        Self { voice: Arc::new(voice), parent }
    }

    /// A chat without a server, and what was said through it: for testing hooks. History is what was recorded;
    /// questions are answered by [`Recording::answer`].
    #[must_use]
    pub fn recorded() -> (Self, Recording) {
        let recording = Recording::default();
        let voice = Voice {
            speaker: Speaker::default(),
            listener: Listener::Recording(recording.clone()),
            about: Arc::new(About::for_tests()),
            values: Arc::default(),
            clock: Clock::system(),
            files: Arc::new(recorded::InMemory::default()),
            rename: None,
        };
        (Self::new(voice, None), recording)
    }

    /// Says a text.
    ///
    /// # Errors
    /// When the conversation is over or the text too large.
    pub async fn say(&self, text: impl Into<String>) -> Result<SentMessage, ChatError> {
        self.send(Message::new(text)).await
    }

    /// Sends a message that was made to measure, with its buttons and elements. Their bytes are kept first: whoever sees
    /// the message can fetch them.
    ///
    /// # Errors
    /// As [`say`](Self::say), and when the bytes of an element cannot be kept; then nothing is sent.
    pub async fn send(&self, message: Message) -> Result<SentMessage, ChatError> {
        let (step, actions, elements) = message.prepared(self).await?;
        self.tell(Command::Message(step.clone())).await?;
        for action in &actions {
            self.tell(Command::Action(action.clone())).await?;
        }
        for element in elements {
            self.tell(Command::Element(element)).await?;
        }
        Ok(SentMessage::new(self.clone(), step, actions))
    }

    /// Begins a message that grows token by token.
    #[must_use]
    pub fn reply(&self) -> Reply {
        Reply::new(self.clone())
    }

    /// Describes a step; [`StepBuilder::run`] opens it, works inside it and closes it.
    pub fn step(&self, name: impl Into<String>) -> StepBuilder {
        StepBuilder::new(self.clone(), name.into())
    }

    /// The messages of the conversation, oldest first, each once: what a model is given as its context. Includes
    /// what was said before a resume, through other tabs, and by this hook up to now.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn history(&self) -> Result<Vec<Said>, ChatError> {
        let (reply, history) = oneshot::channel();
        self.tell(Command::History(reply)).await?;
        history.await.map_err(|_| ChatError::Ended)
    }

    /// The tab. A secret of its visitor: never show or log it.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.voice.about.session
    }

    /// The thread that this conversation is, or will be once it is stored.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.voice.about.thread
    }

    /// Who is signed in.
    #[must_use]
    pub fn user(&self) -> Option<&User> {
        self.voice.about.user.as_ref()
    }

    /// What else is known of the tab: language, profile, headers.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.voice.about
    }

    /// The values of the user session.
    pub(crate) fn values(&self) -> &Arc<Values> {
        &self.voice.values
    }

    /// The same chat, with everything hung below `step`.
    pub(crate) fn below(&self, step: StepId) -> Self {
        Self { voice: self.voice.clone(), parent: Some(step) }
    }

    pub(crate) fn parent(&self) -> Option<&StepId> {
        self.parent.as_ref()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.voice.clock
    }

    pub(crate) fn files(&self) -> &dyn FileKeeper {
        &*self.voice.files
    }

    /// The name that something is signed with, given by a hook or else the application's own.
    pub(crate) async fn signed(&self, author: Option<String>) -> String {
        let author = author.unwrap_or_else(|| self.about().author().to_owned());
        match &self.voice.rename {
            Some(Rename(rename)) => rename(author).await,
            None => author,
        }
    }

    /// The one list of tasks of this thread.
    fn tasklist_id(&self) -> ElementId {
        let name = format!("{}/tasks", self.thread());
        ElementId::from(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, name.as_bytes()).to_string())
    }

    pub(crate) async fn tell(&self, command: Command) -> Result<(), ChatError> {
        if command.text_length() > LONGEST_TEXT {
            return Err(ChatError::TooLarge);
        }
        match &self.voice.listener {
            Listener::Conversation(sender) => {
                let envelope = Envelope { speaker: self.voice.speaker.clone(), command };
                sender.send(Box::new(envelope)).await.map_err(|_| ChatError::Ended)
            }
            Listener::Recording(recording) => {
                recording.take(command);
                Ok(())
            }
        }
    }

    /// Tells something without waiting, from a place that cannot: what does not fit is made good when the run ends.
    pub(crate) fn tell_now(&self, command: Command) {
        match &self.voice.listener {
            Listener::Conversation(sender) => {
                let _ = sender.try_send(Box::new(Envelope { speaker: self.voice.speaker.clone(), command }));
            }
            Listener::Recording(recording) => recording.take(command),
        }
    }
}
