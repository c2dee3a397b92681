//! What a plan needs to know, asked once for a whole batch, and the answer.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::prepare::Prepared;
use super::{StoreError, incomplete};
use crate::id::{ElementId, ExecutionId, FeedbackId, RecordId, StepId, ThreadId};
use crate::record::Fact;

/// The ids a batch is about. Every list is sorted, so that locks are taken in one order by everybody.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    pub threads: Vec<ThreadId>,
    pub records: Vec<(ThreadId, RecordId)>,
    pub executions: Vec<(ThreadId, ExecutionId)>,
    pub steps: Vec<StepId>,
    pub elements: Vec<ElementId>,
    pub feedback: Vec<FeedbackId>,
    /// Threads whose metadata change.
    pub metadata: Vec<ThreadId>,
    /// Threads in which something is deleted: their whole tree is needed.
    pub trees: Vec<ThreadId>,
}

impl Lookup {
    pub fn of(batch: &[Prepared]) -> Self {
        let mut lookup = Self::default();
        for append in batch {
            lookup.threads.push(append.thread.clone());
            for record in &append.records {
                lookup.records.push((append.thread.clone(), record.id.clone()));
                if let Some(execution) = &record.execution {
                    lookup.executions.push((append.thread.clone(), execution.clone()));
                }
                lookup.add(&append.thread, &record.fact);
            }
        }
        lookup.threads.sort_unstable();
        lookup.threads.dedup();
        lookup.records.sort_unstable();
        lookup.records.dedup();
        lookup.executions.sort_unstable();
        lookup.executions.dedup();
        lookup.steps.sort_unstable();
        lookup.steps.dedup();
        lookup
    }

    fn add(&mut self, thread: &ThreadId, fact: &Fact) {
        match fact {
            Fact::ThreadStarted(_) => {}
            Fact::ThreadUpdated(_) | Fact::SettingsUpdated(_) => self.metadata.push(thread.clone()),
            Fact::Message { step, .. }
            | Fact::MessageUpdated(step)
            | Fact::StepStarted(step)
            | Fact::StepUpdated(step)
            | Fact::StepEnded(step)
            | Fact::Asked { step, .. } => self.steps.push(step.id.clone()),
            Fact::RunStarted { step, .. } | Fact::RunEnded { step, .. } | Fact::RunFailed { step, .. } => {
                self.steps.push(step.id.clone());
                self.executions.push((thread.clone(), step.id.clone()));
            }
            Fact::RunLost { run, .. } => {
                self.steps.push(run.clone());
                self.executions.push((thread.clone(), run.clone()));
            }
            Fact::AskEnded { ask, .. } => self.steps.push(ask.clone()),
            Fact::StepDeleted(id) => {
                self.steps.push(id.clone());
                self.trees.push(thread.clone());
            }
            Fact::Element(element) => {
                self.elements.push(element.id.clone());
                self.steps.extend(element.for_id.clone());
            }
            Fact::ElementRemoved(id) => self.elements.push(id.clone()),
            Fact::FeedbackSet(vote) => {
                self.feedback.extend(vote.id.clone());
                self.steps.push(vote.for_id.clone());
            }
            Fact::FeedbackRemoved(id) => self.feedback.push(id.clone()),
        }
    }
}

/// What the transaction read.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub cursors: HashMap<ThreadId, KnownCursor>,
    pub threads: HashMap<ThreadId, KnownThread>,
    pub tombstones: HashSet<ThreadId>,
    pub records: HashMap<(ThreadId, RecordId), KnownRecord>,
    /// Who settled them; none while they run.
    pub executions: HashMap<(ThreadId, ExecutionId), Option<SettledBy>>,
    /// The thread that has a step of this id.
    pub steps: HashMap<StepId, ThreadId>,
    pub elements: HashMap<ElementId, ThreadId>,
    pub feedback: HashMap<FeedbackId, ThreadId>,
    /// Every step of a thread in which something is deleted, with its parent.
    pub trees: HashMap<ThreadId, HashMap<StepId, Option<StepId>>>,
}

