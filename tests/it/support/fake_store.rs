//! A store in memory that is away when a test says so, and remembers what it was asked.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use rejoinder::id::{ElementId, FeedbackId, FileId, StepId, ThreadId};
use rejoinder::protocol::{Element, Feedback, Step, ThreadPage, Timestamp, User};
use rejoinder::store::{
    Append, Appended, Cursor, FileRow, FollowPage, LiveSession, MarkAt, PageQuery, Partial, RecordPage, Settled, Store,
    StoreError, Stored, StoredRecord, StoredThread, ThreadHead, ThreadQuery, ThreadSnapshot, Working,
};
use tokio::sync::Semaphore;

/// Numbers records, stores nothing.
#[derive(Default)]
pub struct FakeStore {
    state: Mutex<State>,
    /// When it is there, each append waits for a permit.
    pub gate: Option<Semaphore>,
}

#[derive(Default)]
pub struct State {
    /// So many calls fail from now on.
    pub away: usize,
    /// After so many calls, one fails.
    pub away_after: Option<usize>,
    /// Record ids of each batch that was asked for.
    pub batches: Vec<Vec<String>>,
    pub partials: Vec<Vec<Partial>>,
    pub sessions: Vec<Vec<LiveSession>>,
    pub forgotten: Vec<Vec<String>>,
    /// How often it was asked where threads stand.
    pub polls: usize,
    /// So many appends are stored and answered with an error.
    pub forgets_answers: usize,
    pub incomplete: Vec<(ThreadId, String)>,
    /// Whether leases were renewed, or what lapsed was settled, and when; and the runs of each renewal.
    pub beats: Vec<(&'static str, tokio::time::Instant)>,
    pub renewed: Vec<Vec<Working>>,
    /// What the next sweep settles, and what the next renewal finds settled.
    pub lapsed: Vec<Settled>,
    pub overtaken: Vec<Working>,
    latest: HashMap<ThreadId, u64>,
    known: HashMap<(ThreadId, String), u64>,
}

impl FakeStore {
    pub fn gated() -> Self {
        Self { gate: Some(Semaphore::new(0)), ..Self::default() }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn answer(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        match &mut state.away_after {
            Some(0) => (state.away, state.away_after) = (1, None),
            Some(calls) => *calls -= 1,
            None => {}
        }
        if state.away == 0 {
            return Ok(());
        }
        state.away -= 1;
        Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut))
    }
}

