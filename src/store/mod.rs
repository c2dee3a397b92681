//! The store: two backends behind one trait, and one suite that both pass.
//!
//! A backend's `append` is one transaction with a fixed number of set-based statements: cursors locked first, then
//! what is there is read, a plan is made in memory, then everything is written. Only SQL differs between backends.

mod append;
mod assemble;
mod bad;
mod files;
mod follow;
mod history;
pub mod incomplete;
mod known;
mod lost;
mod mark;
mod migrations;
mod number;
mod options;
mod partial;
mod place;
mod plan;
mod postgres;
mod prepare;
#[doc(hidden)]
pub mod probe;
mod row;
#[cfg(feature = "fixtures")]
pub mod scratch;
mod search;
mod sqlite;
mod tables;
mod verify;
mod writes;

pub use files::FileRow;
pub use follow::{FOLLOW_ROWS, FollowPage};
pub use history::{
    Execution, LARGEST_PAGE, MarkAt, OpenInteraction, PAGE_BYTES, PageQuery, PlacedRecord, RecordPage, ThreadSnapshot,
};
pub use lost::Settled;
pub use mark::Mark;
pub use options::{OpenOptions, open};
pub use verify::{Finding, verify};

use std::collections::{BTreeSet, HashMap, HashSet};

use async_trait::async_trait;

use crate::id::{ElementId, ExecutionId, FeedbackId, FileId, RecordId, StepId, ThreadId};
use crate::protocol::{Element, Feedback, Step, Thread, ThreadPage, Timestamp, User};
use crate::record::{BadRecord, Event, Fact, Record, RecordView, project};

/// A run that somebody works on: its thread, and its id.
pub type Working = (ThreadId, ExecutionId);

/// Records of one thread that are stored together or not at all.
#[derive(Clone, Debug)]
pub struct Append {
    /// The thread.
    pub thread: ThreadId,
    /// Who writes: the identifier that the thread's row must have as its owner; none for anonymous threads.
    pub owner: Option<String>,
    /// In order. The order is kept.
    pub records: Vec<Record>,
    /// The place of a record without which those after it mean nothing: when it is not stored by this append, they are
    /// not stored either. A message that comes again, or under an id that is in use elsewhere, starts no run (promise 10).
    pub hinge: Option<usize>,
}

/// What became of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Committed under this sequence; none where sequences are switched off.
    Appended(Option<u64>),
    /// It was there before, with the same content, under this sequence.
    Duplicate(Option<u64>),
    /// Its id is taken by a record with other content; nothing was stored for it.
    Conflict,
    /// Output of a run that somebody else had ended: kept as evidence, shown nowhere.
    Quarantined,
    /// The run has its end already.
    AlreadySettled,
    /// The step's id belongs to another thread.
    ForeignId,
    /// The database would not take it; kept aside, the thread is incomplete from now on.
    Rejected(&'static str),
    /// Not stored because the append's hinge was not.
    Skipped,
}

/// Why nothing of an [`Append`] was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The thread has another owner.
    #[error("thread is not yours")]
    NotYours,
    /// The thread was deleted.
    #[error("thread was deleted")]
    Deleted,
    /// There is no such thread, and the append does not start one.
    #[error("thread does not exist")]
    NoThread,
}

/// What became of one [`Append`]: a result per record in input order, or why none was stored.
pub type Appended = Result<Vec<Stored>, Refused>;

/// A step that is streaming, as it stands: the unnumbered row that survives a crash.
#[derive(Clone, Debug)]
pub struct Partial {
    /// The thread.
    pub thread: ThreadId,
    /// The run that streams it.
    pub execution: Option<ExecutionId>,
    /// The step with its text so far.
    pub step: Step,
}

/// Where a thread's numbering stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// One life of the numbering; another epoch means that old positions are void.
    pub epoch: String,
    /// The last sequence, 0 before the first record.
    pub latest: u64,
    /// The chained mark at `latest` (records.md, decision 5): hex.
    pub mark: String,
}

