//! Rows of files.

use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use super::PostgresStore;
use crate::id::{ElementId, FileId, ThreadId};
use crate::protocol::{Element, Timestamp};
use crate::store::StoreError;
use crate::store::assemble;
use crate::store::files::{self, FileRow, FileTable};

/// A row as an object.
const FILE: &str = r#"json_build_object('id', file_id, 'session', session, 'thread', thread_id, 'name', name,
    'mime', mime, 'size', size, 'created_at', (extract(epoch from created_at) * 1000000)::bigint)::text"#;

fn texts(ids: &[FileId]) -> Vec<&str> {
    ids.iter().map(FileId::as_str).collect()
}

impl PostgresStore {
    pub(super) async fn insert_file(&self, row: &FileRow) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            insert into rejoinder_files (project_id, file_id, session, thread_id, name, mime, size, created_at)
                values ($1, $2, $3, $4, $5, $6, $7, to_timestamp($8::bigint / 1000000.0))
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
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn mark_file_kept(&self, id: &FileId) -> Result<(), StoreError> {
        let done = sqlx::query("update rejoinder_files set kept = true where project_id = $1 and file_id = $2")
            .bind(&self.project)
            .bind(id.as_str())
            .execute(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        files::written(done.rows_affected(), id)
    }

    pub(super) async fn read_files(&self, ids: &[FileId]) -> Result<Vec<FileRow>, StoreError> {
        let sql = format!("select {FILE} from rejoinder_files where project_id = $1 and file_id = any($2) and kept");
        let ids: Vec<&str> = ids.iter().map(FileId::as_str).collect();
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(&self.project)
            .bind(ids)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        rows.iter().map(|row| files::file(row)).collect()
    }

    pub(super) async fn read_session_files(&self, session: &str) -> Result<Vec<FileRow>, StoreError> {
        let sql = format!(
            r#"
            select {FILE} from rejoinder_files where project_id = $1 and session = $2 and kept
            order by created_at, file_id
            "#
        );
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(&self.project)
            .bind(session)
            .fetch_all(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        rows.iter().map(|row| files::file(row)).collect()
    }

    pub(super) async fn delete_files(&self, ids: &[FileId]) -> Result<(), StoreError> {
        sqlx::query("delete from rejoinder_files where project_id = $1 and not kept and file_id = any ($2::text[])")
            .bind(&self.project)
            .bind(texts(ids))
            .execute(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn read_element(
        &self,
        thread: &ThreadId,
        element: &ElementId,
    ) -> Result<Option<Element>, StoreError> {
        let columns = &self.tables.columns;
        let known =
            columns.takes("elements", "id", element.as_str()) && columns.takes("elements", "threadId", thread.as_str());
        if !known {
            return Ok(None);
        }
        let sql = format!(
            r#"
            select row_to_json(e)::text from (
                select id, "threadId", type, url, "chainlitKey", name, display, "objectKey", size, page, language,
                    "forId", mime, props, "autoPlay", "playerConfig"
                from elements where id = $1::{} and "threadId" = $2::{}
                    and not exists (select 1 from rejoinder_tombstones where project_id = $3 and thread_id = $2)) as e
            "#,
            columns.cast("elements", "id"),
            columns.cast("elements", "threadId"),
        );
        let row: Option<String> = sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(element.as_str())
            .bind(thread.as_str())
            .bind(&self.project)
            .fetch_optional(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        row.as_deref().map(|row| assemble::element(thread, row)).transpose()
    }
}

#[async_trait]
impl FileTable for PostgresStore {
    async fn file_states(&self, after: &str, most: u32) -> Result<Vec<String>, StoreError> {
        sqlx::query_scalar(
            r#"
            select json_build_object('id', file_id, 'session', session, 'kept', kept::int,
                'loose_since', (extract(epoch from loose_since) * 1000000)::bigint,
                'held', (exists (select 1 from rejoinder_sessions where project_id = $1 and hash = f.session)
                    or exists (select 1 from elements where "chainlitKey" = f.file_id))::int)::text
            from rejoinder_files as f where project_id = $1 and file_id > $2 order by file_id limit $3
            "#,
        )
        .bind(&self.project)
        .bind(after)
        .bind(i64::from(most))
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::Unavailable)
    }

    async fn set_loose(&self, ids: &[FileId], since: Option<Timestamp>) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            update rejoinder_files set loose_since = to_timestamp($1::bigint / 1000000.0)
                where project_id = $2 and file_id = any ($3::text[])
            "#,
        )
        .bind(since.map(Timestamp::as_micros))
        .bind(&self.project)
        .bind(texts(ids))
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    async fn doom(&self, ids: &[FileId]) -> Result<Vec<FileId>, StoreError> {
        let doomed: Vec<String> = sqlx::query_scalar(
            r#"
            update rejoinder_files as f set kept = false
                where project_id = $1 and file_id = any ($2::text[])
                    and (not kept or not (
                        exists (select 1 from rejoinder_sessions where project_id = $1 and hash = f.session)
                        or exists (select 1 from elements where "chainlitKey" = f.file_id)))
                returning file_id
            "#,
        )
        .bind(&self.project)
        .bind(texts(ids))
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(doomed.into_iter().map(FileId::from).collect())
    }
}
