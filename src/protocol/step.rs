//! The step: what a frontend shows (chat-wire 5.1, 5.2).

use std::fmt;

use serde::de::Visitor;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Feedback, Timestamp};
use crate::id::{StepId, ThreadId};

/// What kind of node a step is. Serialised as the text the wire uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// What a person wrote.
    UserMessage,
    /// What the application said.
    AssistantMessage,
    /// A message of the system.
    SystemMessage,
    /// The wrapper of one hook call.
    Run,
    /// A tool call.
    Tool,
    /// A call of a language model.
    Llm,
    /// An embedding.
    Embedding,
    /// A retrieval.
    Retrieval,
    /// A reranking.
    Rerank,
    /// A step of no particular kind.
    Undefined,
    /// A kind that only the database knows; shown by frontends as a collapsible step.
    Other(Box<str>),
}

impl StepKind {
    /// The text of the wire and of the tables.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::UserMessage => "user_message",
            Self::AssistantMessage => "assistant_message",
            Self::SystemMessage => "system_message",
            Self::Run => "run",
            Self::Tool => "tool",
            Self::Llm => "llm",
            Self::Embedding => "embedding",
            Self::Retrieval => "retrieval",
            Self::Rerank => "rerank",
            Self::Undefined => "undefined",
            Self::Other(text) => text,
        }
    }

    /// Whether frontends treat it as a message: its text contains `message`.
    #[must_use]
    pub fn is_message(&self) -> bool {
        match self {
            Self::UserMessage | Self::AssistantMessage | Self::SystemMessage => true,
            Self::Other(text) => text.contains("message"),
            Self::Run | Self::Tool | Self::Llm | Self::Embedding | Self::Retrieval | Self::Rerank | Self::Undefined => {
                false
            }
        }
    }
}

impl From<&str> for StepKind {
    fn from(text: &str) -> Self {
        match text {
            "user_message" => Self::UserMessage,
            "assistant_message" => Self::AssistantMessage,
            "system_message" => Self::SystemMessage,
            "run" => Self::Run,
            "tool" => Self::Tool,
            "llm" => Self::Llm,
            "embedding" => Self::Embedding,
            "retrieval" => Self::Retrieval,
            "rerank" => Self::Rerank,
            "undefined" => Self::Undefined,
            other => Self::Other(other.into()),
        }
    }
}

impl Serialize for StepKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for StepKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KindText)
    }
}

/// Reads a kind from a text that nobody keeps.
struct KindText;

impl Visitor<'_> for KindText {
    type Value = StepKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kind of step")
    }

    fn visit_str<E>(self, text: &str) -> Result<StepKind, E> {
        Ok(text.into())
    }
}

/// Whether and how the input of a step is shown: a switch, or the language of its code fence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ShowInput {
    /// Shown or not.
    Switch(bool),
    /// Shown in a fence of this language.
    Language(String),
}

impl Default for ShowInput {
    fn default() -> Self {
        Self::Language("json".into())
    }
}

/// One node of the transcript, always complete: what is sent has every key that its kind has on the wire, and never a
/// `steps` key, which would wipe the frontend's own children.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// Its identity; the page inserts or merges by it.
    pub id: StepId,
    /// The conversation it belongs to.
    pub thread_id: ThreadId,
    /// Its place in the tree. A page drops a step whose parent it does not know.
    #[serde(default)]
    pub parent_id: Option<StepId>,
    /// The author of a message, the label of a step.
    #[serde(default)]
    pub name: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// The text of a message, the result of a step.
    #[serde(default, deserialize_with = "null_as_default")]
    pub output: String,
    /// The input of a step; empty for messages.
    #[serde(default, deserialize_with = "null_as_default")]
    pub input: String,
    /// When it was made; unset while its first token is being written.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it began. A start without an end is shown as running.
    #[serde(default)]
    pub start: Option<Timestamp>,
    /// When it ended.
    #[serde(default)]
    pub end: Option<Timestamp>,
    /// Whether tokens are still coming.
    #[serde(default, deserialize_with = "null_as_default")]
    pub streaming: bool,
    /// Whether it is shown as an error.
    #[serde(default, deserialize_with = "null_as_default")]
    pub is_error: bool,
    /// Whether a message is a question.
    #[serde(default, deserialize_with = "null_as_default")]
    pub wait_for_answer: bool,
    /// Wraps the output in a code fence of this language.
    #[serde(default)]
    pub language: Option<String>,
    /// How the input of a step is shown. Only steps have it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub show_input: ShowInput,
    /// Whether a step is open at first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub default_open: bool,
    /// Whether a step closes when it ends.
    #[serde(default, deserialize_with = "null_as_default")]
    pub auto_collapse: bool,
    /// What a model call used; kept for the database.
    #[serde(default)]
    pub generation: Option<Value>,
    /// Free keys; `favorite`, `avatarName`, `icon` and `location` mean something to the page.
    #[serde(default, deserialize_with = "null_as_default")]
    pub metadata: Map<String, Value>,
    /// Tags; frontends do not read them.
    #[serde(default)]
    pub tags: Option<Vec<String>>,
    /// The command a user message was sent with.
    #[serde(default)]
    pub command: Option<String>,
    /// The modes a user message was sent with.
    #[serde(default)]
    pub modes: Option<Map<String, Value>>,
    /// The vote on it, when read from the store.
    #[serde(default)]
    pub feedback: Option<Feedback>,
    /// Only its place in the tree is sent: it is part of a chain of thought that the page does not show.
    #[serde(skip)]
    pub is_stub: bool,
}

