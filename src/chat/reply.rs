//! A message that grows token by token.

use super::{Chat, ChatError, Command, LONGEST_TEXT};
use crate::id::StepId;
use crate::protocol::{Step, StepKind, Token};

/// A streaming message. Nothing is shown before the first token. Dropped unfinished, it is stored as cut off, with the
/// text so far.
///
/// ```
/// # use rejoinder::Chat;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// let mut reply = chat.reply();
/// for token in ["to", "morrow"] {
///     reply.push(token).await.unwrap();
/// }
/// reply.finish().await.unwrap();
/// assert_eq!(recording.texts(), ["tomorrow"]);
/// # });
/// ```
#[derive(Debug)]
pub struct Reply {
    chat: Chat,
    step: Step,
    author: Option<String>,
    begun: bool,
    finished: bool,
}

impl Reply {
    pub(super) fn new(chat: Chat) -> Self {
        let mut step = Step::new(StepId::random(), chat.thread().clone(), StepKind::AssistantMessage, "");
        step.parent_id = chat.parent().cloned();
        step.streaming = true;
        Self { chat, step, author: None, begun: false, finished: false }
    }

    /// Signed by somebody else than the application's default author. Before the first token.
    #[must_use]
    pub fn author(mut self, name: impl Into<String>) -> Self {
        self.author = Some(name.into());
        self
    }

    /// The message's id.
    #[must_use]
    pub fn id(&self) -> &StepId {
        &self.step.id
    }

    /// The text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.step.output
    }

    /// Appends a token; an empty one is nothing.
    ///
    /// # Errors
    /// When the conversation is over or the whole text too large.
    pub async fn push(&mut self, token: impl Into<String>) -> Result<(), ChatError> {
        let token = token.into();
        if token.is_empty() {
            return Ok(());
        }
        if self.step.output.len() + token.len() > LONGEST_TEXT {
            return Err(ChatError::TooLarge);
        }
        self.step.output.push_str(&token);
        self.grow(token, false).await
    }

    /// Replaces the whole text so far, for models that send it so.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub async fn replace(&mut self, text: impl Into<String>) -> Result<(), ChatError> {
        let text = text.into();
        self.step.output.clone_from(&text);
        self.grow(text, true).await
    }

    async fn grow(&mut self, token: String, is_sequence: bool) -> Result<(), ChatError> {
        if self.begun {
            let id = self.step.id.clone();
            return self.chat.tell(Command::Token(Token { id, token, is_sequence, is_input: false })).await;
        }
        self.step.name = self.chat.signed(self.author.clone()).await;
        // The time of the first token, and not of the last: it stands where it began, also when it is read again.
        let now = self.chat.clock().now();
        self.step.created_at = Some(now);
        self.step.start = Some(now);
        self.chat.tell(Command::StreamStart(self.step.clone())).await?;
        self.begun = true;
        Ok(())
    }

    /// Completes the message. When it returns, the whole text is on its way to the store and to every page, which
    /// repairs whatever a page may have missed. Without a token there was nothing to show, and nothing is stored.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn finish(mut self) -> Result<(), ChatError> {
        let mut step = self.step.clone();
        step.streaming = false;
        step.end = Some(self.chat.clock().now());
        if self.begun {
            self.chat.tell(Command::Finish(step)).await?;
        }
        self.finished = true;
        Ok(())
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if self.begun && !self.finished {
            self.chat.tell_now(Command::CutOff(self.step.id.clone()));
        }
    }
}
