//! The decision: what becomes of each record, and what is written. Pure, so that both databases decide alike.

use std::collections::HashMap;

use super::incomplete::{EXECUTION_LOST, LEGACY_ROWS, RECORD_REJECTED, UNSEQUENCED_ROWS};
use super::known::{Known, KnownCursor, KnownRecord, SettledBy};
use super::mark::Mark;
use super::prepare::{Guard, Prepared, PreparedRecord};
use super::tables::Tables;
use super::writes::{CursorRow, ExecutionRow, RecordRow, RejectRow, StepKey, Writes};
use super::{Appended, Refused, Stored};
use crate::id::{ExecutionId, ThreadId};
use crate::record::{Fact, LostReason, Source};

/// The answer to a batch, and what must be written for it to be true.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub outcomes: Vec<Appended>,
    pub writes: Writes,
}

/// Decides a batch. `known` must hold an answer for every id of its [`super::known::Lookup`], and a cursor (a fresh
/// one where there is none) for every thread.
pub(super) fn plan(batch: &[Prepared], known: Known, numbered: bool) -> Plan {
    let Known { cursors, threads, tombstones, records, executions, steps, elements, feedback, trees } = known;
    let tables = Tables::new(threads, steps, elements, feedback, trees);
    let mut planner = Planner {
        cursors: cursors.into_iter().map(|(id, row)| (id, Cursor { row, changed: false })).collect(),
        tombstones,
        records,
        executions,
        changed_executions: indexmap::IndexMap::new(),
        tables,
        numbered,
        plan: Plan::default(),
    };
    for append in batch {
        let outcome = planner.append(append);
        planner.plan.outcomes.push(outcome);
    }
    planner.finish()
}

struct Planner {
    cursors: HashMap<ThreadId, Cursor>,
    tombstones: std::collections::HashSet<ThreadId>,
    records: HashMap<(ThreadId, crate::id::RecordId), KnownRecord>,
    executions: HashMap<(ThreadId, ExecutionId), Option<SettledBy>>,
    changed_executions: indexmap::IndexMap<(ThreadId, ExecutionId), ExecutionRow>,
    tables: Tables,
    numbered: bool,
    plan: Plan,
}

struct Cursor {
    row: KnownCursor,
    changed: bool,
}

/// What a settled run does to a record that names it.
enum Late {
    /// It runs, or nobody knows it.
    No,
    /// It ended by itself: what comes now belongs to the thread.
    AfterItsEnd(ExecutionId),
    /// It was ended over its head: evidence.
    Quarantine,
}

impl Planner {
    fn append(&mut self, append: &Prepared) -> Appended {
        self.admit(append)?;
        let mut outcomes = Vec::with_capacity(append.records.len());
        for record in &append.records {
            // What an append whose answer was lost has stored is found again, not skipped.
            let known = self.records.contains_key(&(append.thread.clone(), record.id.clone()));
            if append.hangs(&outcomes) && !known {
                outcomes.push(Stored::Skipped);
                continue;
            }
            outcomes.push(self.record(&append.thread, record));
        }
        Ok(outcomes)
    }

    /// Whether this append may write here at all, and its thread's row when it begins one.
    fn admit(&mut self, append: &Prepared) -> Result<(), Refused> {
        if self.tombstones.contains(&append.thread) {
            return Err(Refused::Deleted);
        }
        // A start that is known already starts nothing: then somebody else removed the row.
        let is_new = |record: &PreparedRecord| {
            record.bad.is_none() && !self.records.contains_key(&(append.thread.clone(), record.id.clone()))
        };
        let starts = append.records.iter().find_map(|record| match &record.fact {
            Fact::ThreadStarted(start) if is_new(record) => Some(start.user_identifier.as_deref()),
            _ => None,
        });
        match (self.tables.owner(&append.thread), &append.guard, starts) {
            (Some(_), Guard::Server, _) => Ok(()),
            (Some(owner), Guard::Owner(writer), _) if owner == writer.as_deref() => Ok(()),
            (None, Guard::Owner(writer), Some(owner)) if owner == writer.as_deref() => Ok(()),
            (Some(_), Guard::Owner(_), _) | (None, Guard::Owner(_), Some(_)) => Err(Refused::NotYours),
            (None, Guard::Owner(_), None) | (None, Guard::Server, _) => Err(Refused::NoThread),
        }
    }

