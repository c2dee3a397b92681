//! The public form of a record (records.md 3.6): one function for pages, replay and live delivery, so that the three say
//! the same bytes.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Fact, address};
use crate::id::{ExecutionId, RecordId, ThreadId};
use crate::protocol::{Element, Step, StepKind, Timestamp};

/// The version of the envelope. Types and fields may be added to it; nothing goes or changes its meaning.
const VERSION: u8 = 1;

/// A record as it lies in the store, as far as its public form needs it.
#[derive(Clone, Copy, Debug)]
pub struct RecordView<'a> {
    /// Its id.
    pub id: &'a RecordId,
    /// Its place; none for rows of before the numbering.
    pub sequence: Option<u64>,
    /// The run it is output of.
    pub execution: Option<&'a ExecutionId>,
    /// What it is about.
    pub entity: Option<&'a str>,
    /// The column `record_type`.
    pub record_type: &'a str,
    /// What it says.
    pub attributes: &'a Value,
    /// When it was stored.
    pub created_at: Timestamp,
    /// When its content was removed.
    pub erased_at: Option<Timestamp>,
    /// Whether it was put aside as evidence.
    pub quarantined: bool,
}

/// The typed, public form of a record. It is written as it stands here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    version: u8,
    kind: &'static str,
    session_id: ThreadId,
    execution_id: Option<ExecutionId>,
    event_id: RecordId,
    entity_id: Option<String>,
    sequence: Option<u64>,
    watermark: u64,
    #[serde(rename = "type")]
    event_type: &'static str,
    payload: Value,
    created_at: Timestamp,
}

impl Event {
    /// The record's place; none for rows of before the numbering.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.sequence
    }

    /// Its type, `message.completed` for one.
    #[must_use]
    pub fn event_type(&self) -> &'static str {
        self.event_type
    }

    /// The run it is about, or output of.
    #[must_use]
    pub fn execution(&self) -> Option<&ExecutionId> {
        self.execution_id.as_ref()
    }

    /// What it is about.
    #[must_use]
    pub fn entity(&self) -> Option<&str> {
        self.entity_id.as_deref()
    }

    /// What it says.
    #[must_use]
    pub fn payload(&self) -> &Value {
        &self.payload
    }
}

/// The public form of a record of `session`; none for what was put aside, for a type that this version does not know and
/// for a record that cannot be read (I-15). `watermark` is the thread's cursor as the query read it that read the record:
/// it is information, and the only part of an event that depends on who reads.
#[must_use]
pub fn project(session: &ThreadId, record: &RecordView<'_>, watermark: u64) -> Option<Event> {
    if record.quarantined {
        return None;
    }
    let (event_type, payload, run) = match record.erased_at {
        Some(at) => ("record.erased", json!({ "record_type": record.record_type, "erased_at": at }), None),
        None => {
            let fact = Fact::from_parts(record.record_type, record.attributes).ok()?;
            (event_type(&fact), payload(session, record, &fact), run(&fact).cloned())
        }
    };
    Some(Event {
        version: VERSION,
        kind: "event",
        session_id: session.clone(),
        execution_id: record.execution.cloned().or(run),
        event_id: record.id.clone(),
        entity_id: record.entity.map(str::to_owned),
        sequence: record.sequence,
        watermark,
        event_type,
        payload,
        created_at: record.created_at,
    })
}

fn event_type(fact: &Fact) -> &'static str {
    match fact {
        Fact::ThreadStarted(_) | Fact::ThreadUpdated(_) => "thread.updated",
        Fact::Message { .. } => "message.completed",
        Fact::MessageUpdated(_) => "message.updated",
        Fact::StepDeleted(_) => "message.deleted",
        Fact::StepStarted(_) => "step.started",
        Fact::StepUpdated(_) => "step.updated",
        Fact::StepEnded(step) if step.kind == StepKind::Tool => "tool.completed",
        Fact::StepEnded(_) => "step.completed",
        Fact::RunStarted { .. } => "execution.started",
        Fact::RunEnded { .. } => "execution.stopped",
        Fact::RunFailed { .. } => "execution.failed",
        Fact::RunLost { .. } => "execution.lost",
        Fact::Asked { .. } => "interaction.requested",
        Fact::AskEnded { .. } => "interaction.responded",
        Fact::Element(_) => "element.added",
        Fact::ElementRemoved(_) => "element.removed",
        Fact::FeedbackSet(_) => "feedback.set",
        Fact::FeedbackRemoved(_) => "feedback.removed",
        Fact::SettingsUpdated(_) => "settings.updated",
    }
}

/// The run that a fact about a run is about, whatever the record says it is output of.
fn run(fact: &Fact) -> Option<&ExecutionId> {
    match fact {
        Fact::RunStarted { step, .. } | Fact::RunEnded { step, .. } | Fact::RunFailed { step, .. } => Some(&step.id),
        Fact::RunLost { run, .. } => Some(run),
        _ => None,
    }
}

