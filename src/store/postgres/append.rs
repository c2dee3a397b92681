//! A write transaction on PostgreSQL: the cursor rows are the locks, everything else is read after they are held.

use async_trait::async_trait;
use serde::Serialize;
use sqlx::{AssertSqlSafe, Postgres, Row, Transaction};

use super::PostgresStore;
use super::sql::{LOCK, Sql};
use crate::id::ThreadId;
use crate::store::StoreError;
use crate::store::append::{Failure, Work, Works};
use crate::store::known::{Answer, Known, Lookup};
use crate::store::lost::{Dead, Left, micros};
use crate::store::probe::Point;
use crate::store::writes::{StepKey, Writes, json};

#[async_trait]
impl Works for PostgresStore {
    fn numbered(&self) -> bool {
        self.numbered
    }

    async fn begin(&self) -> Result<Box<dyn Work>, Failure> {
        Ok(Box::new(PostgresWork {
            transaction: self.pool.begin().await?,
            tables: self.tables.clone(),
            project: self.project.clone(),
            instance: self.instance.clone(),
            now: self.clock.now().as_micros(),
            lease: micros(self.lease),
            marked: false,
        }))
    }

    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        self.probes.reach(point).await
    }
}

struct PostgresWork {
    transaction: Transaction<'static, Postgres>,
    tables: std::sync::Arc<super::Tables>,
    project: String,
    instance: String,
    now: i64,
    lease: i64,
    marked: bool,
}

/// Locks the cursors of threads in the order given; rows of JSON for an [`Answer`].
pub(super) async fn lock(
    transaction: &mut Transaction<'static, Postgres>,
    project: &str,
    threads: &[String],
    now: i64,
) -> Result<Vec<String>, sqlx::Error> {
    let epochs: Vec<String> = threads.iter().map(|_| crate::store::epoch()).collect();
    sqlx::query_scalar(LOCK).bind(project).bind(threads).bind(epochs).bind(now).fetch_all(&mut **transaction).await
}

impl PostgresWork {
    async fn run(&mut self, sql: &'static str) -> Result<(), Failure> {
        sqlx::query(sql).execute(&mut *self.transaction).await?;
        Ok(())
    }

    /// A statement over rows; gives how many it changed.
    async fn rows(&mut self, sql: &Sql, rows: &[impl Serialize]) -> Result<u64, Failure> {
        if rows.is_empty() {
            return Ok(0);
        }
        let done = sqlx::query(AssertSqlSafe(sql.clone())).bind(json(&rows)).execute(&mut *self.transaction).await?;
        Ok(done.rows_affected())
    }

    /// A statement over rows of which each must find its place. Fewer means that somebody else was there first.
    async fn all_rows(&mut self, sql: &Sql, rows: &[impl Serialize]) -> Result<(), Failure> {
        let changed = self.rows(sql, rows).await?;
        if usize::try_from(changed) == Ok(rows.len()) { Ok(()) } else { Err(Failure::Raced) }
    }

