//! What happens to a record before any transaction: cleaning, its one spelling, its size.

use super::mark::hex;
use super::{Append, Stored};
use crate::id::{ExecutionId, RecordId, ThreadId};
use crate::protocol::Timestamp;
use crate::record::{Fact, Record, Source};

/// A record above this is refused. A text stands in it twice, so this is well above the 1 MiB that a producer may say.
pub(super) const MAX_RECORD: usize = 8 << 20;

/// Whose thread an append may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The thread's row must have this owner.
    Owner(Option<String>),
    /// The server itself, settling what a dead process left.
    Server,
}

/// An append, ready for a transaction.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub thread: ThreadId,
    pub guard: Guard,
    pub records: Vec<PreparedRecord>,
    pub hinge: Option<usize>,
}

impl Prepared {
    /// Whether the next record hangs on one that these outcomes say was not stored now.
    pub fn hangs(&self, outcomes: &[Stored]) -> bool {
        let hinge = self.hinge.and_then(|place| outcomes.get(place));
        hinge.is_some_and(|outcome| !matches!(outcome, Stored::Appended(_)))
    }
}

/// A record, ready for a transaction.
#[derive(Clone, Debug)]
pub(super) struct PreparedRecord {
    pub id: RecordId,
    pub execution: Option<ExecutionId>,
    pub source: Source,
    pub produced_at: Timestamp,
    pub fact: Fact,
    /// Canonical JSON.
    pub attributes: String,
    pub hash: [u8; 32],
    /// Why it cannot be stored at all.
    pub bad: Option<&'static str>,
}

impl PreparedRecord {
    pub fn hash_hex(&self) -> String {
        hex(&self.hash)
    }
}

/// Prepares a batch.
pub(super) fn prepare(batch: &[Append]) -> Vec<Prepared> {
    batch
        .iter()
        .map(|append| Prepared {
            thread: append.thread.clone(),
            guard: Guard::Owner(append.owner.clone()),
            records: append.records.iter().map(prepare_record).collect(),
            hinge: append.hinge,
        })
        .collect()
}

pub(super) fn prepare_record(record: &Record) -> PreparedRecord {
    let mut record = record.clone();
    let (content, cleaned) = record.clean_content();
    if cleaned {
        tracing::warn!(record = %record.id, "text held U+0000, replaced");
    }
    let bad = (content.attributes.len() > MAX_RECORD).then_some("record_too_big");
    PreparedRecord {
        id: record.id,
        execution: record.execution,
        source: record.source,
        produced_at: record.produced_at,
        fact: record.fact,
        attributes: content.attributes,
        hash: content.hash,
        bad,
    }
}
