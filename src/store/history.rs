//! What the records API reads of a thread: its snapshot, and pages of its history. Each is one statement, so it is one
//! moment (I-30). The same for both databases, which give each list as a JSON array of rows.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use super::assemble::{CursorRow, RecordRow, many, one, why_incomplete};
use super::row::{StoredStep, StoredThreadRow};
use super::{Cursor, StoreError, StoredRecord};
use crate::id::{ExecutionId, StepId};
use crate::protocol::{Step, StepKind, Thread, Timestamp};
use crate::record::{Fact, Position, RecordPlace, Source};

/// Rows of one page, at most.
pub const LARGEST_PAGE: u32 = 200;

/// Bytes of attributes of one page; the first record comes whatever its size.
pub const PAGE_BYTES: usize = 2 << 20;

/// A thread at one moment, as the records API tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadSnapshot {
    /// Its row, without steps and elements.
    pub head: Thread,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// Where its numbering stands; none before the first numbered record.
    pub cursor: Option<Cursor>,
    /// Why its history is not whole; empty when it is.
    pub incomplete: BTreeSet<String>,
    /// Runs that have no end yet, oldest first.
    pub running: Vec<Execution>,
    /// The run that began last, whether it has its end or not.
    pub newest: Option<Execution>,
    /// Questions that nobody answered, oldest first.
    pub interactions: Vec<OpenInteraction>,
    /// Steps that no numbered record brought.
    pub legacy: u64,
}

/// One run of a hook.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Execution {
    /// The run.
    pub id: ExecutionId,
    /// `running`, `stopped`, `failed`, `lost`.
    pub state: String,
    /// Microseconds since 1970, as the row has it; see [`Execution::started`].
    started_at: i64,
    settled_at: Option<i64>,
    /// `runner`, `user`, `watchdog`.
    pub settled_by: Option<String>,
    /// Why it ended.
    pub reason: Option<String>,
}

impl Execution {
    /// When it began.
    #[must_use]
    pub fn started(&self) -> Timestamp {
        Timestamp::from_micros(self.started_at)
    }

    /// When it was settled.
    #[must_use]
    pub fn settled(&self) -> Option<Timestamp> {
        self.settled_at.map(Timestamp::from_micros)
    }
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OpenInteraction {
    /// The message that asks.
    pub id: StepId,
    /// What it wants: `text`, `file`, `action`, `element`.
    pub kind: Option<String>,
    /// The sequence of its record.
    pub sequence: u64,
    /// When the server gives up.
    pub timeout_at: Option<Timestamp>,
}

/// Which part of a history a page is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageQuery {
    /// Where it begins, exclusive: after this when it goes forwards, before it when it goes backwards. None is the
    /// beginning or the end. The position itself must have been checked ([`super::Store::mark_at`]).
    pub from: Option<RecordPlace>,
    /// Numbered records up to here; none is up to the cursor as this page reads it.
    pub through: Option<u64>,
    /// Newest first.
    pub backwards: bool,
    /// At most so many records, and never more than [`LARGEST_PAGE`].
    pub limit: u32,
}

/// A page of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordPage {
    /// In the order of the query: legacy rows by time, numbered records by number.
    pub records: Vec<PlacedRecord>,
    /// Whether there are more in that direction.
    pub more: bool,
    /// Where the numbering stands; none before the first numbered record.
    pub cursor: Option<Cursor>,
    /// Why the history is not whole; empty when it is.
    pub incomplete: BTreeSet<String>,
}

/// A record and where it stands, for the next page.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedRecord {
    /// The record.
    pub record: StoredRecord,
    /// Its place.
    pub place: RecordPlace,
}

/// A numbering, and the mark at one of its places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkAt {
    /// Where the numbering stands; none before the first numbered record.
    pub cursor: Option<Cursor>,
    /// The mark of the record at the sequence that was asked for, in hex; none when there is no such record.
    pub mark: Option<String>,
}

/// Rows of a snapshot.
pub(super) struct SnapshotRows {
    pub thread: String,
    pub cursor: Option<String>,
    pub steps: i64,
    pub newest_step: Option<String>,
    pub legacy: i64,
    pub executions: String,
    pub interactions: String,
}

#[derive(Deserialize)]
struct InteractionRow {
    #[serde(flatten)]
    interaction: OpenInteraction,
}

impl SnapshotRows {
    /// `now` decides which questions are still open: one whose process died is closed by nobody.
    pub fn into_snapshot(self, now: Timestamp) -> Result<ThreadSnapshot, StoreError> {
        let head = one::<StoredThreadRow>(&self.thread)?.into_thread();
        let cursor = self.cursor.as_deref().map(one::<CursorRow>).transpose()?;
        let count = usize::try_from(self.steps).unwrap_or_default();
        let incomplete = why_incomplete(cursor.as_ref(), count, self.newest_step.as_deref());
        let executions: Vec<Execution> = many(&self.executions)?;
        let interactions: Vec<InteractionRow> = many(&self.interactions)?;
        Ok(ThreadSnapshot {
            updated_at: cursor.as_ref().and_then(CursorRow::updated_at).or(head.created_at),
            newest: executions.last().cloned(),
            running: executions.into_iter().filter(|run| run.settled_at.is_none()).collect(),
            interactions: interactions
                .into_iter()
                .map(|row| row.interaction)
                .filter(|open| open.timeout_at.is_none_or(|at| at > now))
                .collect(),
            legacy: u64::try_from(self.legacy).unwrap_or_default(),
            cursor: numbered(cursor)?,
            head,
            incomplete,
        })
    }
}

