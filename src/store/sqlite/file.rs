//! Rows of files.

use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use super::SqliteStore;
use crate::id::{ElementId, FileId, ThreadId};
use crate::protocol::{Element, Timestamp};
use crate::store::assemble;
use crate::store::files::{self, FileRow, FileTable};
use crate::store::{StoreError, writes};

/// A row as [`files::file`] reads it.
const FILE: &str = "json_object('id', file_id, 'session', session, 'thread', thread_id, 'name', name, 'mime', mime,
    'size', size, 'created_at', created_at)";

impl SqliteStore {
    pub(super) async fn insert_file(&self, row: &FileRow) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            insert into rejoinder_files (project_id, file_id, session, thread_id, name, mime, size, created_at)
                values (?, ?, ?, ?, ?, ?, ?, ?)
            "#,
        )
        .bind(&self.project)
        .bind(row.file.id.as_str())
        .bind(&row.session)
        .bind(row.thread.as_str())
        .bind(&row.file.name)
        .bind(&row.file.mime)
        .bind(i64::try_from(row.file.size).unwrap_or(i64::MAX))
        .bind(row.created_at.as_micros())
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn mark_file_kept(&self, id: &FileId) -> Result<(), StoreError> {
        let done = sqlx::query("update rejoinder_files set kept = 1 where project_id = ? and file_id = ?")
            .bind(&self.project)
            .bind(id.as_str())
            .execute(&self.writer)
            .await
            .map_err(StoreError::Unavailable)?;
        files::written(done.rows_affected(), id)
    }

    pub(super) async fn read_files(&self, ids: &[FileId]) -> Result<Vec<FileRow>, StoreError> {
        let sql = format!(
            "select {FILE} from rejoinder_files
                where project_id = ? and file_id in (select value from json_each(?)) and kept"
        );
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(&self.project)
            .bind(writes::json(&ids))
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        rows.iter().map(|row| files::file(row)).collect()
    }

    pub(super) async fn read_session_files(&self, session: &str) -> Result<Vec<FileRow>, StoreError> {
        let sql = format!(
            "select {FILE} from rejoinder_files where project_id = ? and session = ? and kept
                order by created_at, file_id"
        );
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(&self.project)
            .bind(session)
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::Unavailable)?;
        rows.iter().map(|row| files::file(row)).collect()
    }

    pub(super) async fn delete_files(&self, ids: &[FileId]) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            delete from rejoinder_files
                where project_id = ? and kept = 0 and file_id in (select value from json_each(?))
            "#,
        )
        .bind(&self.project)
        .bind(writes::json(&ids))
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn read_element(
        &self,
        thread: &ThreadId,
        element: &ElementId,
    ) -> Result<Option<Element>, StoreError> {
        let row: Option<String> = sqlx::query_scalar(
            r#"
            select json_object('id', id, 'threadId', "threadId", 'type', cast(type as text),
                'url', cast(url as text), 'chainlitKey', cast("chainlitKey" as text), 'name', cast(name as text),
                'display', cast(display as text), 'objectKey', cast("objectKey" as text),
                'size', cast(size as text), 'page', page, 'language', cast(language as text), 'forId', "forId",
                'mime', cast(mime as text), 'props', cast(props as text), 'autoPlay', "autoPlay",
                'playerConfig', cast("playerConfig" as text))
            from elements where id = $1 and "threadId" = $2
                and not exists (select 1 from rejoinder_tombstones where project_id = $3 and thread_id = $2)
            "#,
        )
        .bind(element.as_str())
        .bind(thread.as_str())
        .bind(&self.project)
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::Unavailable)?;
        row.as_deref().map(|row| assemble::element(thread, row)).transpose()
    }
}

#[async_trait]
impl FileTable for SqliteStore {
    async fn file_states(&self, after: &str, most: u32) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar(
            r#"
            select json_object('id', file_id, 'session', session, 'kept', kept, 'loose_since', loose_since,
                'held', exists (select 1 from rejoinder_sessions where project_id = $1 and hash = f.session)
                    or exists (select 1 from elements where "chainlitKey" = f.file_id))
            from rejoinder_files as f where project_id = $1 and file_id > $2 order by file_id limit $3
            "#,
        )
        .bind(&self.project)
        .bind(after)
        .bind(i64::from(most))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::Unavailable)
    }

    async fn set_loose(&self, ids: &[FileId], since: Option<Timestamp>) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            update rejoinder_files set loose_since = ?
                where project_id = ? and file_id in (select value from json_each(?))
            "#,
        )
        .bind(since.map(Timestamp::as_micros))
        .bind(&self.project)
        .bind(writes::json(&ids))
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    async fn doom(&self, ids: &[FileId]) -> Result<Vec<FileId>, StoreError> {
        let doomed: Vec<String> = sqlx::query_scalar(
            r#"
            update rejoinder_files as f set kept = 0
                where project_id = $1 and file_id in (select value from json_each($2))
                    and (kept = 0 or not (
                        exists (select 1 from rejoinder_sessions where project_id = $1 and hash = f.session)
                        or exists (select 1 from elements where "chainlitKey" = f.file_id)))
                returning file_id
            "#,
        )
        .bind(&self.project)
        .bind(writes::json(&ids))
        .fetch_all(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(doomed.into_iter().map(FileId::from).collect())
    }
}
