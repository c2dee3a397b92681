//! Rows of the chat tables as Chainlit writes and reads them (chat-wire 8.2, 8.3): one shape for both databases.
//!
//! Written: JSON columns as JSON text, times as text, `showInput` as text. Read: whatever an old database holds.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::id::{ElementId, FeedbackId, FileId, StepId, ThreadId, UserId};
use crate::protocol::{Display, Element, ElementKind, Feedback, ShowInput, Step, StepKind, Thread, Timestamp};

/// A row of `steps` on its way into the table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StepRow {
    pub id: StepId,
    pub thread_id: ThreadId,
    pub parent_id: Option<StepId>,
    pub name: String,
    #[serde(rename = "type")]
    pub kind: StepKind,
    pub streaming: bool,
    pub wait_for_answer: bool,
    pub is_error: bool,
    pub metadata: String,
    pub tags: Option<String>,
    pub input: String,
    pub output: String,
    pub created_at: Option<String>,
    pub command: Option<String>,
    pub start: Option<String>,
    pub end: Option<String>,
    pub generation: Option<String>,
    pub show_input: Option<String>,
    pub language: Option<String>,
    pub default_open: Option<bool>,
    pub auto_collapse: Option<bool>,
    pub modes: Option<String>,
    /// The record that brought it: the order in which steps came.
    pub sequence: Option<u64>,
    /// Whether the table has no row of this id.
    #[serde(skip)]
    pub is_new: bool,
}

impl StepRow {
    pub fn new(step: Step, sequence: Option<u64>, is_new: bool) -> Self {
        let message = step.is_message();
        Self {
            show_input: (!message).then(|| match step.show_input {
                ShowInput::Switch(on) => on.to_string(),
                ShowInput::Language(language) => language,
            }),
            default_open: (!message).then_some(step.default_open),
            auto_collapse: (!message).then_some(step.auto_collapse),
            metadata: text(&step.metadata),
            tags: step.tags.as_ref().map(text),
            created_at: step.created_at.map(|time| time.to_string()),
            start: step.start.map(|time| time.to_string()),
            end: step.end.map(|time| time.to_string()),
            generation: step.generation.as_ref().map(text),
            modes: step.modes.as_ref().map(text),
            id: step.id,
            thread_id: step.thread_id,
            parent_id: step.parent_id,
            name: step.name,
            kind: step.kind,
            streaming: step.streaming,
            wait_for_answer: step.wait_for_answer,
            is_error: step.is_error,
            input: step.input,
            output: step.output,
            command: step.command,
            language: step.language,
            sequence,
            is_new,
        }
    }
}

/// A row of `elements`, both ways.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ElementRow {
    pub id: ElementId,
    pub thread_id: Option<ThreadId>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub url: Option<String>,
    pub chainlit_key: Option<FileId>,
    pub name: Option<String>,
    pub display: Option<String>,
    pub object_key: Option<String>,
    pub size: Option<String>,
    #[serde(deserialize_with = "lenient_integer")]
    pub page: Option<i64>,
    pub language: Option<String>,
    pub for_id: Option<StepId>,
    pub mime: Option<String>,
    #[serde(deserialize_with = "json_text")]
    pub props: Option<String>,
    #[serde(deserialize_with = "lenient_switch")]
    pub auto_play: Option<bool>,
    #[serde(deserialize_with = "json_text")]
    pub player_config: Option<String>,
    #[serde(default)]
    pub sequence: Option<u64>,
}

impl ElementRow {
    pub fn new(element: Element, sequence: Option<u64>) -> Self {
        Self {
            kind: Some(text_of(&element.kind)),
            display: Some(text_of(&element.display)),
            props: element.props.as_ref().map(text),
            player_config: element.player_config.as_ref().map(text),
            id: element.id,
            thread_id: element.thread_id,
            url: element.url,
            chainlit_key: element.chainlit_key,
            name: Some(element.name),
            object_key: element.object_key,
            size: element.size,
            page: element.page,
            language: element.language,
            for_id: element.for_id,
            mime: element.mime,
            auto_play: element.auto_play,
            sequence,
        }
    }

    pub fn into_element(self) -> Element {
        let kind = self.kind.and_then(|kind| named(&kind)).unwrap_or(ElementKind::File);
        // A page that meets a component without properties breaks (chat-wire 9.2).
        let props = match kind {
            ElementKind::Custom => Some(object(self.props.as_deref())),
            _ => Some(object(self.props.as_deref())).filter(|props| !props.is_empty()),
        };
        Element {
            kind,
            display: self.display.and_then(|display| named(&display)).unwrap_or(Display::Inline),
            props,
            player_config: self.player_config.as_deref().and_then(json),
            id: self.id,
            thread_id: self.thread_id,
            name: self.name.unwrap_or_default(),
            url: self.url,
            chainlit_key: self.chainlit_key,
            object_key: self.object_key,
            size: self.size,
            page: self.page,
            auto_play: self.auto_play,
            language: self.language,
            for_id: self.for_id,
            mime: self.mime,
        }
    }
}

/// A row of `feedbacks`, both ways.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FeedbackRow {
    pub id: FeedbackId,
    pub for_id: StepId,
    pub thread_id: Option<ThreadId>,
    #[serde(deserialize_with = "lenient_integer")]
    pub value: Option<i64>,
    pub comment: Option<String>,
}

impl FeedbackRow {
    pub fn new(id: FeedbackId, thread: ThreadId, vote: Feedback) -> Self {
        Self { id, for_id: vote.for_id, thread_id: Some(thread), value: Some(vote.value.into()), comment: vote.comment }
    }

