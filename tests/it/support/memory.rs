//! A store in memory, for tests that move the clock: a database's threads would not wait for it. It answers late, by
//! the test's own chance, and keeps the promises of a store that sessions rest on.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::id::{ElementId, FeedbackId, FileId, RecordId, StepId, ThreadId};
use rejoinder::protocol::{Element, Feedback, PageInfo, Step, ThreadPage, Timestamp, User};
use rejoinder::record::{Fact, Record, fold};
use rejoinder::store::{
    Append, Appended, Cursor, FileRow, FollowPage, LiveSession, MarkAt, PageQuery, Partial, RecordPage, Refused,
    Settled, Store, StoreError, Stored, StoredRecord, StoredThread, ThreadHead, ThreadQuery, ThreadSnapshot, Working,
};

/// Threads as lists of records.
pub struct Memory {
    threads: Mutex<HashMap<ThreadId, Vec<Record>>>,
    sessions: Mutex<HashMap<String, LiveSession>>,
    files: Mutex<HashMap<FileId, FileRow>>,
    chance: Mutex<StdRng>,
    /// How long an append takes, when it is not left to chance.
    pub slow: Mutex<Option<Duration>>,
    /// Whether the database is away.
    pub away: AtomicBool,
}

impl Memory {
    pub fn new(seed: u64) -> Self {
        Self {
            threads: Mutex::default(),
            sessions: Mutex::default(),
            files: Mutex::default(),
            chance: Mutex::new(StdRng::seed_from_u64(seed)),
            slow: Mutex::default(),
            away: AtomicBool::new(false),
        }
    }

    /// Puts a thread there as if it had always been.
    pub fn put(&self, thread: &ThreadId, records: Vec<Record>) {
        self.threads.lock().unwrap().insert(thread.clone(), records);
    }

    /// The records of a thread.
    pub fn records(&self, thread: &ThreadId) -> Vec<Record> {
        self.threads.lock().unwrap().get(thread).cloned().unwrap_or_default()
    }

    async fn hesitate(&self) {
        let micros = self.chance.lock().unwrap().random_range(0..40_000);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }

    fn steps_of(&self, of: Option<&str>) -> Vec<Step> {
        let threads = self.threads.lock().unwrap();
        let mine = threads.iter().filter(|(id, records)| owner(id, records).as_deref() == of);
        mine.flat_map(|(id, records)| fold(id, records).into_thread().steps).collect()
    }

    fn store(&self, append: &Append) -> Appended {
        let mut threads = self.threads.lock().unwrap();
        let starts = append.records.iter().any(|record| matches!(record.fact, Fact::ThreadStarted(_)));
        let known: HashSet<RecordId> = match threads.get(&append.thread) {
            Some(records) if owner(&append.thread, records) != append.owner => return Err(Refused::NotYours),
            Some(records) => records.iter().map(|record| record.id.clone()).collect(),
            None if starts => HashSet::new(),
            None => return Err(Refused::NoThread),
        };
        let records = threads.entry(append.thread.clone()).or_default();
        let hinge = append.hinge.and_then(|place| Some((place, append.records.get(place)?)));
        let hangs_from = hinge.filter(|(_, record)| known.contains(&record.id)).map(|(place, _)| place);
        Ok(append
            .records
            .iter()
            .enumerate()
            .map(|(place, record)| {
                if known.contains(&record.id) {
                    return Stored::Duplicate(None);
                }
                if hangs_from.is_some_and(|from| place > from) {
                    return Stored::Skipped;
                }
                records.push(record.clone());
                Stored::Appended(Some(records.len() as u64))
            })
            .collect())
    }
}

fn owner(thread: &ThreadId, records: &[Record]) -> Option<String> {
    fold(thread, records).head.user_identifier
}

