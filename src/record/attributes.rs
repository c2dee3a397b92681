//! Facts as JSON and back: the column `attributes`.
//!
//! The keys of the records API come first (records.md 3.6); the whole step or element stands beside them, so that a
//! record is complete in itself.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::{BadRecord, EndReason, Fact, LostReason, Outcome};
use crate::id::{CommandId, ElementId, FeedbackId, StepId};
use crate::protocol::{Element, Feedback, Step, StepKind, Timestamp};

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
            Self::RunLost { run, lost_at, reason } => json!({
                "run_id": run,
                "lost_at": lost_at,
                "reason": reason,
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
        if attributes.is_object() { read(record_type, attributes) } else { Err(BadRecord::Shape) }
    }

    /// Reads a stored record back from its JSON, without a [`Value`] in between.
    pub fn from_json(record_type: &str, attributes: &str) -> Result<Self, BadRecord> {
        if !attributes.trim_start().starts_with('{') {
            return Err(BadRecord::Shape);
        }
        let mut json = serde_json::Deserializer::from_str(attributes);
        let fact = read(record_type, &mut json)?;
        json.end().map_err(|_| BadRecord::Shape)?;
        Ok(fact)
    }
}

/// The keys that a fact is read from. The others say the same once more, for readers of the records API.
fn read<'de, D: Deserializer<'de>>(record_type: &str, attributes: D) -> Result<Fact, BadRecord> {
    #[derive(Deserialize)]
    struct Carried {
        step: Step,
    }
    #[derive(Deserialize)]
    struct Message {
        step: Step,
        #[serde(default)]
        finish_reason: Value,
    }
    #[derive(Deserialize)]
    struct RunStarted {
        step: Step,
        trigger_message_id: Option<StepId>,
    }
    #[derive(Deserialize)]
    struct RunEnded {
        step: Step,
        reason: EndReason,
        command_id: Option<CommandId>,
    }
    #[derive(Deserialize)]
    struct RunFailed {
        step: Step,
        error: Failure,
    }
    #[derive(Deserialize)]
    struct Failure {
        message: String,
    }
    #[derive(Deserialize)]
    struct RunLost {
        run_id: StepId,
        lost_at: Timestamp,
        reason: LostReason,
    }
    #[derive(Deserialize)]
    struct Asked {
        step: Step,
        spec: Value,
        timeout_at: Timestamp,
    }
    #[derive(Deserialize)]
    struct AskEnded {
        interaction_id: StepId,
        #[serde(flatten)]
        outcome: Outcome,
    }
    #[derive(Deserialize)]
    struct Attached {
        element: Element,
    }
    #[derive(Deserialize)]
    struct Voted {
        feedback_id: Option<FeedbackId>,
        message_id: StepId,
        value: u8,
        comment: Option<String>,
    }
    #[derive(Deserialize)]
    struct MessageId {
        message_id: StepId,
    }
    #[derive(Deserialize)]
    struct ElementKey {
        element_id: ElementId,
    }
    #[derive(Deserialize)]
    struct FeedbackKey {
        feedback_id: FeedbackId,
    }
    #[derive(Deserialize)]
    struct Settings {
        values: Map<String, Value>,
    }
    Ok(match record_type {
        "thread_start" => Fact::ThreadStarted(shaped(attributes)?),
        "thread_update" => Fact::ThreadUpdated(shaped(attributes)?),
        "message" => {
            let Message { step, finish_reason } = shaped(attributes)?;
            Fact::Message { step, interrupted: finish_reason == "interrupted" }
        }
        "message_update" => Fact::MessageUpdated(shaped::<Carried, D>(attributes)?.step),
        "message_delete" => Fact::StepDeleted(shaped::<MessageId, D>(attributes)?.message_id),
        "tool_call" | "step_start" => Fact::StepStarted(shaped::<Carried, D>(attributes)?.step),
        "step_update" => Fact::StepUpdated(shaped::<Carried, D>(attributes)?.step),
        "tool_result" | "step" => Fact::StepEnded(shaped::<Carried, D>(attributes)?.step),
        "task_start" => {
            let RunStarted { step, trigger_message_id: trigger } = shaped(attributes)?;
            Fact::RunStarted { step, trigger }
        }
        "task_end" => {
            let RunEnded { step, reason, command_id: command } = shaped(attributes)?;
            Fact::RunEnded { step, reason, command }
        }
        "task_error" => {
            let RunFailed { step, error } = shaped(attributes)?;
            Fact::RunFailed { step, message: error.message }
        }
        "task_lost" => {
            let RunLost { run_id: run, lost_at, reason } = shaped(attributes)?;
            Fact::RunLost { run, lost_at, reason }
        }
        "interaction_request" => {
            let Asked { step, spec, timeout_at } = shaped(attributes)?;
            Fact::Asked { step, spec, timeout_at }
        }
        "interaction_response" => {
            let AskEnded { interaction_id: ask, outcome } = shaped(attributes)?;
            Fact::AskEnded { ask, outcome }
        }
        "element" => Fact::Element(shaped::<Attached, D>(attributes)?.element),
        "element_remove" => Fact::ElementRemoved(shaped::<ElementKey, D>(attributes)?.element_id),
        "feedback" => {
            let Voted { feedback_id: id, message_id: for_id, value, comment } = shaped(attributes)?;
            Fact::FeedbackSet(Feedback { id, for_id, thread_id: None, value, comment })
        }
        "feedback_remove" => Fact::FeedbackRemoved(shaped::<FeedbackKey, D>(attributes)?.feedback_id),
        "settings" => Fact::SettingsUpdated(shaped::<Settings, D>(attributes)?.values),
        _ => return Err(BadRecord::UnknownType),
    })
}