    /// A statement over rows of our own tables.
    async fn own_rows(&mut self, sql: &Sql, rows: &[impl Serialize], instance: bool) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(&self.project).bind(self.now).bind(json(&rows));
        let lease_until = self.now.saturating_add(self.lease);
        let query = if instance { query.bind(&self.instance).bind(lease_until) } else { query };
        query.execute(&mut *self.transaction).await?;
        Ok(())
    }

    /// A statement over ids of one column, and over the threads they are of where it asks for them.
    async fn ids(&mut self, sql: &Sql, ids: Vec<String>, threads: Option<Vec<String>>) -> Result<(), Failure> {
        if ids.is_empty() {
            return Ok(());
        }
        let query = sqlx::query(AssertSqlSafe(sql.clone())).bind(ids);
        let query = match threads {
            Some(threads) => query.bind(threads),
            None => query,
        };
        query.execute(&mut *self.transaction).await?;
        Ok(())
    }

    /// Keys of partial rows.
    async fn keys(&mut self, sql: &Sql, keys: &[StepKey]) -> Result<(), Failure> {
        if keys.is_empty() {
            return Ok(());
        }
        sqlx::query(AssertSqlSafe(sql.clone()))
            .bind(&self.project)
            .bind(json(&keys))
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    async fn delete_steps(&mut self, gone: &[StepKey]) -> Result<(), Failure> {
        let tables = self.tables.clone();
        let columns = &tables.columns;
        let ids = |table: &str, column: &str| columns.ids(table, column, gone.iter().map(|key| key.id.as_str()));
        let threads = |table: &str| columns.ids(table, "threadId", gone.iter().map(|key| key.thread.as_str()));
        let sql = &tables.sql;
        self.ids(&sql.delete_elements_of_steps, ids("elements", "forId"), Some(threads("elements"))).await?;
        self.ids(&sql.delete_feedback_of_steps, ids("feedbacks", "forId"), None).await?;
        self.ids(&sql.delete_steps, ids("steps", "id"), Some(threads("steps"))).await
    }

    /// A uuid column takes other spellings of an id and keeps its own: then our text would find it no more.
    fn check_ids(&self, writes: &Writes) -> Result<(), Failure> {
        let takes = |table: &str, column: &str, id: &str| self.tables.columns.takes(table, column, id);
        let good = writes.new_threads.iter().all(|row| takes("threads", "id", row.id.as_str()))
            && writes.steps.iter().all(|row| takes("steps", "id", row.id.as_str()))
            && writes.elements.iter().all(|row| takes("elements", "id", row.id.as_str()))
            && writes.feedback.iter().all(|row| {
                takes("feedbacks", "id", row.id.as_str()) && takes("feedbacks", "forId", row.for_id.as_str())
            });
        if good { Ok(()) } else { Err(Failure::Bad("bad_value", "an id is not a uuid in its usual spelling".into())) }
    }
}

