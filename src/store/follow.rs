//! What a follower reads: the records after a place, and where the numbering stood when they were read.

use std::collections::BTreeSet;

use super::assemble::{many, one};
use super::{Cursor, StoreError, StoredRecord, incomplete};
use crate::id::{ExecutionId, RecordId};
use crate::protocol::Timestamp;

/// Rows of a page, at most.
pub const FOLLOW_ROWS: usize = 200;

/// A page for a follower, read in one statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FollowPage {
    /// Whether the thread was deleted.
    pub deleted: bool,
    /// Where the numbering stands; none before the first numbered record.
    pub cursor: Option<Cursor>,
    /// Why the history is not whole, as far as its numbering knows.
    pub incomplete: BTreeSet<String>,
    /// At most [`FOLLOW_ROWS`], and little more than [`super::PAGE_BYTES`] bytes, in order.
    pub records: Vec<StoredRecord>,
}

/// A row of either kind: first the numbering, then a record a row.
#[derive(sqlx::FromRow)]
pub(super) struct FollowRow {
    /// The epoch, or the record's id.
    id: Option<String>,
    /// The last sequence, or the record's.
    sequence: Option<i64>,
    mark: Option<String>,
    /// Why the history is not whole, or what the record says.
    content: Option<String>,
    /// Whether there is a tombstone, or when the record was stored.
    moment: i64,
    execution: Option<String>,
    record_type: Option<String>,
    source: Option<String>,
    entity: Option<String>,
    produced_at: Option<i64>,
    erased_at: Option<i64>,
}

/// A whole page as one row: lists as JSON, and what the records say one after the other.
pub(super) struct FollowRows<'a> {
    /// Epoch, last sequence, mark, why the history is not whole.
    pub cursor: Option<&'a str>,
    pub deleted: bool,
    /// [`PackedRow`]s.
    pub records: &'a str,
    pub attributes: &'a str,
}

type CursorRow = (String, u64, String, Option<String>);

/// Id, sequence, mark, bytes of attributes, created at, run, type, source, entity, produced at, erased at.
type PackedRow =
    (RecordId, u64, Option<String>, usize, i64, Option<ExecutionId>, String, String, Option<String>, i64, Option<i64>);

impl FollowRows<'_> {
    pub fn into_page(self) -> Result<FollowPage, StoreError> {
        let (cursor, why) = match self.cursor.map(one::<CursorRow>).transpose()? {
            Some((epoch, latest, mark, why)) => (Some(Cursor { epoch, latest, mark }), why),
            None => (None, None),
        };
        let mut rest = self.attributes;
        let mut records = Vec::new();
        for row in many::<PackedRow>(self.records)? {
            let (id, sequence, mark, size, created_at, execution, record_type, source, entity, produced_at, erased_at) =
                row;
            let split = rest.split_at_checked(size);
            let (attributes, others) =
                split.ok_or_else(|| StoreError::Corrupt("a page that says less than its records".into()))?;
            rest = others;
            records.push(StoredRecord {
                id,
                sequence: Some(sequence),
                execution,
                record_type,
                source,
                entity,
                attributes: attributes.to_owned(),
                produced_at: Timestamp::from_micros(produced_at),
                created_at: Timestamp::from_micros(created_at),
                mark,
                quarantined_at: None,
                erased_at: erased_at.map(Timestamp::from_micros),
                origin: None,
                content_hash: None,
            });
        }
        Ok(FollowPage {
            deleted: self.deleted,
            cursor: cursor.filter(|cursor| cursor.latest > 0),
            incomplete: incomplete::parse(why.as_deref()),
            records,
        })
    }
}

impl FollowPage {
    pub(super) fn read(rows: Vec<FollowRow>) -> Result<Self, StoreError> {
        let mut rows = rows.into_iter();
        let head = rows.next().ok_or_else(|| StoreError::Corrupt("a page without its head".into()))?;
        let cursor = match (head.id, head.sequence.and_then(|latest| u64::try_from(latest).ok()), head.mark) {
            (Some(epoch), Some(latest), Some(mark)) if latest > 0 => Some(Cursor { epoch, latest, mark }),
            _ => None,
        };
        Ok(Self {
            deleted: head.moment != 0,
            cursor,
            incomplete: incomplete::parse(head.content.as_deref()),
            records: rows.map(FollowRow::into_record).collect(),
        })
    }
}

impl FollowRow {
    fn into_record(self) -> StoredRecord {
        StoredRecord {
            id: self.id.unwrap_or_default().into(),
            sequence: self.sequence.and_then(|sequence| u64::try_from(sequence).ok()),
            execution: self.execution.map(Into::into),
            record_type: self.record_type.unwrap_or_default(),
            source: self.source.unwrap_or_default(),
            entity: self.entity,
            attributes: self.content.unwrap_or_default(),
            produced_at: Timestamp::from_micros(self.produced_at.unwrap_or_default()),
            created_at: Timestamp::from_micros(self.moment),
            mark: self.mark,
            quarantined_at: None,
            erased_at: self.erased_at.map(Timestamp::from_micros),
            origin: None,
            content_hash: None,
        }
    }
}