fn shaped<'de, T: Deserialize<'de>, D: Deserializer<'de>>(attributes: D) -> Result<T, BadRecord> {
    T::deserialize(attributes).map_err(|_| BadRecord::Shape)
}

/// The step without its vote, which is a fact of its own.
fn whole(step: &Step) -> Value {
    let mut value = to_value(step);
    if let Value::Object(map) = &mut value {
        map.remove("feedback");
    }
    value
}

/// Who speaks in a message.
pub(super) fn role(step: &Step) -> &'static str {
    match step.kind {
        StepKind::UserMessage => "user",
        StepKind::SystemMessage => "system",
        _ => "assistant",
    }
}

fn message(step: &Step) -> Value {
    json!({
        "message_id": step.id,
        "content": step.output,
        "name": step.name,
        "role": role(step),
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

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::protocol::ElementKind;
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
            Fact::RunLost {
                run: "S".into(),
                lost_at: Timestamp::from_micros(1_796_000_000_000_000),
                reason: LostReason::ProcessRestarted,
            },
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
            let attributes = fact.attributes();
            let read = Fact::from_parts(fact.record_type(), &attributes).unwrap();
            assert_eq!(read.attributes(), attributes);
            assert_eq!(read.record_type(), fact.record_type());
            assert_eq!(Fact::from_json(fact.record_type(), &attributes.to_string()), Ok(read));
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for fact in facts() {
            let kind = fact.record_type();
            let erased = Fact::from_parts(kind, &json!({}));
            assert!(erased.is_err() || matches!(kind, "thread_start" | "thread_update"), "{kind}");
            assert_eq!(Fact::from_parts(kind, &json!([1])), Err(BadRecord::Shape), "{kind}");
            for text in ["", "x", "[1]", "\"text\"", &format!("{} x", fact.attributes())] {
                assert_eq!(Fact::from_json(kind, text), Err(BadRecord::Shape), "{kind} {text}");
            }
        }
        assert_eq!(Fact::from_parts("of tomorrow", &json!({})), Err(BadRecord::UnknownType));
    }
}
