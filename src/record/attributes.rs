//! Facts as JSON and back: the column `attributes`.
//!
//! The keys of the records API come first (records.md 3.6); the whole step or element stands beside them, so that a
//! record is complete in itself.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{BadRecord, EndReason, Fact, Outcome};
use crate::protocol::{Element, Feedback, Step, StepKind};

impl Fact {
    /// What it says, as JSON. [`Fact::from_parts`] reads it back.
    #[must_use]
    pub fn attributes(&self) -> Value {
        match self {
            Self::ThreadStarted(start) => to_value(start),
            Self::ThreadUpdated(update) => to_value(update),
            Self::Message { step, interrupted } => {
                let mut value = message(step);
                value["streaming"] = false.into();
                value["finish_reason"] = if *interrupted { "interrupted" } else { "stop" }.into();
                value
            }
            Self::MessageUpdated(step) => message(step),
            Self::StepDeleted(id) => json!({ "message_id": id }),
            Self::StepStarted(step) if step.kind == StepKind::Tool => json!({
                "tool_call_id": step.id,
                "name": step.name,
                "input": step.input,
                "step": whole(step),
            }),
            Self::StepEnded(step) if step.kind == StepKind::Tool => tool_result(step),
            Self::StepStarted(step) | Self::StepUpdated(step) | Self::StepEnded(step) => json!({
                "step_id": step.id,
                "step_type": step.kind,
                "name": step.name,
                "input": step.input,
                "output": step.output,
                "is_error": step.is_error,
                "started_at": step.start,
                "ended_at": step.end,
                "parent_id": step.parent_id,
                "metadata": step.metadata,
                "step": whole(step),
            }),
            Self::RunStarted { step, trigger } => json!({
                "started_at": step.start.or(step.created_at),
                "trigger_message_id": trigger,
                "step": whole(step),
            }),
            Self::RunEnded { step, reason, command } => {
                let mut value = json!({ "stopped_at": step.end, "reason": reason, "step": whole(step) });
                // As it was written before there were commands, where there was none.
                if let Some(command) = command {
                    value["command_id"] = json!(command);
                }
                value
            }
            Self::RunFailed { step, message } => json!({
                "failed_at": step.end,
                "error": { "code": "hook_error", "message": message, "retryable": true, "details": null },
                "step": whole(step),
            }),
            Self::RunLost { run, lost_at } => json!({
                "run_id": run,
                "lost_at": lost_at,
                "reason": "process_restarted",
                "history_complete": false,
            }),
            Self::Asked { step, spec, timeout_at } => json!({
                "interaction_id": step.id,
                "kind": spec.get("type").cloned().unwrap_or(Value::Null),
                "spec": spec,
                "timeout_at": timeout_at,
                "step": whole(step),
            }),
            Self::AskEnded { ask, outcome } => {
                let mut value = to_value(outcome);
                value["interaction_id"] = json!(ask);
                value
            }
            Self::Element(element) => json!({
                "element_id": element.id,
                "for_id": element.for_id,
                "kind": element.kind,
                "name": element.name,
                "url": element.url,
                "object_key": element.object_key,
                "mime": element.mime,
                "size": element.size,
                "element": element,
            }),
            Self::ElementRemoved(id) => json!({ "element_id": id }),
            Self::FeedbackSet(feedback) => json!({
                "feedback_id": feedback.id,
                "message_id": feedback.for_id,
                "value": feedback.value,
                "comment": feedback.comment,
            }),
            Self::FeedbackRemoved(id) => json!({ "feedback_id": id }),
            Self::SettingsUpdated(values) => json!({ "values": values }),
        }
    }

