//! Everything a plan wants written, as rows. A backend takes a list as one JSON array.

use serde::{Serialize, Serializer};

use super::known::{KnownCursor, SettledBy};
use super::mark::{Mark, hex};
use super::row::{ElementRow, FeedbackRow, StepRow};
use crate::id::{ElementId, ExecutionId, FeedbackId, RecordId, StepId, ThreadId};

/// The rows of one transaction, in the order in which the tables are written.
#[derive(Debug, Default)]
pub(super) struct Writes {
    pub cursors: Vec<CursorRow>,
    /// Cursor rows that the lock made and nobody needed.
    pub unused_cursors: Vec<ThreadId>,
    pub records: Vec<RecordRow>,
    pub executions: Vec<ExecutionRow>,
    pub new_threads: Vec<ThreadRow>,
    pub changed_threads: Vec<ThreadRow>,
    pub deleted_steps: Vec<StepKey>,
    pub steps: Vec<StepRow>,
    pub changed_steps: Vec<StepChange>,
    pub deleted_elements: Vec<ElementId>,
    pub elements: Vec<ElementRow>,
    pub deleted_feedback: Vec<FeedbackId>,
    /// Steps that got a new vote: their old ones go first.
    pub voted_steps: Vec<StepId>,
    pub feedback: Vec<FeedbackRow>,
    pub finished_partials: Vec<StepKey>,
    /// Runs that were ended over their heads: what they still stream is nobody's.
    pub ended_runs: Vec<StepKey>,
    pub rejects: Vec<RejectRow>,
}

#[derive(Debug, Serialize)]
pub(super) struct CursorRow {
    pub thread: ThreadId,
    pub epoch: String,
    pub latest: u64,
    pub mark: String,
    pub incomplete: Option<String>,
    pub step_count: Option<i64>,
    pub step_newest: Option<String>,
}

impl Writes {
    /// Whether nothing is left once records and steps are written.
    pub fn is_done_with_steps(&self) -> bool {
        self.changed_steps.is_empty()
            && self.deleted_elements.is_empty()
            && self.elements.is_empty()
            && self.deleted_feedback.is_empty()
            && self.voted_steps.is_empty()
            && self.feedback.is_empty()
            && self.rejects.is_empty()
    }
}

impl CursorRow {
    pub fn new(thread: ThreadId, row: KnownCursor) -> Self {
        Self {
            thread,
            epoch: row.epoch,
            latest: row.latest,
            mark: row.mark.hex(),
            incomplete: super::incomplete::format(&row.incomplete),
            step_count: row.step_count,
            step_newest: row.step_newest,
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct RecordRow {
    pub thread: ThreadId,
    pub id: RecordId,
    pub sequence: Option<u64>,
    pub execution: Option<ExecutionId>,
    pub origin: Option<ExecutionId>,
    pub entity: Option<String>,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub source: &'static str,
    /// JSON as text: it is carried through the statement and not taken apart in it.
    pub attributes: String,
    #[serde(serialize_with = "as_hex")]
    pub hash: [u8; 32],
    pub mark: Option<Mark>,
    pub produced_at: i64,
    pub quarantined: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ExecutionRow {
    pub thread: ThreadId,
    pub id: ExecutionId,
    pub state: &'static str,
    pub started_at: i64,
    pub trigger: Option<StepId>,
    pub settled_by: Option<SettledBy>,
    pub reason: Option<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadRow {
    pub id: ThreadId,
    pub created_at: Option<String>,
    pub name: Option<String>,
    pub user_identifier: Option<String>,
    /// JSON text.
    pub tags: Option<String>,
    /// JSON text.
    pub metadata: Option<String>,
    /// Whether a change sets the tags.
    pub set_tags: bool,
    /// Whether a change sets the metadata.
    pub set_metadata: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub(super) struct StepKey {
    pub thread: ThreadId,
    pub id: StepId,
}

/// A change of a step of which the record holds only the id.
#[derive(Debug, Default, Serialize)]
pub(super) struct StepChange {
    pub id: String,
    pub end: Option<String>,
    pub answered: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct RejectRow {
    pub thread: ThreadId,
    pub record: RecordId,
    pub code: &'static str,
    pub detail: Option<String>,
    pub body: String,
}

fn as_hex<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(hash))
}

/// A list as the JSON array that a statement takes.
pub(super) fn json(rows: &impl Serialize) -> String {
    // Our rows have text keys and finite numbers: they are always representable.
    serde_json::to_string(rows).unwrap_or_else(|_| "[]".into())
}