    pub fn into_feedback(self) -> Feedback {
        Feedback {
            id: Some(self.id),
            for_id: self.for_id,
            thread_id: self.thread_id,
            value: u8::from(self.value.unwrap_or_default() > 0),
            comment: self.comment,
        }
    }
}

/// A row of `steps` as an old or a new table holds it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredStep {
    id: StepId,
    thread_id: ThreadId,
    parent_id: Option<StepId>,
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<StepKind>,
    #[serde(deserialize_with = "lenient_switch")]
    streaming: Option<bool>,
    #[serde(deserialize_with = "lenient_switch")]
    wait_for_answer: Option<bool>,
    #[serde(deserialize_with = "lenient_switch")]
    is_error: Option<bool>,
    #[serde(deserialize_with = "json_text")]
    metadata: Option<String>,
    #[serde(deserialize_with = "json_text")]
    tags: Option<String>,
    input: Option<String>,
    output: Option<String>,
    created_at: Option<String>,
    command: Option<String>,
    start: Option<String>,
    end: Option<String>,
    #[serde(deserialize_with = "json_text")]
    generation: Option<String>,
    show_input: Option<String>,
    language: Option<String>,
    #[serde(deserialize_with = "lenient_switch")]
    default_open: Option<bool>,
    #[serde(deserialize_with = "lenient_switch")]
    auto_collapse: Option<bool>,
    #[serde(deserialize_with = "json_text")]
    modes: Option<String>,
}

impl StoredStep {
    /// The time as the column has it, for the fingerprint.
    pub fn created_text(&self) -> Option<&str> {
        self.created_at.as_deref()
    }

    pub fn into_step(self) -> Step {
        let time = |text: Option<String>| text.as_deref().and_then(Timestamp::parse);
        Step {
            kind: self.kind.unwrap_or(StepKind::Undefined),
            show_input: match self.show_input.as_deref() {
                None => ShowInput::default(),
                Some("true" | "True") => ShowInput::Switch(true),
                Some("false" | "False" | "none") => ShowInput::Switch(false),
                Some(language) => ShowInput::Language(language.to_owned()),
            },
            metadata: object(self.metadata.as_deref()),
            tags: tags(self.tags.as_deref()),
            generation: self.generation.as_deref().and_then(json),
            modes: self.modes.as_deref().and_then(json).and_then(|value| serde_json::from_value(value).ok()),
            id: self.id,
            thread_id: self.thread_id,
            parent_id: self.parent_id,
            name: self.name.unwrap_or_default(),
            output: self.output.unwrap_or_default(),
            input: self.input.unwrap_or_default(),
            created_at: time(self.created_at),
            start: time(self.start),
            end: time(self.end),
            streaming: self.streaming.unwrap_or_default(),
            is_error: self.is_error.unwrap_or_default(),
            wait_for_answer: self.wait_for_answer.unwrap_or_default(),
            language: self.language,
            default_open: self.default_open.unwrap_or_default(),
            auto_collapse: self.auto_collapse.unwrap_or_default(),
            command: self.command,
            feedback: None,
            is_stub: false,
        }
    }
}

/// A row of `threads`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredThreadRow {
    id: ThreadId,
    created_at: Option<String>,
    name: Option<String>,
    user_id: Option<UserId>,
    user_identifier: Option<String>,
    #[serde(deserialize_with = "json_text")]
    tags: Option<String>,
    #[serde(deserialize_with = "json_text")]
    metadata: Option<String>,
}

impl StoredThreadRow {
    /// The thread without steps and elements.
    pub fn into_thread(self) -> Thread {
        Thread {
            created_at: self.created_at.as_deref().and_then(Timestamp::parse),
            tags: tags(self.tags.as_deref()).filter(|tags| !tags.is_empty()),
            metadata: object(self.metadata.as_deref()),
            id: self.id,
            name: self.name,
            user_id: self.user_id,
            user_identifier: self.user_identifier,
            steps: Vec::new(),
            elements: Vec::new(),
        }
    }
}

/// An object from a JSON column, which may hold null, a text that holds JSON, or nothing.
pub(super) fn object(column: Option<&str>) -> Map<String, Value> {
    match column.and_then(json) {
        Some(Value::Object(map)) => map,
        Some(_) | None => Map::new(),
    }
}

/// A value from a JSON column; null and what does not parse are nothing. JSON in JSON is unwrapped once.
fn json(column: &str) -> Option<Value> {
    match serde_json::from_str(column).ok()? {
        Value::Null => None,
        Value::String(inner) => match serde_json::from_str(&inner) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => Some(value),
            Ok(_) | Err(_) => Some(Value::String(inner)),
        },
        value => Some(value),
    }
}

fn tags(column: Option<&str>) -> Option<Vec<String>> {
    serde_json::from_value(column.and_then(json)?).ok()
}

/// JSON text for a column.
pub(super) fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".into())
}

/// The wire text of an enum without fields.
fn text_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(text)) => text,
        Ok(_) | Err(_) => String::new(),
    }
}

fn named<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(Value::String(text.to_owned())).ok()
}

/// A JSON column arrives as text (SQLite) or as the value itself (jsonb, text[]); here it is text.
fn json_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        value => Some(value.to_string()),
    })
}

/// A switch arrives as 0 and 1 from SQLite.
fn lenient_switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(on) => Some(on),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::String(text) => Some(matches!(text.as_str(), "1" | "t" | "true" | "True")),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    })
}

/// A number that somebody may have stored as 1.0 or as a text.
fn lenient_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[expect(clippy::cast_possible_truncation, reason = "page numbers and votes are small")]
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}
