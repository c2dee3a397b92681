//! Numbering what has no number (records.md, decision 8): rows that another program wrote before the first record, and
//! records of while numbering was switched off. An operator asks for it; it never happens by itself.
//!
//! Every number of the thread changes, so the thread gets a new epoch: whoever holds an old cursor is told.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::append::{Failure, Works};
use super::incomplete::{LEGACY_ROWS, UNSEQUENCED_ROWS};
use super::known::{KnownCursor, Lookup};
use super::mark::Mark;
use super::prepare::prepare_record;
use super::writes::{CursorRow, RecordRow, Writes};
use super::{Store, StoreError, StoredThread};
use crate::id::{RecordId, ThreadId};
use crate::protocol::{StepKind, Timestamp};
use crate::record::{Fact, Record, Source, ThreadStart};

/// A record that is there, as far as its number goes.
#[derive(Debug, Deserialize)]
struct Known {
    id: RecordId,
    sequence: Option<u64>,
    created_at: i64,
    hash: String,
    entity: Option<String>,
    #[serde(rename = "type")]
    record_type: String,
}

/// The number that a record gets.
#[derive(Debug, Serialize)]
struct Number<'a> {
    id: &'a RecordId,
    sequence: u64,
    mark: String,
}

/// Gives numbers to everything of a thread that has none, old rows first, in one transaction under its cursor's lock. Gives
/// how many got one; 0 when nothing was without, or there is no such thread.
pub(super) async fn number<S: Store + Works>(store: &S, thread: &ThreadId) -> Result<u64, StoreError> {
    done(try_number(store, thread).await)
}

fn done(result: Result<u64, Failure>) -> Result<u64, StoreError> {
    result.map_err(|failure| match failure {
        Failure::Store(error) => error,
        Failure::Raced => StoreError::Unavailable(sqlx::Error::Protocol("another writer was faster".into())),
        Failure::Bad(code, detail) => StoreError::Corrupt(format!("{code}: {detail}")),
    })
}

async fn try_number<S: Store + Works>(store: &S, thread: &ThreadId) -> Result<u64, Failure> {
    let mut work = store.begin().await?;
    let lookup = Lookup { threads: vec![thread.clone()], ..Lookup::default() };
    let mut known = work.read(&lookup).await?;
    // Nobody else writes records of this thread now, so what others read is what there is.
    let Some(rows) = store.thread(thread).await? else { return Ok(0) };
    let mut there: Vec<Known> = super::assemble::many(&work.numbers(thread).await?)?;
    let old = old_rows(&rows, &there);
    let unnumbered = there.iter().filter(|record| record.sequence.is_none()).count();
    if old.is_empty() && unnumbered == 0 {
        return Ok(0);
    }
    in_order(&mut there);

    let mut cursor = known.cursors.remove(thread).unwrap_or_else(|| KnownCursor::new(String::new()));
    cursor.epoch = super::epoch();
    cursor.incomplete.remove(LEGACY_ROWS);
    cursor.incomplete.remove(UNSEQUENCED_ROWS);
    if cursor.step_count.is_none() {
        cursor.step_newest = known.threads.get(thread).and_then(|row| row.newest.clone());
    }
    cursor.step_count = i64::try_from(rows.thread.steps.iter().filter(|step| !step.streaming).count()).ok();
    cursor.latest = 0;
    cursor.mark = Mark::default();
    let mut writes = Writes::default();
    for record in &old {
        let prepared = prepare_record(record);
        cursor.latest += 1;
        cursor.mark = cursor.mark.next(prepared.id.as_str(), &prepared.hash);
        writes.records.push(RecordRow {
            thread: thread.clone(),
            sequence: Some(cursor.latest),
            execution: None,
            origin: None,
            entity: prepared.fact.entity().map(str::to_owned),
            kind: prepared.fact.record_type(),
            source: prepared.source.as_str(),
            hash: prepared.hash,
            mark: Some(cursor.mark),
            produced_at: prepared.produced_at.as_micros(),
            quarantined: false,
            id: prepared.id,
            attributes: prepared.attributes,
        });
    }
    let mut numbers = Vec::with_capacity(there.len());
    for record in &there {
        let hash = super::verify::unhex(&record.hash)
            .ok_or_else(|| StoreError::Corrupt(format!("hash of a record of thread {thread}")))?;
        cursor.latest += 1;
        cursor.mark = cursor.mark.next(record.id.as_str(), &hash);
        numbers.push(Number { id: &record.id, sequence: cursor.latest, mark: cursor.mark.hex() });
    }
    let count = u64::try_from(old.len() + unnumbered).unwrap_or(u64::MAX);
    let epoch = cursor.epoch.clone();
    // Two records never have one number, not even on the way.
    work.clear_numbers(thread).await?;
    writes.cursors.push(CursorRow::new(thread.clone(), cursor));
    work.write(&writes).await?;
    work.set_numbers(thread, &super::writes::json(&numbers), &epoch).await?;
    work.commit().await?;
    Ok(count)
}