/// Runs that a page treats as transparent, and gets even where it does not show the chain of thought (chat-wire 4.3).
const TRANSPARENT: [&str; 3] = ["on_chat_start", "on_message", "on_audio_end"];

impl Step {
    /// A step with an id, a place and a kind; everything else is empty.
    #[must_use]
    pub fn new(id: StepId, thread_id: ThreadId, kind: StepKind, name: impl Into<String>) -> Self {
        Self {
            id,
            thread_id,
            parent_id: None,
            name: name.into(),
            kind,
            output: String::new(),
            input: String::new(),
            created_at: None,
            start: None,
            end: None,
            streaming: false,
            is_error: false,
            wait_for_answer: false,
            language: None,
            show_input: ShowInput::default(),
            default_open: false,
            auto_collapse: false,
            generation: None,
            metadata: Map::new(),
            tags: None,
            command: None,
            modes: None,
            feedback: None,
            is_stub: false,
        }
    }

    /// Whether a page that does not show the chain of thought gets a stub of it (chat-wire 4.3).
    #[must_use]
    pub fn is_hidden_thought(&self) -> bool {
        let transparent = self.kind == StepKind::Run && TRANSPARENT.contains(&self.name.as_str());
        !self.is_message() && !transparent
    }

    /// What a page gets of a hidden thought: its place and nothing of its content.
    #[must_use]
    pub fn stub(&self) -> Self {
        let stub = Self::new(self.id.clone(), self.thread_id.clone(), self.kind.clone(), self.name.clone());
        Self { parent_id: self.parent_id.clone(), is_stub: true, ..stub }
    }

    /// Whether frontends treat it as a message.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.kind.is_message()
    }
}

impl Serialize for Step {
    /// The keys that Chainlit sends for the kind: messages carry `command`, `modes` and `waitForAnswer`, steps carry
    /// the input and how it is shown. `feedback` appears only when there is one. A stub has exactly the keys of
    /// chat-wire 4.3.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("threadId", &self.thread_id)?;
        map.serialize_entry("parentId", &self.parent_id)?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("type", &self.kind)?;
        if self.is_stub {
            map.serialize_entry("input", "")?;
            map.serialize_entry("output", "")?;
            return map.end();
        }
        map.serialize_entry("createdAt", &self.created_at)?;
        map.serialize_entry("start", &self.start)?;
        map.serialize_entry("end", &self.end)?;
        map.serialize_entry("output", &self.output)?;
        map.serialize_entry("streaming", &self.streaming)?;
        map.serialize_entry("isError", &self.is_error)?;
        map.serialize_entry("language", &self.language)?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("tags", &self.tags)?;
        if self.is_message() {
            map.serialize_entry("waitForAnswer", &self.wait_for_answer)?;
            map.serialize_entry("command", &self.command)?;
            map.serialize_entry("modes", &self.modes)?;
        } else {
            map.serialize_entry("input", &self.input)?;
            map.serialize_entry("showInput", &self.show_input)?;
            map.serialize_entry("defaultOpen", &self.default_open)?;
            map.serialize_entry("autoCollapse", &self.auto_collapse)?;
            map.serialize_entry("generation", &self.generation)?;
        }
        if let Some(feedback) = &self.feedback {
            map.serialize_entry("feedback", feedback)?;
        }
        map.end()
    }
}

/// Reads null as the default: frontends and old databases leave null where a value belongs.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: StepKind) -> Step {
        let mut step = Step::new("S".into(), "T".into(), kind, "Assistant");
        step.created_at = Some(Timestamp::from_micros(1_764_455_739_129_157));
        step.output = "hello".into();
        step
    }

    #[test]
    fn a_message_on_the_wire() {
        insta::assert_json_snapshot!(step(StepKind::AssistantMessage));
    }

    #[test]
    fn a_tool_step_on_the_wire() {
        insta::assert_json_snapshot!(step(StepKind::Tool));
    }

    #[test]
    fn a_stub_says_where_a_step_is_and_nothing_else() {
        let mut tool = step(StepKind::Tool);
        tool.parent_id = Some("P".into());
        tool.metadata.insert("secret".into(), true.into());
        insta::assert_json_snapshot!(tool.stub());
        let run = |name: &str| Step::new("R".into(), "T".into(), StepKind::Run, name);
        assert!(tool.is_hidden_thought() && run("another").is_hidden_thought());
        assert!(!run("on_message").is_hidden_thought() && !step(StepKind::UserMessage).is_hidden_thought());
    }

    #[test]
    fn a_step_never_carries_children() {
        let mut value = serde_json::to_value(step(StepKind::Run)).unwrap();
        value["steps"] = serde_json::json!([]);
        let read: Step = serde_json::from_value(value).unwrap();
        assert!(serde_json::to_value(read).unwrap().get("steps").is_none());
    }

    #[test]
    fn null_output_reads_as_empty() {
        let read: Step = serde_json::from_value(serde_json::json!({
            "id": "a", "threadId": "t", "type": "run", "output": null, "streaming": null, "metadata": null
        }))
        .unwrap();
        assert_eq!(read.output, "");
    }
}