/// What one needs to know before one may read or write a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadHead {
    /// Its owner.
    pub owner: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Values of the user session, the profile, whether it is shared.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Why its history is not whole; empty when it is.
    pub incomplete: BTreeSet<String>,
}

/// A thread as stored: what pages are shown, and what the records say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredThread {
    /// Steps parents first, orphans re-hung, elements with urls.
    pub thread: Thread,
    /// None before the first record.
    pub cursor: Option<Cursor>,
    /// Why its history is not whole; empty when it is.
    pub incomplete: BTreeSet<String>,
}

/// Which threads a page of the list wants.
#[derive(Clone, Debug, Default)]
pub struct ThreadQuery {
    /// The owner's identifier.
    pub owner: String,
    /// At most so many.
    pub first: u32,
    /// Where the former page ended, or after which thread; an unknown one means the first page.
    pub cursor: Option<String>,
    /// Only threads with this text in a name or a step's output, whatever its case.
    pub search: Option<String>,
    /// Only threads with such a vote.
    pub feedback: Option<u8>,
}

/// What survives of a live tab when the process dies (design 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSession {
    /// [`crate::id::SessionId::hash`], long form: the key.
    pub hash: String,
    /// The thread it is on.
    pub thread: ThreadId,
    /// Who it is.
    pub owner: Option<String>,
    /// Whether `on_chat_start` ran for it.
    pub greeted: bool,
    /// Whether its thread is stored, so that it can be resumed.
    pub stored: bool,
    /// When it was last written.
    pub seen_at: Timestamp,
}

/// A record as it is stored, for readers.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// Its id.
    pub id: RecordId,
    /// Its place; none for old and for quarantined rows.
    pub sequence: Option<u64>,
    /// The run it is output of.
    pub execution: Option<ExecutionId>,
    /// The column `record_type`.
    pub record_type: String,
    /// The column `record_source`.
    pub source: String,
    /// The id it is about.
    pub entity: Option<String>,
    /// What it says: JSON, as the database spells it. [`StoredRecord::fact`] reads it.
    pub attributes: String,
    /// When it was made.
    pub produced_at: Timestamp,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Its chained mark, hex.
    pub mark: Option<String>,
    /// When it was put aside as evidence.
    pub quarantined_at: Option<Timestamp>,
    /// When its content was removed.
    pub erased_at: Option<Timestamp>,
    /// The run that it was made in, which had ended by itself before: it belongs to the thread. Known to
    /// [`Store::records`] only.
    pub origin: Option<ExecutionId>,
    /// The stored content hash, hex. Known to [`Store::records`] only.
    pub content_hash: Option<String>,
}

impl StoredRecord {
    /// What it says. A record that cannot be read is skipped by every projection.
    pub fn fact(&self) -> Result<Fact, BadRecord> {
        Fact::from_json(&self.record_type, &self.attributes)
    }

    /// What it says as a value; what is no JSON is a text (I-15).
    #[must_use]
    pub fn attributes(&self) -> serde_json::Value {
        serde_json::from_str(&self.attributes).unwrap_or_else(|_| self.attributes.clone().into())
    }

    /// Its public form, see [`crate::record::project`]. `watermark` is the thread's cursor as the query read it that read
    /// this record.
    #[must_use]
    pub fn event(&self, thread: &ThreadId, watermark: u64) -> Option<Event> {
        let view = RecordView {
            id: &self.id,
            sequence: self.sequence,
            execution: self.execution.as_ref(),
            entity: self.entity.as_deref(),
            record_type: &self.record_type,
            attributes: &self.attributes,
            created_at: self.created_at,
            erased_at: self.erased_at,
            quarantined: self.quarantined_at.is_some(),
        };
        project(thread, &view, watermark)
    }
}

/// A name for one life of a thread's numbering: sixteen hex digits.
fn epoch() -> String {
    format!("{:016x}", rand::random::<u64>())
}

