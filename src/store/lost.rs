//! What a dead process left: its runs become lost, its half-written texts interrupted messages.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;

use super::append::{Failure, Works, append, as_server};
use super::assemble::many;
use super::known::Lookup;
use super::plan::{Plan, plan};
use super::prepare::Prepared;
use super::row::StoredStep;
use super::{Append, Appended, StoreError, Stored};
use crate::id::{ExecutionId, StepId, ThreadId};
use crate::protocol::{Step, Timestamp};
use crate::record::{Fact, LostReason, Record, Source, cut_off};

/// What was settled in one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The thread.
    pub thread: ThreadId,
    /// The runs that are lost now, oldest first.
    pub runs: Vec<ExecutionId>,
    /// What else got its end: texts that streamed, steps that were open.
    pub steps: Vec<StepId>,
    /// The last sequence that was given for it.
    pub latest: Option<u64>,
}

/// Which processes are taken for dead.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dead<'a> {
    /// Every one but this: the database belongs to one process.
    AllBut(&'a str),
    /// This one.
    Only(&'a str),
    /// Those that did not renew the lease of a run in time. At most so many runs.
    Lapsed { now: Timestamp, lease: Duration, most: u32 },
}

impl<'a> Dead<'a> {
    /// The process that a statement compares with; empty where it compares times.
    pub fn instance(&self) -> &'a str {
        match self {
            Self::AllBut(instance) | Self::Only(instance) => instance,
            Self::Lapsed { .. } => "",
        }
    }

    /// Now, and the moment one lease ago, in microseconds.
    pub fn times(&self) -> (i64, i64) {
        match self {
            Self::AllBut(_) | Self::Only(_) => (0, 0),
            Self::Lapsed { now, lease, .. } => {
                let now = now.as_micros();
                (now, now.saturating_sub(micros(*lease)))
            }
        }
    }

    /// How many runs at most.
    pub fn most(&self) -> i64 {
        match self {
            Self::AllBut(_) | Self::Only(_) => i64::MAX,
            Self::Lapsed { most, .. } => i64::from(*most),
        }
    }

    fn reason(&self) -> LostReason {
        match self {
            Self::AllBut(_) | Self::Only(_) => LostReason::ProcessRestarted,
            Self::Lapsed { .. } => LostReason::LeaseExpired,
        }
    }
}

/// A duration as the databases count it.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// What the database holds of dead processes.
#[derive(Debug, Default)]
pub(super) struct Left {
    /// Runs, oldest first.
    pub runs: Vec<(ThreadId, ExecutionId)>,
    /// `{thread, execution, step}`, as a JSON array: what streamed in those runs, and what streamed in no run at all.
    pub partials: String,
    /// Rows of steps without an end in the threads of those runs where nothing else runs, as a JSON array; messages and
    /// runs are not among them.
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
    fn appends(self, now: Timestamp, reason: LostReason) -> Result<Vec<Prepared>, StoreError> {
        let partials: Vec<LeftPartial> = many(&self.partials)?;
        let open: Vec<StoredStep> = many(&self.open_steps)?;
        let mut records: BTreeMap<ThreadId, Vec<Record>> = BTreeMap::new();
        let mut written = BTreeSet::new();
        for LeftPartial { thread, execution, step } in partials {
            written.insert(step.id.clone());
            let record = Record::derived(&thread, execution, 0, Source::Watchdog, now, cut_off(step, now));
            records.entry(thread).or_default().push(record);
        }
        for step in open.into_iter().map(StoredStep::into_step).filter(|step| !written.contains(&step.id)) {
            let thread = step.thread_id.clone();
            let run = self.runs.iter().rev().find(|(of, _)| *of == thread).map(|(_, run)| run.clone());
            let record = Record::derived(&thread, run, 0, Source::Watchdog, now, cut_off(step, now));
            records.entry(thread).or_default().push(record);
        }
        for (thread, run) in self.runs {
            let fact = Fact::RunLost { run: run.clone(), lost_at: now, reason };
            let record = Record::derived(&thread, Some(run), 0, Source::Watchdog, now, fact);
            records.entry(thread).or_default().push(record);
        }
        Ok(records
            .into_iter()
            .map(|(thread, records)| as_server(Append { thread, owner: None, records, hinge: None }))
            .collect())
    }
}

/// Settles what dead processes left, in one transaction that holds the threads: a lease that is renewed meanwhile is
/// either seen, or comes too late.
pub(super) async fn settle(works: &dyn Works, dead: Dead<'_>, now: Timestamp) -> Result<Vec<Settled>, StoreError> {
    let batch;
    let outcomes = match in_one(works, dead, now).await {
        Ok((settling, outcomes)) => {
            batch = settling;
            outcomes
        }
        Err((settling, Failure::Bad(code, detail))) => {
            // One row that is not taken must not keep the others from their ends.
            tracing::warn!(code, detail, "not everything that a dead process left is taken as it is");
            batch = settling;
            append(works, &batch).await?
        }
        Err((settling, Failure::Raced)) => {
            batch = settling;
            append(works, &batch).await?
        }
        Err((_, Failure::Store(error))) => return Err(error),
    };
    Ok(settled(&batch, &outcomes))
}

async fn in_one(
    works: &dyn Works,
    dead: Dead<'_>,
    now: Timestamp,
) -> Result<(Vec<Prepared>, Vec<Appended>), (Vec<Prepared>, Failure)> {
    let nothing = |failure| (Vec::new(), failure);
    let mut work = works.begin().await.map_err(nothing)?;
    let left = work.left(dead).await.map_err(nothing)?;
    let batch = left.appends(now, dead.reason()).map_err(|error| nothing(error.into()))?;
    if batch.is_empty() {
        return Ok((batch, Vec::new()));
    }
    let written = async {
        let known = work.read(&Lookup::of(&batch)).await?;
        let Plan { outcomes, writes } = plan(&batch, known, works.numbered());
        work.write(&writes).await?;
        work.commit().await?;
        Ok(outcomes)
    };
    match written.await {
        Ok(outcomes) => Ok((batch, outcomes)),
        Err(failure) => Err((batch, failure)),
    }
}

/// What a batch settled: what somebody else had settled is not in it.
fn settled(batch: &[Prepared], outcomes: &[Appended]) -> Vec<Settled> {
    let mut all = Vec::new();
    for (append, outcome) in batch.iter().zip(outcomes) {
        let mut settled = Settled { thread: append.thread.clone(), runs: Vec::new(), steps: Vec::new(), latest: None };
        for (record, stored) in append.records.iter().zip(outcome.iter().flatten()) {
            let Stored::Appended(sequence) = stored else { continue };
            settled.latest = settled.latest.max(*sequence);
            match &record.fact {
                Fact::RunLost { run, .. } => settled.runs.push(run.clone()),
                fact => settled.steps.extend(fact.step().map(|step| step.id.clone())),
            }
        }
        if !settled.runs.is_empty() || !settled.steps.is_empty() {
            all.push(settled);
        }
    }
    all
}