    fn record(&mut self, thread: &ThreadId, record: &PreparedRecord) -> Stored {
        if let Some(code) = record.bad {
            self.reject(thread, record, code, None);
            return Stored::Rejected(code);
        }
        let key = (thread.clone(), record.id.clone());
        let hash = record.hash_hex();
        if let Some(known) = self.records.get(&key) {
            return match known {
                known if known.hash != hash => Stored::Conflict,
                KnownRecord { quarantined: true, .. } => Stored::Quarantined,
                KnownRecord { sequence, .. } => Stored::Duplicate(*sequence),
            };
        }
        if !self.tables.is_ours(thread, &record.fact) {
            return Stored::ForeignId;
        }
        if let Some(run) = record.fact.ends()
            && let Some(Some(_)) = self.executions.get(&(thread.clone(), run.clone()))
        {
            return Stored::AlreadySettled;
        }
        let late = self.late(thread, record);
        let quarantined = matches!(late, Late::Quarantine);
        let (execution, origin) = match late {
            Late::No | Late::Quarantine => (record.execution.clone(), None),
            Late::AfterItsEnd(origin) => (None, Some(origin)),
        };
        let (sequence, mark) = if quarantined { (None, None) } else { self.number(thread, record) };
        self.plan.writes.records.push(RecordRow {
            thread: thread.clone(),
            id: record.id.clone(),
            sequence,
            execution,
            origin,
            entity: record.fact.entity().map(str::to_owned),
            kind: record.fact.record_type(),
            source: record.source.as_str(),
            attributes: record.attributes.clone(),
            hash: record.hash,
            mark,
            produced_at: record.produced_at.as_micros(),
            quarantined,
        });
        self.records.insert(key, KnownRecord { hash, sequence, quarantined });
        if let Some(step) = record.fact.step().filter(|step| !step.streaming) {
            self.plan.writes.finished_partials.push(StepKey { thread: thread.clone(), id: step.id.clone() });
        }
        if quarantined {
            return Stored::Quarantined;
        }
        self.execute(thread, record);
        self.fold(thread, record, sequence);
        Stored::Appended(sequence)
    }

    fn late(&self, thread: &ThreadId, record: &PreparedRecord) -> Late {
        let Some(execution) = &record.execution else { return Late::No };
        match self.executions.get(&(thread.clone(), execution.clone())) {
            None | Some(None) => Late::No,
            Some(Some(SettledBy::Runner)) => Late::AfterItsEnd(execution.clone()),
            Some(Some(SettledBy::User | SettledBy::Watchdog)) => Late::Quarantine,
        }
    }

    fn number(&mut self, thread: &ThreadId, record: &PreparedRecord) -> (Option<u64>, Option<Mark>) {
        if !self.numbered {
            self.flag(thread, UNSEQUENCED_ROWS);
            return (None, None);
        }
        let cursor = self.cursor(thread);
        cursor.row.latest += 1;
        cursor.row.mark = cursor.row.mark.next(record.id.as_str(), &record.hash);
        (Some(cursor.row.latest), Some(cursor.row.mark))
    }

