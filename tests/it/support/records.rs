//! Records as a conversation would make them.

use rejoinder::id::{StepId, ThreadId, UserId};
use rejoinder::protocol::{Step, StepKind, Timestamp};
use rejoinder::record::{EndReason, Fact, Record, Source, ThreadStart};
use rejoinder::store::{Append, Store, Stored};

/// The owner of the threads below.
pub const ANNA: &str = "anna";

/// A moment, so many microseconds after a certain evening.
pub fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(1_796_000_000_000_000 + micros)
}

pub fn record(id: impl Into<String>, fact: Fact) -> Record {
    Record { id: id.into().into(), execution: None, source: Source::App, produced_at: at(0), fact }
}

/// A record that is output of a run.
pub fn output(run: &StepId, id: impl Into<String>, fact: Fact) -> Record {
    Record { execution: Some(run.clone()), source: Source::Assistant, ..record(id, fact) }
}

pub fn start(thread: &ThreadId) -> Record {
    start_for(thread, Some(ANNA))
}

pub fn start_for(thread: &ThreadId, owner: Option<&str>) -> Record {
    let start = ThreadStart {
        name: Some("hello".into()),
        user_id: owner.map(|_| UserId::from("00000000-0000-4000-8000-00000000aaaa")),
        user_identifier: owner.map(str::to_owned),
        tags: Vec::new(),
        metadata: serde_json::Map::new(),
    };
    record(format!("start-{thread}"), Fact::ThreadStarted(start))
}

pub fn step(thread: &ThreadId, id: &str, kind: StepKind, micros: i64) -> Step {
    let mut step = Step::new(id.into(), thread.clone(), kind, "someone");
    step.created_at = Some(at(micros));
    step
}

pub fn message(thread: &ThreadId, id: &str, text: &str) -> Fact {
    let mut step = step(thread, id, StepKind::AssistantMessage, 0);
    step.output = text.into();
    Fact::Message { step, interrupted: false }
}

pub fn run_started(thread: &ThreadId, run: &StepId) -> Record {
    let mut step = step(thread, run.as_str(), StepKind::Run, 0);
    step.start = Some(at(0));
    let fact = Fact::RunStarted { step, trigger: None };
    Record { execution: Some(run.clone()), ..record(format!("begin-{run}"), fact) }
}

pub fn run_ended(thread: &ThreadId, run: &StepId, reason: EndReason) -> Record {
    let mut step = step(thread, run.as_str(), StepKind::Run, 0);
    (step.start, step.end) = (Some(at(0)), Some(at(9)));
    Record {
        execution: Some(run.clone()),
        ..record(format!("end-{run}"), Fact::RunEnded { step, reason, command: None })
    }
}

pub fn append(thread: &ThreadId, records: Vec<Record>) -> Append {
    Append { thread: thread.clone(), owner: Some(ANNA.into()), records, hinge: None }
}

/// Stores records of Anna's thread and gives what became of each.
pub async fn store(store: &dyn Store, thread: &ThreadId, records: Vec<Record>) -> Vec<Stored> {
    store.append(&[append(thread, records)]).await.unwrap().remove(0).unwrap()
}

/// A thread of Anna's with a first record.
pub async fn started(store: &dyn Store) -> ThreadId {
    let thread = ThreadId::random();
    assert_eq!(self::store(store, &thread, vec![start(&thread)]).await, [Stored::Appended(Some(1))]);
    thread
}
