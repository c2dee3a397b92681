//! What an event says: the keys of the records API, without the whole step that a record carries beside them.
//!
//! Messages, steps and runs are nearly all that a history consists of, so they are written straight from the fact. Keys
//! stand in their alphabetical order, as they do in whatever goes through a [`Value`].

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::attributes::role;
use super::{EndReason, Fact, address};
use crate::id::{CommandId, RecordId, StepId, ThreadId};
use crate::protocol::{Element, Step, StepKind, Timestamp};

/// What an event says, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Payload {
    /// A message; `finish_reason` where it was just completed.
    Message {
        step: Step,
        finish_reason: Option<&'static str>,
    },
    /// A step that was opened, changed or closed.
    Step(Step),
    /// A tool's call that was closed.
    Tool(Step),
    RunStarted {
        step: Step,
        trigger: Option<StepId>,
    },
    RunEnded {
        at: Option<Timestamp>,
        reason: EndReason,
        command: Option<CommandId>,
    },
    /// What comes seldom.
    Other(Value),
}

impl Payload {
    /// `record` is the id of the record that says it, `session` its thread's.
    pub(super) fn new(session: &ThreadId, record: &RecordId, fact: Fact) -> Self {
        match fact {
            Fact::Message { step, interrupted } => {
                Self::Message { step, finish_reason: Some(if interrupted { "interrupted" } else { "stop" }) }
            }
            Fact::MessageUpdated(step) => Self::Message { step, finish_reason: None },
            Fact::StepEnded(step) if step.kind == StepKind::Tool => Self::Tool(step),
            // Whoever opened it, the event is of one shape.
            Fact::StepStarted(step) | Fact::StepUpdated(step) | Fact::StepEnded(step) => Self::Step(step),
            Fact::RunStarted { step, trigger } => Self::RunStarted { step, trigger },
            Fact::RunEnded { step, reason, command } => Self::RunEnded { at: step.end, reason, command },
            Fact::ThreadStarted(start) => Self::Other(json!({
                "name": start.name,
                "tags": start.tags,
                "metadata": start.metadata,
            })),
            Fact::Asked { ref step, .. } => {
                let mut keys = own(&fact);
                let more = json!({
                    "message_id": step.id,
                    "role": "assistant",
                    "content": step.output,
                    "name": step.name,
                    "created_at": step.created_at,
                    "parent_id": step.parent_id,
                });
                if let Value::Object(more) = more {
                    keys.extend(more);
                }
                Self::Other(Value::Object(keys))
            }
            Fact::Element(element) => Self::Other(attached(session, element)),
            Fact::FeedbackSet(vote) => Self::Other(json!({
                // A first vote has none of its own (`record::fold`).
                "feedback_id": vote.id.as_ref().map_or(record.as_str(), |id| id.as_str()),
                "message_id": vote.for_id,
                "value": vote.value,
                "comment": vote.comment,
            })),
            Fact::ThreadUpdated(_)
            | Fact::StepDeleted(_)
            | Fact::RunFailed { .. }
            | Fact::RunLost { .. }
            | Fact::AskEnded { .. }
            | Fact::ElementRemoved(_)
            | Fact::FeedbackRemoved(_)
            | Fact::SettingsUpdated(_) => Self::Other(Value::Object(own(&fact))),
        }
    }
}

/// The keys of the fact itself.
fn own(fact: &Fact) -> Map<String, Value> {
    match fact.attributes() {
        Value::Object(mut keys) => {
            keys.remove("step");
            keys
        }
        _ => Map::new(),
    }
}

/// An element with the address of its bytes, below the server's root; never the key in a storage.
fn attached(session: &ThreadId, mut element: Element) -> Value {
    address(session, &mut element, "", None);
    json!({
        "element_id": element.id,
        "for_id": element.for_id,
        "kind": element.kind,
        "name": element.name,
        "display": element.display,
        "url": element.url,
        "mime": element.mime,
        "size": element.size,
        "props": element.props,
        "page": element.page,
        "language": element.language,
        "auto_play": element.auto_play,
        "player_config": element.player_config,
    })
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Message { step, finish_reason } => MessageKeys {
                content: &step.output,
                created_at: step.created_at,
                finish_reason: *finish_reason,
                is_error: step.is_error,
                language: step.language.as_deref(),
                message_id: &step.id,
                metadata: &step.metadata,
                name: &step.name,
                parent_id: step.parent_id.as_ref(),
                role: role(step),
            }
            .serialize(serializer),
            Self::Step(step) => StepKeys {
                ended_at: step.end,
                input: &step.input,
                is_error: step.is_error,
                metadata: &step.metadata,
                name: &step.name,
                output: &step.output,
                parent_id: step.parent_id.as_ref(),
                started_at: step.start,
                step_id: &step.id,
                step_type: &step.kind,
            }
            .serialize(serializer),
            Self::Tool(step) => ToolKeys {
                ended_at: step.end,
                error: step.is_error.then_some(&step.output),
                input: &step.input,
                metadata: &step.metadata,
                name: &step.name,
                output: (!step.is_error).then_some(&step.output),
                parent_id: step.parent_id.as_ref(),
                started_at: step.start,
                status: if step.is_error { "error" } else { "ok" },
                tool_call_id: &step.id,
            }
            .serialize(serializer),
            Self::RunStarted { step, trigger } => RunStartedKeys {
                name: &step.name,
                parent_id: step.parent_id.as_ref(),
                started_at: step.start.or(step.created_at),
                trigger_message_id: trigger.as_ref(),
            }
            .serialize(serializer),
            Self::RunEnded { at, reason, command } => {
                RunEndedKeys { command_id: command.as_ref(), reason: *reason, stopped_at: *at }.serialize(serializer)
            }
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct MessageKeys<'a> {
    content: &'a str,
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'static str>,
    is_error: bool,
    language: Option<&'a str>,
    message_id: &'a StepId,
    metadata: &'a Map<String, Value>,
    name: &'a str,
    parent_id: Option<&'a StepId>,
    role: &'static str,
}

#[derive(Serialize)]
struct StepKeys<'a> {
    ended_at: Option<Timestamp>,
    input: &'a str,
    is_error: bool,
    metadata: &'a Map<String, Value>,
    name: &'a str,
    output: &'a str,
    parent_id: Option<&'a StepId>,
    started_at: Option<Timestamp>,
    step_id: &'a StepId,
    step_type: &'a StepKind,
}

#[derive(Serialize)]
struct ToolKeys<'a> {
    ended_at: Option<Timestamp>,
    error: Option<&'a String>,
    input: &'a str,
    metadata: &'a Map<String, Value>,
    name: &'a str,
    output: Option<&'a String>,
    parent_id: Option<&'a StepId>,
    started_at: Option<Timestamp>,
    status: &'static str,
    tool_call_id: &'a StepId,
}

#[derive(Serialize)]
struct RunStartedKeys<'a> {
    name: &'a str,
    parent_id: Option<&'a StepId>,
    started_at: Option<Timestamp>,
    trigger_message_id: Option<&'a StepId>,
}

#[derive(Serialize)]
struct RunEndedKeys<'a> {
    command_id: Option<&'a CommandId>,
    reason: EndReason,
    stopped_at: Option<Timestamp>,
}
