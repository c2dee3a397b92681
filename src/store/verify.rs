//! Whether a thread's records are what was stored, and its rows what the records say (records.md, decision 5): for an
//! operator, after a restore or a doubt. It is no defence against somebody who can write the database.

use std::collections::BTreeMap;
use std::fmt;

use super::mark::{Mark, hex};
use super::{Store, StoreError, StoredRecord, StoredThread, incomplete};
use crate::id::ThreadId;
use crate::protocol::Step;
use crate::record::{Folded, as_stored, canonical, content_hash};

/// Records read at a time.
const SOME: u32 = 100;

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A sequence is missing.
    Gap(u64),
    /// What a record says is not what was stored.
    Content(u64),
    /// A record's mark does not follow from the one before it: something was replaced, or another history put here.
    Mark(u64),
    /// The cursor names another end than the records have.
    Cursor,
    /// A record that cannot be read.
    Unreadable(u64),
    /// A step, element or the thread's own row is not what the records make of it.
    Row(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap(sequence) => write!(f, "record {sequence} is missing"),
            Self::Content(sequence) => write!(f, "record {sequence} says something else than was stored"),
            Self::Mark(sequence) => write!(f, "the mark of record {sequence} does not follow from the one before it"),
            Self::Cursor => f.write_str("the cursor is not at the last record"),
            Self::Unreadable(sequence) => write!(f, "record {sequence} cannot be read"),
            Self::Row(what) => write!(f, "{what} is not what the records say"),
        }
    }
}

/// Looks at one thread. Records that come meanwhile are not looked at: all is held against the moment at which the rows
/// were read. Empty when all is well, or there is no such thread.
pub async fn verify(store: &dyn Store, thread: &ThreadId) -> Result<Vec<Finding>, StoreError> {
    let Some(rows) = store.thread(thread).await? else { return Ok(Vec::new()) };
    let mut looked = Looked::new(thread.clone());
    let latest = rows.cursor.as_ref().map_or(0, |cursor| cursor.latest);
    while looked.at < latest {
        let records = store.records(thread, looked.at, Some(latest), SOME).await?;
        if records.is_empty() {
            looked.findings.push(Finding::Gap(looked.at + 1));
            return Ok(looked.findings);
        }
        for record in records {
            looked.record(&record);
        }
    }
    if let Some(cursor) = &rows.cursor
        && looked.mark.hex() != cursor.mark
    {
        looked.findings.push(Finding::Cursor);
    }
    looked.rows(&rows);
    Ok(looked.findings)
}

struct Looked {
    at: u64,
    mark: Mark,
    folded: Folded,
    /// Something cannot be folded, so there is nothing to hold the rows against.
    erased: bool,
    findings: Vec<Finding>,
}

impl Looked {
    fn new(thread: ThreadId) -> Self {
        Self { at: 0, mark: Mark::default(), folded: Folded::new(thread), erased: false, findings: Vec::new() }
    }

    fn record(&mut self, record: &StoredRecord) {
        let Some(sequence) = record.sequence else { return };
        if sequence != self.at + 1 {
            self.findings.push(Finding::Gap(self.at + 1));
        }
        self.at = sequence;
        let execution = record.execution.as_ref().or(record.origin.as_ref()).map(|run| run.as_str());
        let attributes = canonical(&record.attributes());
        let hash = content_hash(&record.record_type, &record.source, execution, record.entity.as_deref(), &attributes);
        let stored = record.content_hash.clone().unwrap_or_default();
        if record.erased_at.is_none() && hex(&hash) != stored {
            self.findings.push(Finding::Content(sequence));
        }
        // The chain goes over what was stored, so that one changed record is one finding.
        let next = unhex(&stored).map(|hash| self.mark.next(record.id.as_str(), &hash));
        let known = record.mark.as_deref().and_then(Mark::parse);
        if next.is_none() || next != known {
            self.findings.push(Finding::Mark(sequence));
        }
        self.mark = known.unwrap_or_default();
        match record.fact() {
            _ if record.erased_at.is_some() => self.erased = true,
            Ok(fact) => self.folded.apply(&record.id, record.produced_at, &fact),
            Err(_) => {
                self.erased = true;
                self.findings.push(Finding::Unreadable(sequence));
            }
        }
    }

    /// Holds the rows against the fold. Rows that no record brought are known to be there where the thread says so.
    fn rows(&mut self, rows: &StoredThread) {
        if self.erased {
            return;
        }
        let folded = std::mem::replace(&mut self.folded, Folded::new(rows.thread.id.clone()));
        let strangers = [incomplete::LEGACY_ROWS, incomplete::UNSEQUENCED_ROWS, incomplete::FOREIGN_ROWS];
        let others = strangers.iter().any(|reason| rows.incomplete.contains(*reason));
        let started = folded.started;
        let expected = folded.into_thread();
        if started
            && (&expected.name, &expected.tags, &expected.metadata)
                != (&rows.thread.name, &rows.thread.tags, &rows.thread.metadata)
        {
            self.findings.push(Finding::Row("the thread's row".into()));
        }
        let found: BTreeMap<_, &Step> = rows.thread.steps.iter().map(|step| (&step.id, step)).collect();
        for step in &expected.steps {
            let same = found.get(&step.id).is_some_and(|row| row.streaming || is_same(step, row));
            if !same {
                self.findings.push(Finding::Row(format!("step {}", step.id)));
            }
        }
        let known: BTreeMap<_, ()> = expected.steps.iter().map(|step| (&step.id, ())).collect();
        for step in rows.thread.steps.iter().filter(|step| !others && !step.streaming && !known.contains_key(&step.id))
        {
            self.findings.push(Finding::Row(format!("step {}", step.id)));
        }
        let elements: BTreeMap<_, _> = rows.thread.elements.iter().map(|element| (&element.id, element)).collect();
        for element in &expected.elements {
            if elements.get(&element.id).is_none_or(|row| *row != element) {
                self.findings.push(Finding::Row(format!("element {}", element.id)));
            }
        }
        if !others && elements.len() != expected.elements.len() {
            self.findings.push(Finding::Row("an element".into()));
        }
    }
}

/// Whether a step is what the records made of it. A step whose parent no record brought hangs at the root in one of the
/// two, and rows of another program hold what its kind does not carry.
fn is_same(folded: &Step, row: &Step) -> bool {
    let mut stored = as_stored(&row.thread_id, row);
    if folded.parent_id.is_none() || row.parent_id.is_none() {
        stored.parent_id.clone_from(&folded.parent_id);
    }
    folded.feedback == row.feedback && as_stored(&row.thread_id, folded) == stored
}

pub(super) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(bytes)
}
