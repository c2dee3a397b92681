//! What a dead process left: its runs become lost, its half-written texts interrupted messages.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::append::as_server;
use super::assemble::many;
use super::prepare::Prepared;
use super::row::StoredStep;
use super::{Append, Appended, StoreError, Stored};
use crate::id::{ExecutionId, ThreadId};
use crate::protocol::{Step, Timestamp};
use crate::record::{Fact, Record, Source};

/// What the database holds of processes that are not this one, each as a JSON array.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// `[thread, run]`, oldest first.
    pub runs: String,
    /// `{thread, execution, step}`.
    pub partials: String,
    /// Rows of steps without an end in the threads of those runs; messages and runs are not among them.
    pub open_steps: String,
}

#[derive(Debug, Deserialize)]
struct LeftPartial {
    thread: ThreadId,
    execution: Option<ExecutionId>,
    step: Step,
}

impl Left {
    /// The appends that settle it: texts first, then open steps, then the runs' ends. Their ids are derived, so that
    /// two servers that sweep at once write each once.
    pub fn appends(&self, now: Timestamp) -> Result<Vec<Prepared>, StoreError> {
        let runs: Vec<(ThreadId, ExecutionId)> = many(&self.runs)?;
        let partials: Vec<LeftPartial> = many(&self.partials)?;
        let open: Vec<StoredStep> = many(&self.open_steps)?;
        let mut records: BTreeMap<ThreadId, Vec<Record>> = BTreeMap::new();
        let mut written = BTreeSet::new();
        for LeftPartial { thread, execution, mut step } in partials {
            written.insert(step.id.clone());
            step.streaming = false;
            let fact = if step.is_message() {
                step.created_at.get_or_insert(now);
                Fact::Message { step, interrupted: true }
            } else {
                Fact::StepEnded(cut_off(step, now))
            };
            let record = Record::derived(&thread, execution, 0, Source::Watchdog, now, fact);
            records.entry(thread).or_default().push(record);
        }
        for step in open.into_iter().map(StoredStep::into_step).filter(|step| !written.contains(&step.id)) {
            let thread = step.thread_id.clone();
            let run = runs.iter().rev().find(|(of, _)| *of == thread).map(|(_, run)| run.clone());
            let fact = Fact::StepEnded(cut_off(step, now));
            records.entry(thread.clone()).or_default().push(Record::derived(
                &thread,
                run,
                0,
                Source::Watchdog,
                now,
                fact,
            ));
        }
        for (thread, run) in runs {
            let fact = Fact::RunLost { run: run.clone(), lost_at: now };
            let record = Record::derived(&thread, Some(run), 0, Source::Watchdog, now, fact);
            records.entry(thread).or_default().push(record);
        }
        Ok(records
            .into_iter()
            .map(|(thread, records)| as_server(Append { thread, owner: None, records, hinge: None }))
            .collect())
    }
}

/// The runs that a batch of [`Left::appends`] settled: those that somebody else had settled are not among them.
pub(super) fn settled(batch: &[Prepared], outcomes: &[Appended]) -> Vec<ExecutionId> {
    let mut runs = Vec::new();
    for (append, outcome) in batch.iter().zip(outcomes) {
        for (record, stored) in append.records.iter().zip(outcome.iter().flatten()) {
            if let (Fact::RunLost { run, .. }, Stored::Appended(_)) = (&record.fact, stored) {
                runs.push(run.clone());
            }
        }
    }
    runs
}

/// A step that nobody will end any more.
fn cut_off(mut step: Step, now: Timestamp) -> Step {
    step.end = step.end.or(Some(now));
    step.is_error = true;
    step
}
