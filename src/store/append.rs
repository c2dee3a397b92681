//! One append on either database: the whole batch in a transaction; when a row in it is bad, piece by piece.

use async_trait::async_trait;
use tokio::time::Instant;

use super::bad::{Class, classify};
use super::incomplete::RECORD_REJECTED;
use super::known::{Known, Lookup};
use super::lost::{Dead, Left};
use super::plan::{Plan, plan, reject_row};
use super::prepare::{Guard, Prepared, PreparedRecord};
use super::probe::Point;
use super::writes::{CursorRow, Writes};
use super::{Appended, StoreError, Stored};
use crate::id::ThreadId;
use crate::metrics::counts;

/// An open transaction of a backend. Dropping it rolls back.
#[async_trait]
pub(super) trait Work: Send {
    /// Locks the cursors of the threads in the order of the list and reads the rest after that.
    async fn read(&mut self, lookup: &Lookup) -> Result<Known, Failure>;
    /// What dead processes left, with its threads locked: those that somebody else holds are left out.
    async fn left(&mut self, dead: Dead<'_>) -> Result<Left, Failure>;
    /// Writes all rows, or fails.
    async fn write(&mut self, writes: &Writes) -> Result<(), Failure>;
    /// Marks the place that [`Work::undo`] goes back to.
    async fn mark(&mut self) -> Result<(), Failure>;
    /// Takes back what was done since the mark and keeps the mark.
    async fn undo(&mut self) -> Result<(), Failure>;
    /// The records of a thread that are not put aside, as a JSON array: id, number, time, hash, entity, type.
    async fn numbers(&mut self, thread: &ThreadId) -> Result<String, Failure>;
    /// Takes every number of a thread away.
    async fn clear_numbers(&mut self, thread: &ThreadId) -> Result<(), Failure>;
    /// Gives records numbers and marks, from a JSON array of id, sequence, mark; and the cursor its epoch.
    async fn set_numbers(&mut self, thread: &ThreadId, numbers: &str, epoch: &str) -> Result<(), Failure>;
    /// Makes it true.
    async fn commit(self: Box<Self>) -> Result<(), Failure>;
}

/// A backend, as far as an append needs one.
#[async_trait]
pub(super) trait Works: Sync {
    /// Whether records get sequences.
    fn numbered(&self) -> bool;
    /// Opens a transaction that may write.
    async fn begin(&self) -> Result<Box<dyn Work>, Failure>;
    /// A pause or an end that a test asked for.
    async fn reach(&self, point: Point) -> Result<(), StoreError>;
}

/// Why a step of a transaction failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// A row that will never be taken: code, and the database's words for the reject.
    Bad(&'static str, String),
    /// Somebody wrote between our reading and our writing; reading again will tell.
    Raced,
    /// Nothing is decided.
    Store(StoreError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        match classify(&error) {
            Class::Bad(code) => Self::Bad(code, error.to_string()),
            Class::Away => Self::Store(StoreError::Unavailable(error)),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How often a lost race is tried again before it counts as an outage.
const RACES: usize = 5;

/// Stores a prepared batch in one transaction.
pub(super) async fn append(works: &dyn Works, batch: &[Prepared]) -> Result<Vec<Appended>, StoreError> {
    if batch.is_empty() {
        return Ok(Vec::new());
    }
    let mut in_pieces = false;
    for _ in 0..RACES {
        let result = if in_pieces { piecewise(works, batch).await } else { whole(works, batch).await };
        match result {
            Ok(outcomes) => {
                works.reach(Point::AfterCommit).await?;
                return Ok(outcomes);
            }
            Err(Failure::Raced) => {}
            Err(Failure::Bad(code, detail)) if in_pieces => {
                return Err(StoreError::Corrupt(format!("{code} outside of a record: {detail}")));
            }
            Err(Failure::Bad(code, _)) => {
                tracing::warn!(code, "a record was not taken, storing the batch piece by piece");
                in_pieces = true;
            }
            Err(Failure::Store(error)) => return Err(error),
        }
    }
    Err(StoreError::Unavailable(sqlx::Error::Protocol("another writer was always faster".into())))
}

async fn whole(works: &dyn Works, batch: &[Prepared]) -> Result<Vec<Appended>, Failure> {
    let begun = Instant::now();
    let mut work = works.begin().await?;
    let known = work.read(&Lookup::of(batch)).await?;
    counts().lock_time.observe(begun.elapsed().as_secs_f64());
    works.reach(Point::AfterLock).await?;
    let Plan { outcomes, writes } = plan(batch, known, works.numbered());
    work.write(&writes).await?;
    works.reach(Point::AfterInsert).await?;
    works.reach(Point::BeforeCommit).await?;
    work.commit().await?;
    Ok(outcomes)
}

/// Append by append with a savepoint, and an append with a bad row record by record. Only the bad row is put aside.
async fn piecewise(works: &dyn Works, batch: &[Prepared]) -> Result<Vec<Appended>, Failure> {
    let mut work = works.begin().await?;
    // All cursors first, in the order that everybody keeps.
    let mut locks = Lookup::of(batch);
    locks = Lookup { threads: std::mem::take(&mut locks.threads), ..Lookup::default() };
    let cursors = work.read(&locks).await?.cursors;
    work.mark().await?;
    let mut outcomes = Vec::with_capacity(batch.len());
    for append in batch {
        let outcome = match attempt(works, &mut *work, append).await {
            Ok(outcome) => outcome,
            Err(Failure::Bad(..)) => {
                work.undo().await?;
                record_by_record(works, &mut *work, append).await?
            }
            Err(failure) => return Err(failure),
        };
        work.mark().await?;
        outcomes.push(outcome);
    }
    let fresh = cursors.into_iter().filter(|(_, cursor)| cursor.fresh).map(|(thread, _)| thread);
    work.write(&Writes { unused_cursors: fresh.collect(), ..Writes::default() }).await?;
    work.commit().await?;
    Ok(outcomes)
}

async fn attempt(works: &dyn Works, work: &mut dyn Work, append: &Prepared) -> Result<Appended, Failure> {
    let batch = std::slice::from_ref(append);
    let known = work.read(&Lookup::of(batch)).await?;
    let Plan { mut outcomes, writes } = plan(batch, known, works.numbered());
    work.write(&writes).await?;
    outcomes.pop().ok_or_else(|| StoreError::Corrupt("a plan without an outcome".into()).into())
}

async fn record_by_record(works: &dyn Works, work: &mut dyn Work, append: &Prepared) -> Result<Appended, Failure> {
    let mut outcomes: Vec<Stored> = Vec::with_capacity(append.records.len());
    for record in &append.records {
        if append.hangs(&outcomes) {
            outcomes.push(Stored::Skipped);
            continue;
        }
        let alone = Prepared { records: vec![record.clone()], hinge: None, ..append.clone() };
        work.mark().await?;
        match attempt(works, work, &alone).await {
            Ok(Ok(mut stored)) => outcomes.extend(stored.pop()),
            // The record that would have started the thread was a bad one.
            Ok(Err(_)) if outcomes.iter().any(|stored| matches!(stored, Stored::Rejected(_))) => {
                outcomes.push(Stored::Rejected("no_thread"));
            }
            Ok(Err(refused)) => return Ok(Err(refused)),
            Err(Failure::Bad(code, detail)) => {
                work.undo().await?;
                work.mark().await?;
                outcomes.push(put_aside(work, append, record, code, detail).await?);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(Ok(outcomes))
}

/// Keeps what the database refused, so that "incomplete" can be explained.
async fn put_aside(
    work: &mut dyn Work,
    append: &Prepared,
    record: &PreparedRecord,
    code: &'static str,
    detail: String,
) -> Result<Stored, Failure> {
    tracing::warn!(thread = %append.thread, record = %record.id, code, "record rejected");
    let lookup = Lookup { threads: vec![append.thread.clone()], ..Lookup::default() };
    let known = work.read(&lookup).await?;
    let mut writes = Writes::default();
    if let Some(mut row) = known.cursors.get(&append.thread).cloned() {
        row.incomplete.insert(RECORD_REJECTED.to_owned());
        writes.cursors.push(CursorRow::new(append.thread.clone(), row));
    }
    writes.rejects.push(reject_row(&append.thread, record, code, Some(detail)));
    work.write(&writes).await?;
    Ok(Stored::Rejected(code))
}

/// Appends as the server itself, whoever owns the threads.
pub(super) fn as_server(append: super::Append) -> Prepared {
    let mut prepared = super::prepare::prepare(&[append]);
    let mut append = prepared.swap_remove(0);
    append.guard = Guard::Server;
    append
}
