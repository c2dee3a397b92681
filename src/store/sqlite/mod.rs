//! SQLite: one writing connection, readers beside it, one process that owns the file.

/// A row of `steps` as an object. A macro, since `concat!` takes no constants.
macro_rules! step {
    () => {
        r#"json_object('id', id, 'threadId', "threadId", 'parentId', "parentId",
            'name', cast(name as text), 'type', cast(type as text), 'streaming', streaming,
            'waitForAnswer', "waitForAnswer", 'isError', "isError", 'metadata', cast(metadata as text),
            'tags', cast(tags as text), 'input', cast(input as text), 'output', cast(output as text),
            'createdAt', cast("createdAt" as text), 'command', cast(command as text),
            'start', cast(start as text), 'end', cast("end" as text), 'generation', cast(generation as text),
            'showInput', cast("showInput" as text), 'language', cast(language as text),
            'defaultOpen', "defaultOpen", 'autoCollapse', "autoCollapse", 'modes', cast(modes as text))"#
    };
}

mod append;
mod file;
mod find;
mod follow;
mod history;
mod insert;
mod lost;
mod open;
mod read;
mod schema;
mod sql;
mod write;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::append::append;
use super::files;
use super::lost::{Dead, settle};
use super::number;
use super::prepare::prepare;
use super::probe::Probes;
use super::{
    Append, Appended, Cursor, FileRow, FollowPage, LiveSession, MarkAt, PageQuery, Partial, RecordPage, Settled, Store,
    StoreError, StoredRecord, StoredThread, ThreadHead, ThreadQuery, ThreadSnapshot, Working,
};
use crate::clock::Clock;
use crate::id::{ElementId, FeedbackId, FileId, StepId, ThreadId};
use crate::protocol::{Element, Feedback, Step, ThreadPage, Timestamp, User};

/// A SQLite file that belongs to this process.
pub(super) struct SqliteStore {
    /// Exactly one connection: writers queue here and not in SQLite's busy handler.
    writer: SqlitePool,
    readers: SqlitePool,
    inserts: insert::Inserts,
    project: String,
    instance: String,
    lease: Duration,
    numbered: bool,
    clock: Clock,
    probes: Probes,
    lock: Mutex<Option<File>>,
}

impl SqliteStore {
    /// A deferred transaction that reads first and writes later fails under contention whatever the timeout.
    async fn begin_write(&self) -> Result<Transaction<'static, Sqlite>, sqlx::Error> {
        self.writer.begin_with("begin immediate").await
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn append(&self, batch: &[Append]) -> Result<Vec<Appended>, StoreError> {
        append(self, &prepare(batch)).await
    }

    async fn save_partials(&self, partials: &[Partial]) -> Result<(), StoreError> {
        self.write_partials(partials).await
    }