#[async_trait]
impl Work for PostgresWork {
    async fn read(&mut self, lookup: &Lookup) -> Result<Known, Failure> {
        let texts = |ids: &[crate::id::ThreadId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
        let threads = texts(&lookup.threads);
        let cursors = lock(&mut self.transaction, &self.project, &threads, self.now).await?;
        let tables = self.tables.clone();
        let columns = &tables.columns;
        let row = sqlx::query(AssertSqlSafe(tables.sql.read.clone()))
            .bind(&self.project)
            .bind(&threads)
            .bind(columns.ids("threads", "id", threads.iter().map(String::as_str)))
            .bind(lookup.records.iter().map(|(thread, _)| thread.to_string()).collect::<Vec<_>>())
            .bind(lookup.records.iter().map(|(_, record)| record.to_string()).collect::<Vec<_>>())
            .bind(lookup.executions.iter().map(|(thread, _)| thread.to_string()).collect::<Vec<_>>())
            .bind(lookup.executions.iter().map(|(_, run)| run.to_string()).collect::<Vec<_>>())
            .bind(columns.ids("steps", "id", lookup.steps.iter().map(|id| id.as_str())))
            .bind(columns.ids("elements", "id", lookup.elements.iter().map(|id| id.as_str())))
            .bind(columns.ids("feedbacks", "id", lookup.feedback.iter().map(|id| id.as_str())))
            .bind(texts(&lookup.metadata))
            .bind(columns.ids("steps", "threadId", lookup.trees.iter().map(|id| id.as_str())))
            .fetch_one(&mut *self.transaction)
            .await?;
        let answer = Answer {
            cursors: format!("[{}]", cursors.join(",")),
            threads: row.try_get(0)?,
            tombstones: row.try_get(1)?,
            records: row.try_get(2)?,
            executions: row.try_get(3)?,
            steps: row.try_get(4)?,
            elements: row.try_get(5)?,
            feedback: row.try_get(6)?,
            trees: row.try_get(7)?,
        };
        Ok(answer.read(lookup)?)
    }

    async fn left(&mut self, dead: Dead<'_>) -> Result<Left, Failure> {
        let tables = self.tables.clone();
        Ok(super::lost::left(&mut self.transaction, &tables.columns, &self.project, dead).await?)
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), Failure> {
        self.check_ids(writes)?;
        let tables = self.tables.clone();
        let (sql, columns) = (&tables.sql, &tables.columns);
        if !writes.unused_cursors.is_empty() {
            sqlx::query(AssertSqlSafe(sql.delete_unused_cursors.clone()))
                .bind(&self.project)
                .bind(writes.unused_cursors.iter().map(ToString::to_string).collect::<Vec<_>>())
                .execute(&mut *self.transaction)
                .await?;
        }
        self.own_rows(&sql.update_cursors, &writes.cursors, false).await?;
        self.own_rows(&sql.insert_records, &writes.records, false).await?;
        self.own_rows(&sql.upsert_executions, &writes.executions, true).await?;
        self.all_rows(&sql.insert_threads, &writes.new_threads).await?;
        self.all_rows(&sql.update_threads, &writes.changed_threads).await?;
        self.delete_steps(&writes.deleted_steps).await?;
        self.all_rows(&sql.upsert_steps, &writes.steps).await?;
        self.rows(&sql.change_steps, &writes.changed_steps).await?;
        let gone = columns.ids("elements", "id", writes.deleted_elements.iter().map(|id| id.as_str()));
        self.ids(&sql.delete_elements, gone, None).await?;
        self.all_rows(&sql.upsert_elements, &writes.elements).await?;
        let gone = columns.ids("feedbacks", "id", writes.deleted_feedback.iter().map(|id| id.as_str()));
        self.ids(&sql.delete_feedback, gone, None).await?;
        let voted = columns.ids("feedbacks", "forId", writes.voted_steps.iter().map(|id| id.as_str()));
        self.ids(&sql.delete_feedback_of_steps, voted, None).await?;
        self.all_rows(&sql.upsert_feedback, &writes.feedback).await?;
        self.keys(&sql.delete_partials, &writes.finished_partials).await?;
        self.keys(&sql.delete_partials_of_runs, &writes.ended_runs).await?;
        self.own_rows(&sql.insert_rejects, &writes.rejects, false).await
    }

    async fn mark(&mut self) -> Result<(), Failure> {
        if std::mem::replace(&mut self.marked, true) {
            self.run("release savepoint piece").await?;
        }
        self.run("savepoint piece").await
    }

    async fn undo(&mut self) -> Result<(), Failure> {
        self.run("rollback to savepoint piece").await
    }

    async fn numbers(&mut self, thread: &ThreadId) -> Result<String, Failure> {
        let rows = sqlx::query_scalar(
            r#"
            select coalesce(json_agg(json_build_object('id', record_id, 'sequence', sequence,
                'created_at', (extract(epoch from created_at) * 1000000)::bigint,
                'hash', encode(content_hash, 'hex'), 'entity', entity_id, 'type', record_type)), '[]')::text
            from rejoinder_records where project_id = $1 and thread_id = $2 and quarantined_at is null
            "#,
        );
        Ok(rows.bind(&self.project).bind(thread.as_str()).fetch_one(&mut *self.transaction).await?)
    }

    async fn clear_numbers(&mut self, thread: &ThreadId) -> Result<(), Failure> {
        sqlx::query("update rejoinder_records set sequence = null where project_id = $1 and thread_id = $2")
            .bind(&self.project)
            .bind(thread.as_str())
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    async fn set_numbers(&mut self, thread: &ThreadId, numbers: &str, epoch: &str) -> Result<(), Failure> {
        let numbered = sqlx::query(
            r#"
            update rejoinder_records as o set sequence = r.sequence, mark = decode(r.mark, 'hex')
                from jsonb_to_recordset($3::jsonb) as r (id text, sequence bigint, mark text)
                where o.project_id = $1 and o.thread_id = $2 and o.record_id = r.id
            "#,
        );
        numbered.bind(&self.project).bind(thread.as_str()).bind(numbers).execute(&mut *self.transaction).await?;
        sqlx::query("update rejoinder_cursors set epoch = $3 where project_id = $1 and thread_id = $2")
            .bind(&self.project)
            .bind(thread.as_str())
            .bind(epoch)
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    async fn commit(self: Box<Self>) -> Result<(), Failure> {
        Ok(self.transaction.commit().await?)
    }
}
