//! What is written beside records: partial rows, users, live tabs, deletions.

use sqlx::AssertSqlSafe;

use super::PostgresStore;
use super::append::lock;
use crate::id::{ThreadId, UserId};
use crate::protocol::{Timestamp, User};
use crate::store::assemble::SessionRow;
use crate::store::partial::{FORGOTTEN_AFTER_MICROS, partial_rows};
use crate::store::row::text;
use crate::store::writes::json;
use crate::store::{LiveSession, Partial, StoreError, incomplete};

impl PostgresStore {
    /// A partial of a thread without a row, or of a settled run, is nobody's and is not written.
    pub(super) async fn write_partials(&self, partials: &[Partial]) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            insert into rejoinder_partials (project_id, thread_id, step_id, execution_id, instance_id, step, updated_at)
                select $1, r.thread, r.id, r.execution, $2, r.step, to_timestamp($3::bigint / 1000000.0)
                from jsonb_to_recordset($4::jsonb) as r (thread text, id text, execution text, step jsonb)
                where exists (select 1 from rejoinder_cursors where project_id = $1 and thread_id = r.thread)
                    and not exists (select 1 from rejoinder_tombstones
                        where project_id = $1 and thread_id = r.thread)
                    and not exists (select 1 from rejoinder_executions where project_id = $1
                        and thread_id = r.thread and execution_id = r.execution and settled_at is not null)
                on conflict (project_id, thread_id, step_id) do update set execution_id = excluded.execution_id,
                    instance_id = excluded.instance_id, step = excluded.step, updated_at = excluded.updated_at
            "#,
        )
        .bind(&self.project)
        .bind(&self.instance)
        .bind(self.clock.now().as_micros())
        .bind(json(&partial_rows(partials)))
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    /// The cursor is locked first, as by an append: what is being written is waited for and goes as well.
    pub(super) async fn add_reason(&self, threads: &[ThreadId], reason: &str) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin().await.map_err(StoreError::Unavailable)?;
        let wanted: Vec<&str> = threads.iter().map(ThreadId::as_str).collect();
        let mut there: Vec<String> = sqlx::query_scalar("select id::text from threads where id::text = any ($1)")
            .bind(wanted)
            .fetch_all(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
        // In one order, or two that lock the same cursors wait for each other.
        there.sort_unstable();
        let now = self.clock.now().as_micros();
        lock(&mut transaction, &self.project, &there, now).await.map_err(StoreError::Unavailable)?;
        for thread in there {
            let known: Option<String> = sqlx::query_scalar(
                "select incomplete_why from rejoinder_cursors where project_id = $1 and thread_id = $2",
            )
            .bind(&self.project)
            .bind(&thread)
            .fetch_one(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
            sqlx::query(
                r#"
                update rejoinder_cursors set incomplete_why = $3,
                        incomplete_at = coalesce(incomplete_at, to_timestamp($4::bigint / 1000000.0))
                    where project_id = $1 and thread_id = $2
                "#,
            )
            .bind(&self.project)
            .bind(&thread)
            .bind(incomplete::with(known.as_deref(), reason))
            .bind(now)
            .execute(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
        }
        transaction.commit().await.map_err(StoreError::Unavailable)
    }

    pub(super) async fn remove_thread(&self, id: &ThreadId) -> Result<bool, StoreError> {
        if !self.tables.columns.takes("threads", "id", id.as_str()) {
            return Ok(false);
        }
        let now = self.clock.now().as_micros();
        let mut transaction = self.pool.begin().await.map_err(StoreError::Unavailable)?;
        lock(&mut transaction, &self.project, &[id.to_string()], now).await.map_err(StoreError::Unavailable)?;
        let of = |table: &str| format!(r#""threadId" = $1::{}"#, self.tables.columns.cast(table, "threadId"));
        let row = format!("id = $1::{}", self.tables.columns.cast("threads", "id"));
        let removed = [
            format!(
                r#"delete from feedbacks where {} or "forId"::text in (select id::text from steps where {})"#,
                of("feedbacks"),
                of("steps")
            ),
            format!("delete from elements where {}", of("elements")),
            format!("delete from steps where {}", of("steps")),
            format!("delete from threads where {row}"),
        ];
        // Its files are found by nobody from here on; the next sweep removes their bytes.
        let files = format!(
            r#"
            update rejoinder_files as f set kept = false, loose_since = to_timestamp(0)
                where project_id = $2 and file_id in (select "chainlitKey" from elements where {of})
                    and not exists (select 1 from elements where "chainlitKey" = f.file_id and not ({of}))
            "#,
            of = of("elements")
        );
        sqlx::query(AssertSqlSafe(files))
            .bind(id.as_str())
            .bind(&self.project)
            .execute(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
        let mut there = false;
        for sql in removed {
            let done = sqlx::query(AssertSqlSafe(sql))
                .bind(id.as_str())
                .execute(&mut *transaction)
                .await
                .map_err(StoreError::Unavailable)?;
            // The last one is the thread itself.
            there = done.rows_affected() > 0;
        }
        if !there {
            return Ok(false);
        }
        for sql in [
            "delete from rejoinder_records where project_id = $1 and thread_id = $2",
            "delete from rejoinder_executions where project_id = $1 and thread_id = $2",
            "delete from rejoinder_partials where project_id = $1 and thread_id = $2",
            "delete from rejoinder_rejects where project_id = $1 and thread_id = $2",
            "delete from rejoinder_cursors where project_id = $1 and thread_id = $2",
        ] {
            sqlx::query(sql)
                .bind(&self.project)
                .bind(id.as_str())
                .execute(&mut *transaction)
                .await
                .map_err(StoreError::Unavailable)?;
        }
        sqlx::query(
            r#"
            insert into rejoinder_tombstones (project_id, thread_id, deleted_at)
                values ($1, $2, to_timestamp($3::bigint / 1000000.0))
                on conflict (project_id, thread_id) do nothing
            "#,
        )
        .bind(&self.project)
        .bind(id.as_str())
        .bind(now)
        .execute(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?;
        transaction.commit().await.map_err(StoreError::Unavailable)?;
        Ok(true)
    }

    pub(super) async fn write_user(&self, user: &User) -> Result<(), StoreError> {
        let id = user.id.clone().filter(|id| self.tables.columns.takes("users", "id", id.as_str()));
        let created_at = user.created_at.unwrap_or_else(|| self.clock.now());
        let sql = format!(
            r#"
            insert into users (id, identifier, metadata, "createdAt") values ($1::{id}, $2, $3::{metadata}, $4)
                on conflict (identifier) do update set metadata = excluded.metadata
            "#,
            id = self.tables.columns.cast("users", "id"),
            metadata = self.tables.columns.cast("users", "metadata")
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(id.unwrap_or_else(UserId::random).as_str())
            .bind(&user.identifier)
            .bind(text(&user.metadata))
            .bind(created_at.to_string())
            .execute(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn write_sessions(&self, rows: &[LiveSession]) -> Result<(), StoreError> {
        let rows: Vec<SessionRow> = rows.iter().map(SessionRow::from).collect();
        sqlx::query(
            r#"
            insert into rejoinder_sessions (project_id, hash, thread_id, owner, greeted, stored, seen_at)
                select $1, r.hash, r.thread, r.owner, r.greeted <> 0, r.stored <> 0,
                    to_timestamp(r.seen_at / 1000000.0)
                from jsonb_to_recordset($2::jsonb) as r (hash text, thread text, owner text, greeted int,
                    stored int, seen_at bigint)
                order by r.hash
                on conflict (project_id, hash) do update set thread_id = excluded.thread_id, owner = excluded.owner,
                    greeted = excluded.greeted, stored = excluded.stored, seen_at = excluded.seen_at
            "#,
        )
        .bind(&self.project)
        .bind(json(&rows))
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn remove_sessions(&self, hashes: &[String]) -> Result<(), StoreError> {
        sqlx::query(r#"delete from rejoinder_sessions where project_id = $1 and hash = any ($2::text[])"#)
            .bind(&self.project)
            .bind(hashes)
            .execute(&self.pool)
            .await
            .map_err(StoreError::Unavailable)?;
        Ok(())
    }

    pub(super) async fn remove_old_sessions(&self, now: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            r#"
            delete from rejoinder_sessions
                where project_id = $1 and seen_at < to_timestamp($2::bigint / 1000000.0)
            "#,
        )
        .bind(&self.project)
        .bind(now.as_micros() - FORGOTTEN_AFTER_MICROS)
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(())
    }
}
