//! Questions.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::oneshot;

use super::{Chat, ChatError, Command};
use crate::id::StepId;
use crate::protocol::{ClientMessage, Step, StepKind};

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody answered in time.
    #[error("nobody answered in time")]
    TimedOut,
    /// The conversation is over.
    #[error("the conversation has ended")]
    Ended,
}

/// An answer to a question for a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The message it is.
    pub id: StepId,
    /// The text.
    pub text: String,
}

/// A question for a text. Awaiting it gives the answer; it survives every break of the line.
///
/// ```
/// # use rejoinder::Chat;
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// recording.answer("Ada");
/// let answer = chat.ask("your name?").timeout(Duration::from_secs(30)).await.unwrap();
/// assert_eq!(answer.text, "Ada");
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a question is asked by awaiting it"]
pub struct Question {
    chat: Chat,
    text: String,
    author: Option<String>,
    timeout: Duration,
}

impl Question {
    pub(super) fn new(chat: Chat, text: String) -> Self {
        Self { chat, text, author: None, timeout: Duration::from_secs(60) }
    }

    /// How long to wait; a minute when nothing is said. Counts on while the line is broken.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Signed by somebody else than the application's default author.
    pub fn author(mut self, name: impl Into<String>) -> Self {
        self.author = Some(name.into());
        self
    }

    async fn ask(self) -> Result<Answer, AskError> {
        let name = self.author.unwrap_or_else(|| self.chat.about().author.clone());
        let mut step = Step::new(StepId::random(), self.chat.thread().clone(), StepKind::AssistantMessage, name);
        let now = self.chat.clock().now();
        step.parent_id = self.chat.parent().cloned();
        step.output = self.text;
        step.wait_for_answer = true;
        step.created_at = Some(now);
        step.start = Some(now);
        step.end = Some(now);
        let (sender, answer) = oneshot::channel();
        let told = self.chat.tell(Command::Ask { step, timeout: self.timeout, answer: sender }).await;
        told.map_err(|error| match error {
            ChatError::Ended | ChatError::TooLarge => AskError::Ended,
        })?;
        // The conversation drops the sender when the time is over.
        let value = answer.await.map_err(|_| AskError::TimedOut)?;
        let serde_json::Value::Object(step) = value else { return Err(AskError::TimedOut) };
        let message = ClientMessage::parse_step(step).map_err(|_| AskError::TimedOut)?;
        Ok(Answer { id: message.id, text: message.output })
    }
}

impl IntoFuture for Question {
    type Output = Result<Answer, AskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