/// Records without a number stand where they were stored: before the first numbered one that came later.
fn in_order(records: &mut Vec<Known>) {
    let (mut numbered, mut without): (Vec<Known>, Vec<Known>) =
        std::mem::take(records).into_iter().partition(|record| record.sequence.is_some());
    numbered.sort_by_key(|record| record.sequence);
    without.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    let mut without = without.into_iter().peekable();
    for record in numbered {
        while let Some(earlier) = without.next_if(|earlier| earlier.created_at < record.created_at) {
            records.push(earlier);
        }
        records.push(record);
    }
    records.extend(without);
}

/// Records for the rows that none brought: the thread, steps by time, elements, votes. A step's record has the step's id,
/// as it had without a number.
fn old_rows(rows: &StoredThread, there: &[Known]) -> Vec<Record> {
    const BRING: [&str; 7] =
        ["message", "tool_call", "step_start", "tool_result", "step", "task_start", "interaction_request"];
    let brought = |types: &[&str]| -> HashSet<&str> {
        let of = |record: &&Known| types.contains(&record.record_type.as_str());
        there.iter().filter(of).filter_map(|record| record.entity.as_deref()).collect()
    };
    let thread = &rows.thread;
    let begun = thread.created_at.unwrap_or(Timestamp::from_micros(0));
    let mut old = Vec::new();
    let record = |id: RecordId, source, produced_at, fact| Record { id, execution: None, source, produced_at, fact };
    let steps = brought(&BRING);
    for step in thread.steps.iter().filter(|step| !step.streaming && !steps.contains(step.id.as_str())) {
        let mut step = step.clone();
        step.feedback = None;
        let at = step.created_at.or(step.start).unwrap_or(begun);
        let source = match step.kind {
            StepKind::UserMessage => Source::User,
            StepKind::SystemMessage => Source::System,
            StepKind::Tool => Source::Tool,
            _ if step.is_message() => Source::Assistant,
            _ => Source::App,
        };
        let id = RecordId::from(step.id.as_str());
        let fact = if step.is_message() { Fact::Message { step, interrupted: false } } else { Fact::StepEnded(step) };
        old.push(record(id, source, at, fact));
    }
    let elements = brought(&["element"]);
    for element in thread.elements.iter().filter(|element| !elements.contains(element.id.as_str())) {
        let mut element = element.clone();
        // What the server fills in is not what was stored.
        if element.url.as_deref().is_some_and(|url| url.starts_with("/project/thread/")) {
            element.url = None;
        }
        old.push(record(format!("element-{}", element.id).into(), Source::App, begun, Fact::Element(element)));
    }
    let has_vote = brought(&["feedback"]);
    for vote in thread.steps.iter().filter_map(|step| step.feedback.clone()) {
        let Some(id) = vote.id.clone() else { continue };
        // A first vote has its record's id.
        let known = has_vote.contains(id.as_str()) || there.iter().any(|record| record.id.as_str() == id.as_str());
        if !known {
            old.push(record(format!("vote-{id}").into(), Source::User, begun, Fact::FeedbackSet(vote)));
        }
    }
    if !old.is_empty() && !there.iter().any(|record| record.record_type == "thread_start") {
        let start = ThreadStart {
            name: thread.name.clone(),
            user_id: thread.user_id.clone(),
            user_identifier: thread.user_identifier.clone(),
            tags: thread.tags.clone().unwrap_or_default(),
            metadata: thread.metadata.clone(),
        };
        let id = RecordId::from(format!("thread-{}", thread.id));
        old.insert(0, record(id, Source::App, begun, Fact::ThreadStarted(start)));
    }
    old
}