#[async_trait]
impl Store for Memory {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Appended>, StoreError> {
        let slow = *self.slow.lock().unwrap();
        match slow {
            Some(time) => tokio::time::sleep(time).await,
            None => self.hesitate().await,
        }
        if self.away.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut));
        }
        Ok(batch.iter().map(|append| self.store(append)).collect())
    }

    async fn save_partials(&self, _: &[Partial]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        self.hesitate().await;
        if self.away.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable(sqlx::Error::PoolTimedOut));
        }
        let records = self.records(id);
        let found = (!records.is_empty()).then(|| StoredThread {
            thread: fold(id, &records).into_thread(),
            cursor: None,
            incomplete: Default::default(),
        });
        // The answer takes its time, too: the thread may have changed when it arrives.
        self.hesitate().await;
        Ok(found)
    }

    async fn thread_head(&self, id: &ThreadId) -> Result<Option<ThreadHead>, StoreError> {
        self.hesitate().await;
        let records = self.records(id);
        Ok((!records.is_empty()).then(|| ThreadHead {
            owner: owner(id, &records),
            name: fold(id, &records).head.name,
            metadata: fold(id, &records).into_thread().metadata,
            incomplete: Default::default(),
        }))
    }

    async fn threads(&self, _: &ThreadQuery) -> Result<ThreadPage, StoreError> {
        Ok(ThreadPage { page_info: PageInfo::default(), data: Vec::new() })
    }

    async fn favorites(&self, of: &str, limit: u32) -> Result<Vec<Step>, StoreError> {
        let mut steps = self.steps_of(Some(of));
        steps.retain(|step| step.metadata.get("favorite") == Some(&true.into()));
        steps.sort_by_key(|step| std::cmp::Reverse(step.created_at));
        steps.truncate(limit as usize);
        Ok(steps)
    }

    async fn step(&self, of: Option<&str>, id: &StepId) -> Result<Option<Step>, StoreError> {
        Ok(self.steps_of(of).into_iter().find(|step| step.id == *id))
    }

    async fn vote(&self, of: Option<&str>, id: &FeedbackId) -> Result<Option<Feedback>, StoreError> {
        let mut votes = self
            .steps_of(of)
            .into_iter()
            .filter_map(|step| step.feedback.map(|vote| Feedback { thread_id: Some(step.thread_id), ..vote }));
        Ok(votes.find(|vote| vote.id.as_ref() == Some(id)))
    }

    async fn delete_thread(&self, id: &ThreadId) -> Result<bool, StoreError> {
        Ok(self.threads.lock().unwrap().remove(id).is_some())
    }

    async fn user(&self, _: &str) -> Result<Option<User>, StoreError> {
        Ok(None)
    }

    async fn save_user(&self, user: &User) -> Result<User, StoreError> {
        Ok(user.clone())
    }

    async fn save_sessions(&self, rows: &[LiveSession]) -> Result<(), StoreError> {
        self.sessions.lock().unwrap().extend(rows.iter().map(|row| (row.hash.clone(), row.clone())));
        Ok(())
    }

    async fn forget_sessions(&self, hashes: &[String]) -> Result<(), StoreError> {
        self.sessions.lock().unwrap().retain(|hash, _| !hashes.contains(hash));
        Ok(())
    }

    async fn session(&self, hash: &str) -> Result<Option<LiveSession>, StoreError> {
        Ok(self.sessions.lock().unwrap().get(hash).cloned())
    }

    async fn session_hashes(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.sessions.lock().unwrap().keys().cloned().collect())
    }

    async fn settle_left(&self, _: Option<&str>, _: Timestamp) -> Result<Vec<Settled>, StoreError> {
        Ok(Vec::new())
    }

    async fn renew(&self, _: &[Working], _: Timestamp) -> Result<Vec<Working>, StoreError> {
        Ok(Vec::new())
    }

    async fn settle_lapsed(&self, _: u32, _: Timestamp) -> Result<Vec<Settled>, StoreError> {
        Ok(Vec::new())
    }

    async fn records(&self, _: &ThreadId, _: u64, _: Option<u64>, _: u32) -> Result<Vec<StoredRecord>, StoreError> {
        Ok(Vec::new())
    }

    async fn cursor(&self, _: &ThreadId) -> Result<Option<Cursor>, StoreError> {
        Ok(None)
    }

    async fn latest(&self, _: &[ThreadId]) -> Result<HashMap<ThreadId, u64>, StoreError> {
        Ok(HashMap::new())
    }

    async fn follow(&self, _: &ThreadId, _: u64, _: Option<u64>) -> Result<FollowPage, StoreError> {
        Ok(FollowPage::default())
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

    async fn mark_incomplete(&self, _: &[ThreadId], _: &str) -> Result<(), StoreError> {
        Ok(())
    }

    async fn element(&self, thread: &ThreadId, element: &ElementId) -> Result<Option<Element>, StoreError> {
        Ok(fold(thread, &self.records(thread)).elements.get(element).cloned())
    }

    async fn add_file(&self, row: &FileRow) -> Result<(), StoreError> {
        self.files.lock().unwrap().insert(row.file.id.clone(), row.clone());
        Ok(())
    }

    async fn keep_file(&self, _: &FileId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn files(&self, ids: &[FileId]) -> Result<Vec<FileRow>, StoreError> {
        let files = self.files.lock().unwrap();
        Ok(ids.iter().filter_map(|id| files.get(id).cloned()).collect())
    }

    async fn session_files(&self, session: &str) -> Result<Vec<FileRow>, StoreError> {
        Ok(self.files.lock().unwrap().values().filter(|row| row.session == session).cloned().collect())
    }

    async fn doom_files(&self, _: &HashSet<String>, _: Timestamp, _: Timestamp) -> Result<Vec<FileId>, StoreError> {
        Ok(Vec::new())
    }

    async fn forget_files(&self, ids: &[FileId]) -> Result<(), StoreError> {
        self.files.lock().unwrap().retain(|id, _| !ids.contains(id));
        Ok(())
    }

    async fn ping(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn close(&self) {}
}
