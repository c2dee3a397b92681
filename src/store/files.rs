//! Rows of files, and which of them nobody refers to any more: the same rules for both databases.

use std::collections::HashSet;

use async_trait::async_trait;
use serde::Deserialize;

use super::StoreError;
use super::assemble::one;
use crate::id::{FileId, ThreadId};
use crate::protocol::{StoredFile, Timestamp};

/// A file as the store knows it. Its bytes are elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// What pages and hooks know of it.
    pub file: StoredFile,
    /// The tab that it was kept for: [`crate::id::SessionId::key`].
    pub session: String,
    /// The thread that the tab was on.
    pub thread: ThreadId,
    /// When it came.
    pub created_at: Timestamp,
}

/// A row as both databases give it.
#[derive(Debug, Deserialize)]
struct Row {
    id: FileId,
    session: String,
    thread: ThreadId,
    name: String,
    mime: String,
    size: u64,
    created_at: i64,
}

/// A row that was read.
pub(super) fn file(json: &str) -> Result<FileRow, StoreError> {
    let row: Row = one(json)?;
    Ok(FileRow {
        file: StoredFile { id: row.id, name: row.name, mime: row.mime, size: row.size },
        session: row.session,
        thread: row.thread,
        created_at: Timestamp::from_micros(row.created_at),
    })
}

/// A change of one row that must be there.
pub(super) fn written(rows: u64, id: &FileId) -> Result<(), StoreError> {
    if rows == 1 { Ok(()) } else { Err(StoreError::Corrupt(format!("the row of file {id} is gone"))) }
}

/// What a sweep sees of a file.
#[derive(Debug, Deserialize)]
pub(super) struct FileState {
    id: FileId,
    session: String,
    kept: u8,
    /// Whether a row of a tab or of an element refers to it.
    held: u8,
    loose_since: Option<i64>,
}

/// What a sweep does to a table.
#[async_trait]
pub(super) trait FileTable: Sync {
    /// The next files by id, as JSON objects.
    async fn file_states(&self, after: &str, most: u32) -> Result<Vec<String>, StoreError>;

    /// Writes since when they are loose; `None` when they are not.
    async fn set_loose(&self, ids: &[FileId], since: Option<Timestamp>) -> Result<(), StoreError>;

    /// Takes those out of reach that no row refers to at this moment.
    async fn doom(&self, ids: &[FileId]) -> Result<Vec<FileId>, StoreError>;
}

/// Files that a sweep looks at in one statement.
const AT_A_TIME: u32 = 1000;

/// Looks at every file, a batch at a time so that no statement takes long; writes only what changed.
pub(super) async fn sweep(
    table: &dyn FileTable,
    live: &HashSet<String>,
    now: Timestamp,
    before: Timestamp,
) -> Result<Vec<FileId>, StoreError> {
    let mut doomed = Vec::new();
    let mut after = String::new();
    loop {
        let rows = table.file_states(&after, AT_A_TIME).await?;
        let states: Vec<FileState> = rows.iter().map(|row| one(row)).collect::<Result<_, _>>()?;
        let Some(last) = states.last() else { return Ok(doomed) };
        after = last.id.as_str().to_owned();
        let (mut noted, mut held, mut due) = (Vec::new(), Vec::new(), Vec::new());
        for state in states {
            // One that is not kept is being written, or what a crash left.
            let loose = state.kept == 0 || (state.held == 0 && !live.contains(&state.session));
            match (loose, state.loose_since) {
                (true, None) => noted.push(state.id),
                (true, Some(since)) if since <= before.as_micros() => due.push(state.id),
                (false, Some(_)) => held.push(state.id),
                (true | false, _) => {}
            }
        }
        if !noted.is_empty() {
            table.set_loose(&noted, Some(now)).await?;
        }
        if !held.is_empty() {
            table.set_loose(&held, None).await?;
        }
        if !due.is_empty() {
            doomed.extend(table.doom(&due).await?);
        }
    }
}