    /// Reads a stored record back. An erased record, an unknown type or a wrong shape is an error, never a panic.
    pub fn from_parts(record_type: &str, attributes: &Value) -> Result<Self, BadRecord> {
        let step = || field::<Step>(attributes, "step");
        Ok(match record_type {
            "thread_start" => Self::ThreadStarted(from_value(attributes)?),
            "thread_update" => Self::ThreadUpdated(from_value(attributes)?),
            "message" => {
                let interrupted = attributes.get("finish_reason").and_then(Value::as_str) == Some("interrupted");
                Self::Message { step: step()?, interrupted }
            }
            "message_update" => Self::MessageUpdated(step()?),
            "message_delete" => Self::StepDeleted(field(attributes, "message_id")?),
            "tool_call" | "step_start" => Self::StepStarted(step()?),
            "step_update" => Self::StepUpdated(step()?),
            "tool_result" | "step" => Self::StepEnded(step()?),
            "task_start" => Self::RunStarted { step: step()?, trigger: optional(attributes, "trigger_message_id")? },
            "task_end" => Self::RunEnded {
                step: step()?,
                reason: field::<EndReason>(attributes, "reason")?,
                command: optional(attributes, "command_id")?,
            },
            "task_error" => {
                let message = attributes.pointer("/error/message").and_then(Value::as_str).ok_or(BadRecord::Shape)?;
                Self::RunFailed { step: step()?, message: message.to_owned() }
            }
            "task_lost" => Self::RunLost { run: field(attributes, "run_id")?, lost_at: field(attributes, "lost_at")? },
            "interaction_request" => Self::Asked {
                step: step()?,
                spec: attributes.get("spec").cloned().ok_or(BadRecord::Shape)?,
                timeout_at: field(attributes, "timeout_at")?,
            },
            "interaction_response" => Self::AskEnded {
                ask: field(attributes, "interaction_id")?,
                outcome: from_value::<Outcome>(attributes)?,
            },
            "element" => Self::Element(field::<Element>(attributes, "element")?),
            "element_remove" => Self::ElementRemoved(field(attributes, "element_id")?),
            "feedback" => Self::FeedbackSet(Feedback {
                id: optional(attributes, "feedback_id")?,
                for_id: field(attributes, "message_id")?,
                thread_id: None,
                value: field(attributes, "value")?,
                comment: optional(attributes, "comment")?,
            }),
            "feedback_remove" => Self::FeedbackRemoved(field(attributes, "feedback_id")?),
            "settings" => Self::SettingsUpdated(field::<Map<String, Value>>(attributes, "values")?),
            _ => return Err(BadRecord::UnknownType),
        })
    }
}

/// The step without its vote, which is a fact of its own.
fn whole(step: &Step) -> Value {
    let mut value = to_value(step);
    if let Value::Object(map) = &mut value {
        map.remove("feedback");
    }
    value
}

fn message(step: &Step) -> Value {
    let role = match step.kind {
        StepKind::UserMessage => "user",
        StepKind::SystemMessage => "system",
        _ => "assistant",
    };
    json!({
        "message_id": step.id,
        "content": step.output,
        "name": step.name,
        "role": role,
        "created_at": step.created_at,
        "parent_id": step.parent_id,
        "language": step.language,
        "step": whole(step),
    })
}

fn tool_result(step: &Step) -> Value {
    let (output, error) = if step.is_error { (None, Some(&step.output)) } else { (Some(&step.output), None) };
    json!({
        "tool_call_id": step.id,
        "name": step.name,
        "input": step.input,
        "output": output,
        "error": error,
        "status": if step.is_error { "error" } else { "ok" },
        "started_at": step.start,
        "ended_at": step.end,
        "step": whole(step),
    })
}

