//! What is written beside records: partial rows, users, live tabs, deletions.

use super::SqliteStore;
use crate::id::{ThreadId, UserId};
use crate::protocol::{Timestamp, User};
use crate::store::assemble::SessionRow;
use crate::store::partial::{FORGOTTEN_AFTER_MICROS, partial_rows};
use crate::store::writes;
use crate::store::{LiveSession, Partial, StoreError, incomplete};

impl SqliteStore {
    /// A partial of a thread without a row, or of a settled run, is nobody's and is not written.
    pub(super) async fn write_partials(&self, partials: &[Partial]) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            insert into rejoinder_partials (project_id, thread_id, step_id, execution_id, instance_id, step, updated_at)
                select $1, value ->> 'thread', value ->> 'id', value ->> 'execution', $2, value -> 'step', $3
                from json_each($4)
                where value ->> 'thread' in (select id from threads)
                    and value ->> 'thread' not in (select thread_id from rejoinder_tombstones where project_id = $1)
                    and not exists (select 1 from rejoinder_executions where project_id = $1
                        and thread_id = value ->> 'thread' and execution_id = value ->> 'execution'
                        and settled_at is not null)
                on conflict (project_id, thread_id, step_id) do update set execution_id = excluded.execution_id,
                    instance_id = excluded.instance_id, step = excluded.step, updated_at = excluded.updated_at
            "#,
        )
        .bind(&self.project)
        .bind(&self.instance)
        .bind(self.clock.now().as_micros())
        .bind(writes::json(&partial_rows(partials)))
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn add_reason(&self, threads: &[ThreadId], reason: &str) -> Result<(), StoreError> {
        let mut transaction = self.begin_write().await.map_err(StoreError::Unavailable)?;
        for thread in threads {
            let known: Option<Option<String>> = sqlx::query_scalar(
                r#"
                select c.incomplete_why from threads as t
                left join rejoinder_cursors as c on c.project_id = $1 and c.thread_id = t.id
                where t.id = $2
                "#,
            )
            .bind(&self.project)
            .bind(thread.as_str())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
            let Some(known) = known else { continue };
            sqlx::query(
                r#"
                insert into rejoinder_cursors (project_id, thread_id, epoch, mark, incomplete_at, incomplete_why,
                        created_at, updated_at)
                    values ($1, $2, $3, x'0000000000000000', $4, $5, $4, $4)
                    on conflict (project_id, thread_id) do update set incomplete_why = excluded.incomplete_why,
                        incomplete_at = coalesce(incomplete_at, excluded.incomplete_at),
                        updated_at = excluded.updated_at
                "#,
            )
            .bind(&self.project)
            .bind(thread.as_str())
            .bind(crate::store::epoch())
            .bind(self.clock.now().as_micros())
            .bind(incomplete::with(known.as_deref(), reason))
            .execute(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
        }
        transaction.commit().await.map_err(StoreError::Unavailable)
    }

    pub(super) async fn remove_thread(&self, id: &ThreadId) -> Result<bool, StoreError> {
        let mut transaction = self.begin_write().await.map_err(StoreError::Unavailable)?;
        let tombstones = sqlx::query(
            r#"
            insert into rejoinder_tombstones (project_id, thread_id, deleted_at)
                select $1, $2, $3
                where exists (select 1 from threads where id = $2)
                on conflict (project_id, thread_id) do nothing
            "#,
        )
        .bind(&self.project)
        .bind(id.as_str())
        .bind(self.clock.now().as_micros())
        .execute(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?
        .rows_affected();
        if tombstones == 0 {
            return Ok(false);
        }
        sqlx::query(
            r#"
            update rejoinder_files set kept = 0, loose_since = 0
                where project_id = $1
                    and file_id in (select "chainlitKey" from elements where "threadId" = $2)
                    and not exists (select 1 from elements
                        where "chainlitKey" = rejoinder_files.file_id and "threadId" <> $2);
            delete from feedbacks where "threadId" = $2
                or "forId" in (select id from steps where "threadId" = $2);
            delete from elements where "threadId" = $2;
            delete from steps where "threadId" = $2;
            delete from threads where id = $2;
            delete from rejoinder_records where project_id = $1 and thread_id = $2;
            delete from rejoinder_executions where project_id = $1 and thread_id = $2;
            delete from rejoinder_partials where project_id = $1 and thread_id = $2;
            delete from rejoinder_rejects where project_id = $1 and thread_id = $2;
            delete from rejoinder_cursors where project_id = $1 and thread_id = $2;
            "#,
        )
        .bind(&self.project)
        .bind(id.as_str())
        .execute(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?;
        transaction.commit().await.map_err(StoreError::Unavailable)?;
        Ok(true)
    }

    pub(super) async fn write_user(&self, user: &User) -> Result<(), StoreError> {
        let id = user.id.clone().unwrap_or_else(UserId::random);
        let created_at = user.created_at.unwrap_or_else(|| self.clock.now());
        sqlx::query(
            r#"
            insert into users (id, identifier, metadata, "createdAt") values (?, ?, ?, ?)
                on conflict (identifier) do update set metadata = excluded.metadata
            "#,
        )
        .bind(id.as_str())
        .bind(&user.identifier)
        .bind(crate::store::row::text(&user.metadata))
        .bind(created_at.to_string())
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn write_sessions(&self, rows: &[LiveSession]) -> Result<(), StoreError> {
        let rows: Vec<SessionRow> = rows.iter().map(SessionRow::from).collect();
        sqlx::query(
            r#"
            insert into rejoinder_sessions (project_id, hash, thread_id, owner, greeted, stored, seen_at)
                select $1, value ->> 'hash', value ->> 'thread', value ->> 'owner', value ->> 'greeted',
                    value ->> 'stored', value ->> 'seen_at'
                from json_each($2) where true
                on conflict (project_id, hash) do update set thread_id = excluded.thread_id, owner = excluded.owner,
                    greeted = excluded.greeted, stored = excluded.stored, seen_at = excluded.seen_at
            "#,
        )
        .bind(&self.project)
        .bind(writes::json(&rows))
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn remove_sessions(&self, hashes: &[String]) -> Result<(), StoreError> {
        sqlx::query(
            r#"delete from rejoinder_sessions where project_id = ? and hash in (select value from json_each(?))"#,
        )
        .bind(&self.project)
        .bind(writes::json(&hashes))
        .execute(&self.writer)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn remove_old_sessions(&self, now: Timestamp) -> Result<(), StoreError> {
        sqlx::query(r#"delete from rejoinder_sessions where project_id = ? and seen_at < ?"#)
            .bind(&self.project)
            .bind(now.as_micros() - FORGOTTEN_AFTER_MICROS)
            .execute(&self.writer)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(())
    }
}