    async fn thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        self.read_thread(id).await
    }

    async fn thread_head(&self, id: &ThreadId) -> Result<Option<ThreadHead>, StoreError> {
        self.read_head(id).await
    }

    async fn threads(&self, query: &ThreadQuery) -> Result<ThreadPage, StoreError> {
        self.read_threads(query).await
    }

    async fn favorites(&self, owner: &str, limit: u32) -> Result<Vec<Step>, StoreError> {
        self.find_favorites(owner, limit).await
    }

    async fn step(&self, owner: Option<&str>, id: &StepId) -> Result<Option<Step>, StoreError> {
        self.find_step(owner, id).await
    }

    async fn vote(&self, owner: Option<&str>, id: &FeedbackId) -> Result<Option<Feedback>, StoreError> {
        self.find_vote(owner, id).await
    }

    async fn delete_thread(&self, id: &ThreadId) -> Result<bool, StoreError> {
        self.remove_thread(id).await
    }

    async fn user(&self, identifier: &str) -> Result<Option<User>, StoreError> {
        self.read_user(identifier).await
    }

    async fn save_user(&self, user: &User) -> Result<User, StoreError> {
        self.write_user(user).await?;
        let row = self.read_user(&user.identifier).await?;
        row.ok_or_else(|| StoreError::Corrupt("a user that was just written is not there".into()))
    }

    async fn save_sessions(&self, rows: &[LiveSession]) -> Result<(), StoreError> {
        self.write_sessions(rows).await
    }

    async fn forget_sessions(&self, hashes: &[String]) -> Result<(), StoreError> {
        self.remove_sessions(hashes).await
    }

    async fn session(&self, hash: &str) -> Result<Option<LiveSession>, StoreError> {
        self.read_session(hash).await
    }

    async fn session_hashes(&self) -> Result<Vec<String>, StoreError> {
        self.read_session_hashes().await
    }

    async fn settle_left(&self, _: Option<&str>, now: Timestamp) -> Result<Vec<Settled>, StoreError> {
        self.remove_old_sessions(now).await?;
        // The file belongs to this process: whoever wrote it before is dead.
        settle(self, Dead::AllBut(&self.instance), now).await
    }

    async fn renew(&self, runs: &[Working], now: Timestamp) -> Result<Vec<Working>, StoreError> {
        self.renew_leases(runs, now).await
    }

    async fn settle_lapsed(&self, most: u32, now: Timestamp) -> Result<Vec<Settled>, StoreError> {
        settle(self, Dead::Lapsed { now, lease: self.lease, most }, now).await
    }

    async fn records(
        &self,
        thread: &ThreadId,
        after: u64,
        through: Option<u64>,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError> {
        self.read_records(thread, after, through, limit).await
    }

    async fn cursor(&self, thread: &ThreadId) -> Result<Option<Cursor>, StoreError> {
        self.read_cursor(thread).await
    }

    async fn follow(&self, thread: &ThreadId, after: u64, through: Option<u64>) -> Result<FollowPage, StoreError> {
        self.read_follow(thread, after, through).await
    }

    async fn latest(&self, threads: &[ThreadId]) -> Result<HashMap<ThreadId, u64>, StoreError> {
        self.read_latest(threads).await
    }

    async fn mark_incomplete(&self, threads: &[ThreadId], reason: &str) -> Result<(), StoreError> {
        self.add_reason(threads, reason).await
    }

    async fn number(&self, thread: &ThreadId) -> Result<u64, StoreError> {
        number::number(self, thread).await
    }

    async fn stored_threads(&self, after: Option<&ThreadId>, limit: u32) -> Result<Vec<ThreadId>, StoreError> {
        self.read_stored_threads(after, limit).await
    }

    async fn recorded_threads(&self, after: Option<&ThreadId>, limit: u32) -> Result<Vec<ThreadId>, StoreError> {
        self.read_recorded_threads(after, limit).await
    }

    async fn count_recorded_threads(&self) -> Result<u64, StoreError> {
        self.read_recorded_count().await
    }

    async fn snapshot(&self, thread: &ThreadId) -> Result<Option<ThreadSnapshot>, StoreError> {
        self.read_snapshot(thread).await
    }

    async fn record_page(&self, thread: &ThreadId, query: &PageQuery) -> Result<Option<RecordPage>, StoreError> {
        self.read_record_page(thread, query).await
    }

    async fn mark_at(&self, thread: &ThreadId, sequence: u64) -> Result<MarkAt, StoreError> {
        self.read_mark_at(thread, sequence).await
    }

    async fn element(&self, thread: &ThreadId, element: &ElementId) -> Result<Option<Element>, StoreError> {
        self.read_element(thread, element).await
    }

    async fn add_file(&self, row: &FileRow) -> Result<(), StoreError> {
        self.insert_file(row).await
    }

    async fn keep_file(&self, id: &FileId) -> Result<(), StoreError> {
        self.mark_file_kept(id).await
    }

    async fn files(&self, ids: &[FileId]) -> Result<Vec<FileRow>, StoreError> {
        self.read_files(ids).await
    }

    async fn session_files(&self, session: &str) -> Result<Vec<FileRow>, StoreError> {
        self.read_session_files(session).await
    }

    async fn doom_files(
        &self,
        live: &HashSet<String>,
        now: Timestamp,
        before: Timestamp,
    ) -> Result<Vec<FileId>, StoreError> {
        files::sweep(self, live, now, before).await
    }

    async fn forget_files(&self, ids: &[FileId]) -> Result<(), StoreError> {
        self.delete_files(ids).await
    }

    async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("select 1").execute(&self.readers).await.map_err(StoreError::Unavailable)?;
        Ok(())
    }

    async fn close(&self) {
        self.readers.close().await;
        // The last writer leaves a file without a WAL beside it.
        self.writer.close().await;
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