/// Our own types have text keys and finite numbers, so they are always representable.
fn to_value(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, BadRecord> {
    T::deserialize(value).map_err(|_| BadRecord::Shape)
}

fn field<T: DeserializeOwned>(attributes: &Value, key: &str) -> Result<T, BadRecord> {
    from_value(attributes.get(key).ok_or(BadRecord::Shape)?)
}

fn optional<T: DeserializeOwned>(attributes: &Value, key: &str) -> Result<Option<T>, BadRecord> {
    attributes.get(key).map_or(Ok(None), from_value)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::{ElementKind, Timestamp};
    use crate::record::{ThreadStart, ThreadUpdate};

    fn step(kind: StepKind) -> Step {
        let time = |micros: i64| Some(Timestamp::from_micros(1_796_000_000_000_000 + micros));
        let mut step = Step::new("S".into(), "T".into(), kind, "name");
        (step.created_at, step.start, step.end) = (time(0), time(1), time(2));
        (step.input, step.output) = ("in".into(), "out".into());
        step
    }

    pub fn facts() -> Vec<Fact> {
        let tool = step(StepKind::Tool);
        let said = step(StepKind::AssistantMessage);
        let run = step(StepKind::Run);
        let failed = Step { is_error: true, ..tool.clone() };
        let vote = Feedback {
            id: Some("V".into()),
            for_id: "S".into(),
            thread_id: None,
            value: 1,
            comment: Some("ok".into()),
        };
        let settings = Map::from_iter([("temperature".to_owned(), json!(0.5))]);
        vec![
            Fact::ThreadStarted(ThreadStart { name: Some("hello".into()), ..ThreadStart::default() }),
            Fact::ThreadUpdated(ThreadUpdate { metadata: settings.clone(), ..ThreadUpdate::default() }),
            Fact::Message { step: step(StepKind::UserMessage), interrupted: false },
            Fact::Message { step: said.clone(), interrupted: true },
            Fact::MessageUpdated(said.clone()),
            Fact::StepDeleted("S".into()),
            Fact::StepStarted(tool.clone()),
            Fact::StepStarted(step(StepKind::Llm)),
            Fact::StepUpdated(step(StepKind::Llm)),
            Fact::StepEnded(tool),
            Fact::StepEnded(failed),
            Fact::StepEnded(step(StepKind::Llm)),
            Fact::RunStarted { step: run.clone(), trigger: Some("M".into()) },
            Fact::RunEnded { step: run.clone(), reason: EndReason::UserStop, command: None },
            Fact::RunEnded { step: run.clone(), reason: EndReason::UserStop, command: Some("C".into()) },
            Fact::RunFailed { step: run, message: "sorry".into() },
            Fact::RunLost { run: "S".into(), lost_at: Timestamp::from_micros(1_796_000_000_000_000) },
            Fact::Asked {
                step: said,
                spec: json!({ "type": "text", "timeout": 60 }),
                timeout_at: Timestamp::from_micros(1_796_000_060_000_000),
            },
            Fact::AskEnded { ask: "S".into(), outcome: Outcome::Answered(json!({ "output": "yes" })) },
            Fact::AskEnded { ask: "S".into(), outcome: Outcome::Cancelled },
            Fact::Element(Element::new("E".into(), ElementKind::Image, "cat.png")),
            Fact::ElementRemoved("E".into()),
            Fact::FeedbackSet(vote),
            Fact::FeedbackRemoved("V".into()),
            Fact::SettingsUpdated(settings),
        ]
    }

    /// The stored form of every record type. Readers of old records need it as it is.
    #[test]
    fn every_record_type_as_json() {
        let all: Vec<Value> = facts()
            .iter()
            .map(|fact| json!({ "type": fact.record_type(), "entity": fact.entity(), "attributes": fact.attributes() }))
            .collect();
        insta::assert_json_snapshot!(all);
    }

    #[test]
    fn every_record_type_reads_back() {
        for fact in facts() {
            let read = Fact::from_parts(fact.record_type(), &fact.attributes()).unwrap();
            assert_eq!(read.attributes(), fact.attributes());
            assert_eq!(read.record_type(), fact.record_type());
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for fact in facts() {
            let kind = fact.record_type();
            let erased = Fact::from_parts(kind, &json!({}));
            assert!(erased.is_err() || matches!(kind, "thread_start" | "thread_update"), "{kind}");
            assert_eq!(Fact::from_parts(kind, &json!([1])), Err(BadRecord::Shape), "{kind}");
        }
        assert_eq!(Fact::from_parts("of tomorrow", &json!({})), Err(BadRecord::UnknownType));
    }
}
