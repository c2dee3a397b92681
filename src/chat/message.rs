//! Messages made to measure, and what one can do with a message that was sent.

use serde_json::Value;

use super::{Chat, ChatError, Command, NewAction, NewElement};
use crate::id::StepId;
use crate::protocol::{Action, Element, Step, StepKind};

/// A message before it is sent.
///
/// ```
/// # use rejoinder::{Chat, Message};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// chat.send(Message::new("fn main() {}").author("Guide").language("rust")).await.unwrap();
/// assert_eq!(recording.steps()[0].name, "Guide");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Message {
    text: String,
    author: Option<String>,
    language: Option<String>,
    error: bool,
    metadata: serde_json::Map<String, Value>,
    actions: Vec<NewAction>,
    elements: Vec<NewElement>,
}

impl Message {
    /// A message of the application.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            author: None,
            language: None,
            error: false,
            metadata: serde_json::Map::new(),
            actions: Vec::new(),
            elements: Vec::new(),
        }
    }

    /// An object or a list as indented JSON, in a fence.
    #[must_use]
    pub fn json(value: &Value) -> Self {
        let mut buffer = Vec::new();
        let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
        let mut writer = serde_json::Serializer::with_formatter(&mut buffer, indent);
        let text = match serde::Serialize::serialize(value, &mut writer) {
            Ok(()) => String::from_utf8(buffer).unwrap_or_default(),
            Err(_) => value.to_string(),
        };
        Self::new(text).language("json")
    }

    /// Signed by somebody else than the application's default author.
    #[must_use]
    pub fn author(mut self, name: impl Into<String>) -> Self {
        self.author = Some(name.into());
        self
    }

    /// Shown in a code fence of this language.
    #[must_use]
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// Shown as an error.
    #[must_use]
    pub fn error(mut self) -> Self {
        self.error = true;
        self
    }

    /// With a free key that frontends may read.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// With a button below it.
    #[must_use]
    pub fn action(mut self, action: NewAction) -> Self {
        self.actions.push(action);
        self
    }

    /// With something beside it.
    #[must_use]
    pub fn element(mut self, element: NewElement) -> Self {
        self.elements.push(element);
        self
    }

    /// What is sent, with the bytes of its elements kept.
    pub(super) async fn prepared(self, chat: &Chat) -> Result<(Step, Vec<Action>, Vec<Element>), ChatError> {
        let Self { text, author, language, error, metadata, actions, elements } = self;
        let name = chat.signed(author).await;
        let mut step = Step::new(StepId::random(), chat.thread().clone(), StepKind::AssistantMessage, name);
        let actions = actions.into_iter().map(|action| action.below(&step.id)).collect();
        let mut kept = Vec::with_capacity(elements.len());
        for element in elements {
            kept.push(element.kept(chat, Some(&step.id)).await?);
        }
        let now = chat.clock().now();
        step.parent_id = chat.parent().cloned();
        step.output = text;
        step.language = language;
        step.is_error = error;
        step.metadata = metadata;
        step.created_at = Some(now);
        step.start = Some(now);
        step.end = Some(now);
        Ok((step, actions, kept))
    }
}

/// A message that was sent: change it or take it back.
#[derive(Clone, Debug)]
pub struct SentMessage {
    chat: Chat,
    step: Step,
    actions: Vec<Action>,
}

impl SentMessage {
    pub(super) fn new(chat: Chat, step: Step, actions: Vec<Action>) -> Self {
        Self { chat, step, actions }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &StepId {
        &self.step.id
    }

    /// Replaces its text, on every page and in the store.
    ///
    /// # Errors
    /// As [`Chat::say`].
    pub async fn update(&mut self, text: impl Into<String>) -> Result<(), ChatError> {
        self.step.output = text.into();
        self.chat.tell(Command::Update(self.step.clone())).await
    }

    /// Takes its buttons away.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn remove_actions(&mut self) -> Result<(), ChatError> {
        for action in std::mem::take(&mut self.actions) {
            self.chat.tell(Command::RemoveAction(action)).await?;
        }
        Ok(())
    }

    /// Takes it back, with everything below it.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn remove(self) -> Result<(), ChatError> {
        self.chat.tell(Command::Remove(self.step.id)).await
    }
}