#[async_trait]
impl Store for FakeStore {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Appended>, StoreError> {
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        let ids = batch.iter().flat_map(|append| append.records.iter().map(|record| record.id.to_string())).collect();
        self.state().batches.push(ids);
        self.answer()?;
        let mut state = self.state();
        let mut outcomes = Vec::new();
        for append in batch {
            let State { latest, known, .. } = &mut *state;
            let latest = latest.entry(append.thread.clone()).or_default();
            outcomes.push(Ok(append
                .records
                .iter()
                .map(|record| {
                    let id = (append.thread.clone(), record.id.to_string());
                    if let Some(sequence) = known.get(&id) {
                        return Stored::Duplicate(Some(*sequence));
                    }
                    *latest += 1;
                    known.insert(id, *latest);
                    Stored::Appended(Some(*latest))
                })
                .collect()));
        }
        if state.forgets_answers > 0 {
            state.forgets_answers -= 1;
            return Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut));
        }
        Ok(outcomes)
    }

    async fn save_partials(&self, partials: &[Partial]) -> Result<(), StoreError> {
        self.answer()?;
        self.state().partials.push(partials.to_vec());
        Ok(())
    }

    async fn thread(&self, _: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        Ok(None)
    }

    async fn thread_head(&self, _: &ThreadId) -> Result<Option<ThreadHead>, StoreError> {
        Ok(None)
    }

    async fn threads(&self, _: &ThreadQuery) -> Result<ThreadPage, StoreError> {
        unimplemented!()
    }

    async fn favorites(&self, _: &str, _: u32) -> Result<Vec<Step>, StoreError> {
        Ok(Vec::new())
    }

    async fn step(&self, _: Option<&str>, _: &StepId) -> Result<Option<Step>, StoreError> {
        Ok(None)
    }

    async fn vote(&self, _: Option<&str>, _: &FeedbackId) -> Result<Option<Feedback>, StoreError> {
        Ok(None)
    }

    async fn delete_thread(&self, _: &ThreadId) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn user(&self, _: &str) -> Result<Option<User>, StoreError> {
        Ok(None)
    }

    async fn save_user(&self, user: &User) -> Result<User, StoreError> {
        Ok(user.clone())
    }

    async fn save_sessions(&self, rows: &[LiveSession]) -> Result<(), StoreError> {
        self.answer()?;
        self.state().sessions.push(rows.to_vec());
        Ok(())
    }

    async fn forget_sessions(&self, hashes: &[String]) -> Result<(), StoreError> {
        self.answer()?;
        self.state().forgotten.push(hashes.to_vec());
        Ok(())
    }

    async fn session(&self, _: &str) -> Result<Option<LiveSession>, StoreError> {
        Ok(None)
    }

    async fn session_hashes(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn settle_left(&self, _: Option<&str>, _: Timestamp) -> Result<Vec<Settled>, StoreError> {
        Ok(Vec::new())
    }

    async fn renew(&self, runs: &[Working], _: Timestamp) -> Result<Vec<Working>, StoreError> {
        self.state().beats.push(("renew", tokio::time::Instant::now()));
        self.answer()?;
        self.state().renewed.push(runs.to_vec());
        Ok(std::mem::take(&mut self.state().overtaken))
    }

    async fn settle_lapsed(&self, _: u32, _: Timestamp) -> Result<Vec<Settled>, StoreError> {
        self.state().beats.push(("settle", tokio::time::Instant::now()));
        self.answer()?;
        Ok(std::mem::take(&mut self.state().lapsed))
    }

    async fn records(&self, _: &ThreadId, _: u64, _: Option<u64>, _: u32) -> Result<Vec<StoredRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn cursor(&self, _: &ThreadId) -> Result<Option<Cursor>, StoreError> {
        Ok(None)
    }

    async fn latest(&self, threads: &[ThreadId]) -> Result<HashMap<ThreadId, u64>, StoreError> {
        self.answer()?;
        let mut state = self.state();
        state.polls += 1;
        Ok(threads.iter().filter_map(|thread| Some((thread.clone(), *state.latest.get(thread)?))).collect())
    }

    async fn follow(&self, _: &ThreadId, _: u64, _: Option<u64>) -> Result<FollowPage, StoreError> {
        Ok(FollowPage::default())
    }

    async fn mark_incomplete(&self, threads: &[ThreadId], reason: &str) -> Result<(), StoreError> {
        self.answer()?;
        self.state().incomplete.extend(threads.iter().map(|thread| (thread.clone(), reason.to_owned())));
        Ok(())
    }

    async fn number(&self, _: &ThreadId) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn stored_threads(&self, _: Option<&ThreadId>, _: u32) -> Result<Vec<ThreadId>, StoreError> {
        Ok(Vec::new())
    }

    async fn recorded_threads(&self, _: Option<&ThreadId>, _: u32) -> Result<Vec<ThreadId>, StoreError> {
        Ok(Vec::new())
    }

    async fn count_recorded_threads(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn snapshot(&self, _: &ThreadId) -> Result<Option<ThreadSnapshot>, StoreError> {
        Ok(None)
    }

    async fn record_page(&self, _: &ThreadId, _: &PageQuery) -> Result<Option<RecordPage>, StoreError> {
        Ok(None)
    }

    async fn mark_at(&self, _: &ThreadId, _: u64) -> Result<MarkAt, StoreError> {
        Ok(MarkAt::default())
    }

    async fn element(&self, _: &ThreadId, _: &ElementId) -> Result<Option<Element>, StoreError> {
        Ok(None)
    }

    async fn add_file(&self, _: &FileRow) -> Result<(), StoreError> {
        unimplemented!()
    }

    async fn keep_file(&self, _: &FileId) -> Result<(), StoreError> {
        unimplemented!()
    }

    async fn files(&self, _: &[FileId]) -> Result<Vec<FileRow>, StoreError> {
        Ok(Vec::new())
    }

    async fn session_files(&self, _: &str) -> Result<Vec<FileRow>, StoreError> {
        Ok(Vec::new())
    }

    async fn doom_files(&self, _: &HashSet<String>, _: Timestamp, _: Timestamp) -> Result<Vec<FileId>, StoreError> {
        Ok(Vec::new())
    }

    async fn forget_files(&self, _: &[FileId]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) {}
}
