//! Records: the immutable stored facts of a thread, and how they are written down.
//!
//! A record is complete in itself: it carries the whole step or element, so a replay that starts in the middle never
//! says "unknown" (records.md, decision 3). The fold of a thread's records is the thread.

mod address;
mod arrange;
mod attributes;
mod canonical;
mod cursor;
mod event;
mod fact;
mod fold;
mod orphan;
mod payload;

pub use address::address;
pub use arrange::{arrange, subtree};
pub use canonical::{Content, canonical, cleaned, cleaned_step, content_hash};
pub use cursor::{BadCursor, CursorToken, Position, RecordPlace};
pub use event::{Event, RecordView, project};
pub use fact::{BadRecord, EndReason, Fact, LostReason, Outcome, Source, ThreadStart, ThreadUpdate};
pub use fold::{Folded, fold};
pub use orphan::{cut_off, ends};

pub(crate) use address::with_url;
pub(crate) use arrange::join_feedback;
pub(crate) use fold::{apply_settings, apply_update, as_stored, element_as_stored, feedback_as_stored, some_tags};

use uuid::Uuid;

use crate::id::{ExecutionId, RecordId, ThreadId};
use crate::protocol::Timestamp;

/// One fact on its way into the store. Its id is fixed before the first attempt, so a retry is recognised.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its identity within the thread.
    pub id: RecordId,
    /// The run it is output of; none for what people do and for what outlives its run.
    pub execution: Option<ExecutionId>,
    /// Who made it.
    pub source: Source,
    /// When it was made, by the server's clock. Not an order.
    pub produced_at: Timestamp,
    /// What it says.
    pub fact: Fact,
}

/// The namespace of derived record ids.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b1d_3d0e_5f6c_4d1e_9a67_0c5e_2f14_7a11);

impl Record {
    /// A record whose id is derived from what it is about (records.md 3.6), so that whoever makes it again makes the
    /// same one. `revision` tells successive changes of one entity apart.
    #[must_use]
    pub fn derived(
        thread: &ThreadId,
        execution: Option<ExecutionId>,
        revision: u64,
        source: Source,
        produced_at: Timestamp,
        fact: Fact,
    ) -> Self {
        let run = execution.as_ref().map_or("", |run| run.as_str());
        let entity = fact.entity().unwrap_or_default();
        let name = [thread.as_str(), run, fact.record_type(), entity, &revision.to_string()].join("\u{1f}");
        let id = RecordId::from(Uuid::new_v5(&NAMESPACE, name.as_bytes()).to_string());
        Self { id, execution, source, produced_at, fact }
    }
}