    /// Starts and settles runs.
    fn execute(&mut self, thread: &ThreadId, record: &PreparedRecord) {
        let by_source = match record.source {
            Source::User => SettledBy::User,
            Source::Watchdog => SettledBy::Watchdog,
            Source::Assistant | Source::System | Source::Tool | Source::App => SettledBy::Runner,
        };
        let (run, trigger, end) = match &record.fact {
            Fact::RunStarted { step, trigger } => (&step.id, trigger.clone(), None),
            Fact::RunEnded { step, reason, .. } => (&step.id, None, Some(("stopped", reason_text(*reason), by_source))),
            Fact::RunFailed { step, .. } => (&step.id, None, Some(("failed", "error", by_source))),
            Fact::RunLost { run, reason, .. } => (run, None, Some(("lost", lost_text(*reason), SettledBy::Watchdog))),
            _ => return,
        };
        if matches!(record.fact, Fact::RunLost { .. }) {
            self.flag(thread, EXECUTION_LOST);
        }
        let key = (thread.clone(), run.clone());
        let settled_by = end.map(|(_, _, by)| by);
        if end.is_none() && self.executions.contains_key(&key) {
            return;
        }
        self.executions.insert(key.clone(), settled_by);
        let row = self.changed_executions.entry(key).or_insert_with(|| ExecutionRow {
            thread: thread.clone(),
            id: run.clone(),
            state: "running",
            started_at: record.produced_at.as_micros(),
            trigger,
            settled_by: None,
            reason: None,
        });
        if let Some((state, reason, by)) = end {
            row.state = state;
            row.reason = Some(reason);
            row.settled_by = Some(by);
            if by != SettledBy::Runner {
                self.plan.writes.ended_runs.push(StepKey { thread: thread.clone(), id: run.clone() });
            }
        }
    }

    fn fold(&mut self, thread: &ThreadId, record: &PreparedRecord, sequence: Option<u64>) {
        let legacy = self.tables.legacy(thread);
        let cursor = self.cursor(thread);
        if cursor.row.step_count.is_none() {
            let (count, newest) = legacy;
            cursor.row.step_count = Some(count);
            cursor.row.step_newest = newest;
            if count > 0 {
                self.flag(thread, LEGACY_ROWS);
            }
        }
        let (added, newest) = self.tables.fold(thread, record, sequence);
        let cursor = self.cursor(thread);
        if let Some(count) = &mut cursor.row.step_count {
            *count += added;
        }
        if newest > cursor.row.step_newest {
            cursor.row.step_newest = newest;
        }
    }

    fn reject(&mut self, thread: &ThreadId, record: &PreparedRecord, code: &'static str, detail: Option<String>) {
        self.plan.writes.rejects.push(reject_row(thread, record, code, detail));
        self.flag(thread, RECORD_REJECTED);
    }

    fn flag(&mut self, thread: &ThreadId, reason: &str) {
        self.cursor(thread).row.incomplete.insert(reason.to_owned());
    }

    /// The cursor, marked as changed.
    fn cursor(&mut self, thread: &ThreadId) -> &mut Cursor {
        let cursor = self
            .cursors
            .entry(thread.clone())
            .or_insert_with(|| Cursor { row: KnownCursor::new(super::epoch()), changed: false });
        cursor.changed = true;
        cursor
    }

    fn finish(mut self) -> Plan {
        let mut cursors: Vec<_> = self.cursors.into_iter().collect();
        cursors.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let writes = &mut self.plan.writes;
        for (thread, Cursor { row, changed }) in cursors {
            if changed {
                writes.cursors.push(CursorRow::new(thread, row));
            } else if row.fresh {
                writes.unused_cursors.push(thread);
            }
        }
        writes.executions = self.changed_executions.into_values().collect();
        self.tables.finish(writes);
        self.plan
    }
}

/// What is kept of a record that the database would not take.
pub(super) fn reject_row(
    thread: &ThreadId,
    record: &PreparedRecord,
    code: &'static str,
    detail: Option<String>,
) -> RejectRow {
    const KEPT: usize = 64 << 10;
    let mut end = record.attributes.len().min(KEPT);
    while !record.attributes.is_char_boundary(end) {
        end -= 1;
    }
    RejectRow {
        thread: thread.clone(),
        record: record.id.clone(),
        code,
        detail,
        body: record.attributes[..end].to_owned(),
    }
}

fn lost_text(reason: LostReason) -> &'static str {
    match reason {
        LostReason::ProcessRestarted => "process_restarted",
        LostReason::LeaseExpired => "lease_expired",
    }
}

fn reason_text(reason: crate::record::EndReason) -> &'static str {
    use crate::record::EndReason;
    match reason {
        EndReason::Completed => "completed",
        EndReason::UserStop => "user_stop",
        EndReason::Superseded => "superseded",
        EndReason::SessionCleared => "session_cleared",
    }
}