/// What an event says: the keys of the records API, without the whole step that a record carries beside them.
fn payload(session: &ThreadId, record: &RecordView<'_>, fact: &Fact) -> Value {
    let keys = || match fact.attributes() {
        Value::Object(mut keys) => {
            keys.remove("step");
            keys
        }
        _ => Map::new(),
    };
    let with = |mut keys: Map<String, Value>, more: Value| {
        if let Value::Object(more) = more {
            keys.extend(more);
        }
        Value::Object(keys)
    };
    match fact {
        Fact::ThreadStarted(start) => json!({
            "name": start.name,
            "tags": start.tags,
            "metadata": start.metadata,
        }),
        Fact::Message { step, .. } => {
            let mut keys = keys();
            // A stored message is never streaming.
            keys.remove("streaming");
            with(keys, message(step))
        }
        Fact::MessageUpdated(step) => with(keys(), message(step)),
        // Whoever opened it, the event is of one shape.
        Fact::StepStarted(step) | Fact::StepUpdated(step) => json!({
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
        }),
        Fact::StepEnded(step) if step.kind == StepKind::Tool => {
            with(keys(), json!({ "parent_id": step.parent_id, "metadata": step.metadata }))
        }
        Fact::RunStarted { step, .. } => with(keys(), json!({ "name": step.name, "parent_id": step.parent_id })),
        Fact::RunEnded { command, .. } => with(keys(), json!({ "command_id": command })),
        Fact::Asked { step, .. } => with(
            keys(),
            json!({
                "message_id": step.id,
                "role": "assistant",
                "content": step.output,
                "name": step.name,
                "created_at": step.created_at,
                "parent_id": step.parent_id,
            }),
        ),
        Fact::Element(element) => attached(session, element),
        Fact::FeedbackSet(vote) => json!({
            // A first vote has none of its own (`record::fold`).
            "feedback_id": vote.id.as_ref().map_or(record.id.as_str(), |id| id.as_str()),
            "message_id": vote.for_id,
            "value": vote.value,
            "comment": vote.comment,
        }),
        Fact::ThreadUpdated(_)
        | Fact::StepDeleted(_)
        | Fact::StepEnded(_)
        | Fact::RunFailed { .. }
        | Fact::RunLost { .. }
        | Fact::AskEnded { .. }
        | Fact::ElementRemoved(_)
        | Fact::FeedbackRemoved(_)
        | Fact::SettingsUpdated(_) => Value::Object(keys()),
    }
}

/// What a reader needs of a message beside its text.
fn message(step: &Step) -> Value {
    json!({ "is_error": step.is_error, "metadata": step.metadata })
}

/// An element with the address of its bytes, below the server's root; never the key in a storage.
fn attached(session: &ThreadId, element: &Element) -> Value {
    let mut element = element.clone();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::attributes::tests::facts;

    fn event(fact: &Fact, attributes: &Value) -> Option<Event> {
        let id = RecordId::from("R");
        let view = RecordView {
            id: &id,
            sequence: Some(42),
            execution: None,
            entity: fact.entity(),
            record_type: fact.record_type(),
            attributes,
            created_at: Timestamp::from_micros(1_796_000_100_000_000),
            erased_at: None,
            quarantined: false,
        };
        project(&"T".into(), &view, 44)
    }

    /// Readers out there know these; six of them are frozen (records.md 3.6).
    #[test]
    fn every_event_as_json() {
        let mut all: Vec<Event> = facts().iter().filter_map(|fact| event(fact, &fact.attributes())).collect();
        assert_eq!(all.len(), facts().len(), "each kind of record has a public form");
        let id = RecordId::from("R");
        let erased = RecordView {
            id: &id,
            sequence: Some(43),
            execution: Some(&"X".into()),
            entity: Some("S"),
            record_type: "message",
            attributes: &json!({}),
            created_at: Timestamp::from_micros(1_796_000_100_000_000),
            erased_at: Some(Timestamp::from_micros(1_796_000_200_000_000)),
            quarantined: false,
        };
        all.extend(project(&"T".into(), &erased, 44));
        insta::assert_json_snapshot!(all);
    }

    /// I-15: the record stays, its event does not exist.
    #[test]
    fn what_cannot_be_read_has_no_event() {
        for fact in facts() {
            assert_eq!(event(&fact, &json!([1])), None, "{}", fact.record_type());
            assert_eq!(event(&fact, &json!("text")), None, "{}", fact.record_type());
        }
        let id = RecordId::from("R");
        let good = Fact::StepDeleted("S".into()).attributes();
        let mut view = RecordView {
            id: &id,
            sequence: Some(1),
            execution: None,
            entity: Some("S"),
            record_type: "message_delete",
            attributes: &good,
            created_at: Timestamp::from_micros(0),
            erased_at: None,
            quarantined: false,
        };
        assert!(project(&"T".into(), &view, 1).is_some());
        view.record_type = "of tomorrow";
        assert_eq!(project(&"T".into(), &view, 1), None);
        (view.record_type, view.quarantined, view.sequence) = ("message_delete", true, None);
        assert_eq!(project(&"T".into(), &view, 1), None);
    }
}