/// What goes wrong below a store. The text is for the log; a person is told one plain sentence.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database is away, busy or full: nothing is decided, trying again is right. The text has the cause, since logs
    /// are one line each.
    #[error("store not available: {0}")]
    Unavailable(sqlx::Error),
    /// The database answered something that cannot be right.
    #[error("store answered wrongly: {0}")]
    Corrupt(String),
    /// The file or the schema is not one that this version can open. The text is for an operator.
    #[error("{0}")]
    Refused(String),
}

/// A database of threads. Every method is one transaction; a dropped future leaves a clean connection.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Stores a batch in one transaction and tells per append, in input order, what became of it. Several appends of
    /// one thread in a batch keep their order. When this returns `Ok`, everything that it reports survives `kill -9`.
    async fn append(&self, batch: &[Append]) -> Result<Vec<Appended>, StoreError>;

    /// Writes streaming steps as they stand. A row goes when its step's final record is appended.
    async fn save_partials(&self, partials: &[Partial]) -> Result<(), StoreError>;

    /// A whole thread; `None` when it is unknown or deleted.
    async fn thread(&self, id: &ThreadId) -> Result<Option<StoredThread>, StoreError>;

    /// The owner of a thread and its flags, cheaply.
    async fn thread_head(&self, id: &ThreadId) -> Result<Option<ThreadHead>, StoreError>;

    /// A page of somebody's threads, newest activity first, without steps and elements. Over all pages that follow each
    /// other by their cursors each thread comes once, whatever happens in the threads meanwhile.
    async fn threads(&self, query: &ThreadQuery) -> Result<ThreadPage, StoreError>;

    /// The messages that somebody starred, over all of their threads, newest first, at most `limit`.
    async fn favorites(&self, owner: &str, limit: u32) -> Result<Vec<Step>, StoreError>;

    /// A step of one of somebody's threads, which it names; owner `None` is for threads without one. `None` when
    /// there is no such step, or it is in a thread of somebody else.
    async fn step(&self, owner: Option<&str>, id: &StepId) -> Result<Option<Step>, StoreError>;

    /// A vote in one of somebody's threads, which it names. `None` as above.
    async fn vote(&self, owner: Option<&str>, id: &FeedbackId) -> Result<Option<Feedback>, StoreError>;

    /// Deletes a thread with everything that hangs on it and leaves a tombstone. False when there was none.
    async fn delete_thread(&self, id: &ThreadId) -> Result<bool, StoreError>;

    /// A user by identifier.
    async fn user(&self, identifier: &str) -> Result<Option<User>, StoreError>;

    /// Inserts a user or updates the metadata, and gives back the row.
    async fn save_user(&self, user: &User) -> Result<User, StoreError>;

    /// Writes rows of live tabs.
    async fn save_sessions(&self, rows: &[LiveSession]) -> Result<(), StoreError>;

    /// Removes rows of tabs that ended.
    async fn forget_sessions(&self, hashes: &[String]) -> Result<(), StoreError>;

    /// The row of a tab that a former process knew.
    async fn session(&self, hash: &str) -> Result<Option<LiveSession>, StoreError>;

    /// The keys of all rows of tabs, so that a page that no former process knew costs no look-up.
    async fn session_hashes(&self) -> Result<Vec<String>, StoreError>;

    /// Before anybody connects: settles the open runs of processes that are known to be dead as lost. Partial texts
    /// become interrupted messages, each thread is marked incomplete (`execution_lost`). Where the database belongs to
    /// one process, all others are dead; else only `former` is, the one before this in the same place.
    async fn settle_left(&self, former: Option<&str>, now: Timestamp) -> Result<Vec<Settled>, StoreError>;

    /// Says that this process works on these runs: each has its lease from now on. Gives those of them that somebody
    /// else has settled as lost meanwhile.
    async fn renew(&self, runs: &[Working], now: Timestamp) -> Result<Vec<Working>, StoreError>;

    /// Settles runs whose lease is over, as [`Store::settle_left`] does, at most so many. Two servers that do it at once
    /// settle each run once.
    async fn settle_lapsed(&self, most: u32, now: Timestamp) -> Result<Vec<Settled>, StoreError>;

    /// Numbered records of a thread with `after < sequence <= through`, in order, at most `limit`.
    async fn records(
        &self,
        thread: &ThreadId,
        after: u64,
        through: Option<u64>,
        limit: u32,
    ) -> Result<Vec<StoredRecord>, StoreError>;

    /// Where a thread's numbering stands; `None` before its first record.
    async fn cursor(&self, thread: &ThreadId) -> Result<Option<Cursor>, StoreError>;

    /// The next records of a thread for a follower that has read it up to `after`: up to `through`, or to the end.
    async fn follow(&self, thread: &ThreadId, after: u64, through: Option<u64>) -> Result<FollowPage, StoreError>;

    /// The last sequence of each of these threads that has a numbering.
    async fn latest(&self, threads: &[ThreadId]) -> Result<HashMap<ThreadId, u64>, StoreError>;

    /// Adds a reason why the history of threads is not whole ([`incomplete`]). Threads that are not there have none.
    async fn mark_incomplete(&self, threads: &[ThreadId], reason: &str) -> Result<(), StoreError>;

    /// A thread at one moment, as the records API tells it; `None` when it is unknown or deleted.
    async fn snapshot(&self, thread: &ThreadId) -> Result<Option<ThreadSnapshot>, StoreError>;

    /// A page of a thread's history, at one moment; `None` when the thread is unknown or deleted.
    async fn record_page(&self, thread: &ThreadId, query: &PageQuery) -> Result<Option<RecordPage>, StoreError>;

    /// Where a thread's numbering stands and what its mark is at a sequence, at one moment, to check a position by.
    async fn mark_at(&self, thread: &ThreadId, sequence: u64) -> Result<MarkAt, StoreError>;

    /// Gives numbers to what a thread has without: rows of before its first record, records of while numbering was
    /// switched off. Old rows come first, every number changes, and so does the epoch. Gives how many got one.
    async fn number(&self, thread: &ThreadId) -> Result<u64, StoreError>;

    /// Threads, in the order of their ids, after one of them.
    async fn stored_threads(&self, after: Option<&ThreadId>, limit: u32) -> Result<Vec<ThreadId>, StoreError>;

    /// Threads that have a cursor, in the order of their ids, after one of them.
    async fn recorded_threads(&self, after: Option<&ThreadId>, limit: u32) -> Result<Vec<ThreadId>, StoreError>;

    /// How many threads have a cursor.
    async fn count_recorded_threads(&self) -> Result<u64, StoreError>;

    /// An element of a thread; `None` when there is none, or the thread was deleted.
    async fn element(&self, thread: &ThreadId, element: &ElementId) -> Result<Option<Element>, StoreError>;

    /// Writes the row of a file whose bytes are about to be written. Nobody finds it yet.
    async fn add_file(&self, row: &FileRow) -> Result<(), StoreError>;

    /// The bytes of a file are there: from now on it is found.
    async fn keep_file(&self, id: &FileId) -> Result<(), StoreError>;

    /// Those of these files that are kept.
    async fn files(&self, ids: &[FileId]) -> Result<Vec<FileRow>, StoreError>;

    /// A file that is kept.
    async fn file(&self, id: &FileId) -> Result<Option<FileRow>, StoreError> {
        Ok(self.files(std::slice::from_ref(id)).await?.pop())
    }

    /// The files that are kept for a tab ([`crate::id::SessionId::key`]), oldest first.
    async fn session_files(&self, session: &str) -> Result<Vec<FileRow>, StoreError>;

    /// Notes which files neither an element nor a tab refers to: one of `live`, by its key, or one that has a row. Those
    /// that were noted until `before` and are so still are found by nobody from now on, and are given back: their bytes
    /// are to be removed, then their rows. So are those whose writing a crash cut off.
    async fn doom_files(
        &self,
        live: &HashSet<String>,
        now: Timestamp,
        before: Timestamp,
    ) -> Result<Vec<FileId>, StoreError>;

    /// Removes the rows of files that are not kept.
    async fn forget_files(&self, ids: &[FileId]) -> Result<(), StoreError>;

    /// Whether the database answers.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Gives the connections back. Nothing may be called afterwards.
    async fn close(&self);
}
