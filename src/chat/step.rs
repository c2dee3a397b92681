//! Steps: opened, worked in, closed.

use serde::Serialize;
use serde_json::Value;

use super::{Chat, ChatError, Command};
use crate::error::HookError;
use crate::id::StepId;
use crate::protocol::{ShowInput, Step, StepKind, Token};

/// A step before it is opened.
///
/// ```
/// # use rejoinder::Chat;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// let pages = chat
///     .step("search")
///     .tool()
///     .input("what is new")
///     .run(async |step| {
///         step.output("3 pages").await?;
///         Ok(3)
///     })
///     .await
///     .unwrap();
/// assert_eq!(pages, 3);
/// assert_eq!(recording.steps()[0].output, "3 pages");
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a step is opened by `run`"]
pub struct StepBuilder {
    chat: Chat,
    step: Step,
}

impl StepBuilder {
    pub(super) fn new(chat: Chat, name: String) -> Self {
        let mut step = Step::new(StepId::random(), chat.thread().clone(), StepKind::Undefined, name);
        step.parent_id = chat.parent().cloned();
        Self { chat, step }
    }

    /// A tool call.
    pub fn tool(self) -> Self {
        self.kind(StepKind::Tool)
    }

    /// A call of a language model.
    pub fn llm(self) -> Self {
        self.kind(StepKind::Llm)
    }

    /// Any kind.
    pub fn kind(mut self, kind: StepKind) -> Self {
        self.step.kind = kind;
        self
    }

    /// What goes in: text as it is, anything else as indented JSON.
    pub fn input(mut self, input: impl Serialize) -> Self {
        let (text, _) = content(&input);
        self.step.input = text;
        self
    }

    /// How the input is shown.
    pub fn show_input(mut self, show: ShowInput) -> Self {
        self.step.show_input = show;
        self
    }

    /// Open at first.
    pub fn default_open(mut self) -> Self {
        self.step.default_open = true;
        self
    }

    /// Closes by itself when it ends.
    pub fn auto_collapse(mut self) -> Self {
        self.step.auto_collapse = true;
        self
    }

    /// Its output is shown in a code fence of this language.
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.step.language = Some(language.into());
        self
    }

    /// A picture beside its name, a Lucide name.
    pub fn icon(mut self, icon: impl Into<String>) -> Self {
        self.step.metadata.insert("icon".to_owned(), Value::from(icon.into()));
        self
    }

    /// Opens the step, works inside it, closes it; marks it failed, with the error's text, when the work fails. When
    /// the work is dropped, the run's end closes it.
    ///
    /// # Errors
    /// What the work fails with, or that the conversation is over.
    pub async fn run<T, F>(mut self, work: F) -> Result<T, HookError>
    where
        F: AsyncFnOnce(&mut OpenStep) -> Result<T, HookError>,
    {
        self.step.name = self.chat.signed(Some(self.step.name)).await;
        let now = self.chat.clock().now();
        self.step.created_at = Some(now);
        self.step.start = Some(now);
        self.chat.tell(Command::Open(self.step.clone())).await?;
        let mut open = OpenStep { chat: self.chat.below(self.step.id.clone()), step: self.step };
        let result = work(&mut open).await;
        let OpenStep { chat, mut step } = open;
        step.end = Some(chat.clock().now());
        step.streaming = false;
        if let Err(error) = &result {
            step.is_error = true;
            step.output = error.as_it_reads();
        }
        chat.tell(Command::Close(step)).await?;
        result
    }
}

/// A step that is open.
#[derive(Debug)]
pub struct OpenStep {
    chat: Chat,
    step: Step,
}

impl OpenStep {
    /// A chat whose words and steps hang below this step.
    #[must_use]
    pub fn chat(&self) -> &Chat {
        &self.chat
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &StepId {
        &self.step.id
    }

    /// What came in, when it was not known at the beginning. Shown when the step is closed.
    pub fn input(&mut self, input: impl Serialize) {
        let (text, _) = content(&input);
        self.step.input = text;
    }

    /// What came out: text as it is, anything else as indented JSON. Shown at once.
    ///
    /// # Errors
    /// When the conversation is over or the text too large.
    pub async fn output(&mut self, output: impl Serialize) -> Result<(), ChatError> {
        let (text, language) = content(&output);
        self.step.output = text;
        if language.is_some() {
            self.step.language = language;
        }
        Ok(())
    }

    /// Lets the output grow by a token, shown at once.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn push(&mut self, token: impl Into<String>) -> Result<(), ChatError> {
        self.grow(token.into(), false).await
    }

    /// Lets the input grow by a token, shown at once.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn push_input(&mut self, token: impl Into<String>) -> Result<(), ChatError> {
        self.grow(token.into(), true).await
    }

    async fn grow(&mut self, token: String, is_input: bool) -> Result<(), ChatError> {
        if token.is_empty() {
            return Ok(());
        }
        let text = if is_input { &mut self.step.input } else { &mut self.step.output };
        text.push_str(&token);
        let id = self.step.id.clone();
        self.chat.tell(Command::Token(Token { id, token, is_sequence: false, is_input })).await
    }
}

/// Content as the wire wants it (chat-wire 5.1): text as it is, objects and lists as JSON with an indent of four.
fn content(value: &impl Serialize) -> (String, Option<String>) {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => (text, None),
        Ok(Value::Null) | Err(_) => (String::new(), None),
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            let mut buffer = Vec::new();
            let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
            let mut writer = serde_json::Serializer::with_formatter(&mut buffer, indent);
            let written = value.serialize(&mut writer).is_ok();
            let text = if written { String::from_utf8(buffer).unwrap_or_default() } else { value.to_string() };
            (text, Some("json".to_owned()))
        }
        Ok(other) => (other.to_string(), Some("text".to_owned())),
    }
}