/// A cursor that has numbered something.
fn numbered(row: Option<CursorRow>) -> Result<Option<Cursor>, StoreError> {
    Ok(row.map(CursorRow::into_cursor).transpose()?.filter(|cursor| cursor.latest > 0))
}

/// A query as the statements want it.
pub(super) struct PageBounds {
    pub after: i64,
    pub through: i64,
    pub legacy: bool,
    pub legacy_from: Option<(String, String)>,
    pub limit: usize,
}

impl PageQuery {
    pub(super) fn bounds(&self) -> PageBounds {
        let bound = |sequence: u64| i64::try_from(sequence).unwrap_or(i64::MAX);
        let mut bounds = PageBounds {
            after: 0,
            through: self.through.map_or(i64::MAX, bound),
            legacy: true,
            legacy_from: None,
            limit: usize::try_from(self.limit.clamp(1, LARGEST_PAGE)).unwrap_or(1),
        };
        match &self.from {
            None => {}
            Some(RecordPlace::Legacy { created, id }) => {
                bounds.legacy_from = Some((created.clone(), id.clone()));
                if self.backwards {
                    bounds.through = 0;
                }
            }
            Some(RecordPlace::Numbered(position)) if self.backwards => {
                bounds.through = bounds.through.min(bound(position.sequence()).saturating_sub(1));
            }
            Some(RecordPlace::Numbered(position)) => {
                bounds.after = bound(position.sequence());
                // From 0 is from the beginning, and that is where they stand.
                bounds.legacy = bounds.after == 0;
            }
        }
        bounds
    }
}

/// Rows of a page.
pub(super) struct PageRows {
    pub cursor: Option<String>,
    pub steps: i64,
    pub newest_step: Option<String>,
    pub legacy: String,
    pub numbered: String,
}

#[derive(Deserialize)]
struct LegacyRow {
    key: String,
    over: Value,
    step: Option<StoredStep>,
}

#[derive(Deserialize)]
struct NumberedRow {
    over: Value,
    #[serde(flatten)]
    record: RecordRow,
}

impl PageRows {
    pub fn into_page(self, query: &PageQuery) -> Result<RecordPage, StoreError> {
        let cursor = self.cursor.as_deref().map(one::<CursorRow>).transpose()?;
        let count = usize::try_from(self.steps).unwrap_or_default();
        let incomplete = why_incomplete(cursor.as_ref(), count, self.newest_step.as_deref());
        let legacy = many::<LegacyRow>(&self.legacy)?.into_iter().map(LegacyRow::placed);
        let numbered_rows = many::<NumberedRow>(&self.numbered)?.into_iter().map(NumberedRow::placed);
        let rows: Vec<Option<PlacedRecord>> =
            if query.backwards { numbered_rows.chain(legacy).collect() } else { legacy.chain(numbered_rows).collect() };
        let found = rows.len();
        let limit = query.bounds().limit;
        let mut bytes = 0;
        let mut records = Vec::new();
        for placed in rows.into_iter().take(limit) {
            let Some(placed) = placed else { break };
            // Each list has its own bound in the database; together they have one here.
            bytes += placed.record.attributes.len();
            if !records.is_empty() && bytes > PAGE_BYTES {
                break;
            }
            records.push(placed);
        }
        Ok(RecordPage { more: records.len() < found, records, cursor: numbered(cursor)?, incomplete })
    }
}

/// Whether a row lies beyond the bytes of its page: a number on one database, a truth on the other.
fn is_over(over: &Value) -> bool {
    matches!(over, Value::Bool(true)) || over.as_i64() == Some(1)
}

impl LegacyRow {
    fn placed(self) -> Option<PlacedRecord> {
        if is_over(&self.over) {
            return None;
        }
        let step = self.step?.into_step();
        let place = RecordPlace::Legacy { created: self.key, id: step.id.to_string() };
        Some(PlacedRecord { record: legacy_record(step), place })
    }
}

impl NumberedRow {
    fn placed(self) -> Option<PlacedRecord> {
        if is_over(&self.over) {
            return None;
        }
        let record = self.record.into_record();
        let place = RecordPlace::Numbered(Position::Sequence(record.sequence.unwrap_or_default()));
        Some(PlacedRecord { record, place })
    }
}

/// A step of before the numbering, as the record that would have brought it (records.md, decision 8).
fn legacy_record(step: Step) -> StoredRecord {
    let at = step.created_at.or(step.start).unwrap_or(Timestamp::from_micros(0));
    let source = match step.kind {
        StepKind::UserMessage => Source::User,
        StepKind::SystemMessage => Source::System,
        StepKind::Tool => Source::Tool,
        _ if step.is_message() => Source::Assistant,
        _ => Source::App,
    };
    let id = step.id.clone();
    let fact = if step.is_message() { Fact::Message { step, interrupted: false } } else { Fact::StepEnded(step) };
    StoredRecord {
        id: id.as_str().into(),
        sequence: None,
        execution: None,
        record_type: fact.record_type().to_owned(),
        source: source.as_str().to_owned(),
        entity: Some(id.to_string()),
        attributes: fact.attributes().to_string(),
        produced_at: at,
        created_at: at,
        mark: None,
        quarantined_at: None,
        erased_at: None,
        origin: None,
        content_hash: None,
    }
}

/// A numbering and a mark, from their rows.
pub(super) fn mark_at(cursor: Option<&str>, mark: Option<String>) -> Result<MarkAt, StoreError> {
    let cursor = numbered(cursor.map(one::<CursorRow>).transpose()?)?;
    Ok(MarkAt { cursor, mark: mark.filter(|mark| !mark.is_empty()) })
}