/// A cursor row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownCursor {
    pub epoch: String,
    pub latest: u64,
    pub mark: super::mark::Mark,
    pub incomplete: std::collections::BTreeSet<String>,
    /// Steps that the table holds by our own account; none before the first record.
    pub step_count: Option<i64>,
    /// The greatest `createdAt` that we know of, as text.
    pub step_newest: Option<String>,
    /// Made by this transaction.
    pub fresh: bool,
}

impl KnownCursor {
    /// The cursor of a thread that has none yet.
    pub fn new(epoch: String) -> Self {
        Self {
            epoch,
            latest: 0,
            mark: super::mark::Mark::default(),
            incomplete: std::collections::BTreeSet::new(),
            step_count: None,
            step_newest: None,
            fresh: true,
        }
    }
}

/// A row of the thread table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownThread {
    pub owner: Option<String>,
    pub name: Option<String>,
    /// Read only where it changes.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Steps without records; counted only when there is no cursor yet.
    pub steps: i64,
    pub newest: Option<String>,
}

/// A stored record of the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownRecord {
    /// Hex, lower case.
    pub hash: String,
    pub sequence: Option<u64>,
    pub quarantined: bool,
}

/// Who ended a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SettledBy {
    /// It ended by itself.
    Runner,
    /// It was ended over its head by a person.
    User,
    /// Its process died.
    Watchdog,
}

/// The answer of the database to a [`Lookup`]: one JSON array of rows for each question.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub cursors: String,
    pub threads: String,
    pub tombstones: String,
    pub records: String,
    pub executions: String,
    pub steps: String,
    pub elements: String,
    pub feedback: String,
    pub trees: String,
}

type CursorRow = (ThreadId, String, u64, String, Option<String>, Option<i64>, Option<String>, u8);
type ThreadRow = (ThreadId, Option<String>, Option<String>, Option<String>, i64, Option<String>);

impl Answer {
    /// The answer to `lookup`.
    pub fn read(&self, lookup: &Lookup) -> Result<Known, StoreError> {
        let mut known = Known::default();
        // A tree may be empty and grow within the batch.
        known.trees.extend(lookup.trees.iter().map(|thread| (thread.clone(), HashMap::new())));
        for (thread, epoch, latest, mark, why, step_count, step_newest, fresh) in rows::<CursorRow>(&self.cursors)? {
            let cursor = KnownCursor {
                epoch,
                latest,
                mark: super::mark::Mark::parse(&mark)
                    .ok_or_else(|| StoreError::Corrupt(format!("mark of thread {thread}")))?,
                incomplete: incomplete::parse(why.as_deref()),
                step_count,
                step_newest,
                fresh: fresh != 0,
            };
            known.cursors.insert(thread, cursor);
        }
        for (thread, owner, name, metadata, steps, newest) in rows::<ThreadRow>(&self.threads)? {
            let metadata = super::row::object(metadata.as_deref());
            known.threads.insert(thread, KnownThread { owner, name, metadata, steps, newest });
        }
        known.tombstones = rows(&self.tombstones)?.into_iter().collect();
        for (thread, record, hash, sequence, quarantined) in
            rows::<(ThreadId, RecordId, String, Option<u64>, u8)>(&self.records)?
        {
            let row = KnownRecord { hash: hash.to_ascii_lowercase(), sequence, quarantined: quarantined != 0 };
            known.records.insert((thread, record), row);
        }
        for (thread, execution, settled) in rows(&self.executions)? {
            known.executions.insert((thread, execution), settled);
        }
        known.steps = rows(&self.steps)?.into_iter().collect();
        known.elements = rows(&self.elements)?.into_iter().collect();
        known.feedback = rows(&self.feedback)?.into_iter().collect();
        for (thread, step, parent) in rows::<(ThreadId, StepId, Option<StepId>)>(&self.trees)? {
            known.trees.entry(thread).or_default().insert(step, parent);
        }
        Ok(known)
    }
}

fn rows<T: DeserializeOwned>(json: &str) -> Result<Vec<T>, StoreError> {
    if json.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt(format!("rows read for an append: {error}")))
}
