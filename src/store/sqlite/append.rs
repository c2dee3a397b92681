//! A write transaction on SQLite: `begin immediate` on the one writing connection is the lock.

use async_trait::async_trait;
use sqlx::{Row, Sqlite, SqliteConnection, Transaction};

use super::SqliteStore;
use super::insert::{Inserts, Moment};
use super::sql::{AFTER, BEFORE, READ};
use crate::id::ThreadId;
use crate::store::StoreError;
use crate::store::append::{Failure, Work, Works};
use crate::store::known::{Answer, Known, KnownCursor, Lookup};
use crate::store::lost::{Dead, Left, micros};
use crate::store::probe::Point;
use crate::store::writes::{Writes, json};

#[async_trait]
impl Works for SqliteStore {
    fn numbered(&self) -> bool {
        self.numbered
    }

    async fn begin(&self) -> Result<Box<dyn Work>, Failure> {
        Ok(Box::new(SqliteWork {
            transaction: self.begin_write().await?,
            project: self.project.clone(),
            instance: self.instance.clone(),
            inserts: self.inserts.clone(),
            now: self.clock.now().as_micros(),
            lease: micros(self.lease),
            marked: false,
        }))
    }

    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        self.probes.reach(point).await
    }
}

struct SqliteWork {
    transaction: Transaction<'static, Sqlite>,
    project: String,
    instance: String,
    inserts: Inserts,
    now: i64,
    lease: i64,
    marked: bool,
}

impl SqliteWork {
    async fn run(&mut self, sql: &'static str) -> Result<(), Failure> {
        sqlx::query(sql).execute(&mut *self.transaction).await?;
        Ok(())
    }
}

#[async_trait]
impl Work for SqliteWork {
    async fn read(&mut self, lookup: &Lookup) -> Result<Known, Failure> {
        let mut known = read(&mut self.transaction, &self.project, lookup).await?.read(lookup)?;
        for thread in &lookup.threads {
            known.cursors.entry(thread.clone()).or_insert_with(|| KnownCursor::new(crate::store::epoch()));
        }
        Ok(known)
    }

    async fn left(&mut self, dead: Dead<'_>) -> Result<Left, Failure> {
        Ok(super::lost::left(&mut self.transaction, &self.project, dead).await?)
    }

    async fn write(&mut self, writes: &Writes) -> Result<(), Failure> {
        // Unused cursors do not exist here: without a record, no row was made.
        sqlx::query(BEFORE)
            .bind(&self.project)
            .bind(&self.instance)
            .bind(self.now)
            .bind(json(&writes.cursors))
            .bind(json(&writes.executions))
            .bind(json(&writes.new_threads))
            .bind(json(&writes.changed_threads))
            .bind(json(&writes.deleted_steps))
            .bind(json(&writes.finished_partials))
            .bind(json(&writes.ended_runs))
            .bind(self.now.saturating_add(self.lease))
            .execute(&mut *self.transaction)
            .await?;
        let moment = Moment { project: &self.project, now: self.now };
        self.inserts.records(&mut self.transaction, &writes.records, moment).await?;
        self.inserts.steps(&mut self.transaction, &writes.steps).await?;
        if !writes.is_done_with_steps() {
            sqlx::query(AFTER)
                .bind(&self.project)
                .bind(self.now)
                .bind(json(&writes.changed_steps))
                .bind(json(&writes.deleted_elements))
                .bind(json(&writes.elements))
                .bind(json(&writes.deleted_feedback))
                .bind(json(&writes.voted_steps))
                .bind(json(&writes.feedback))
                .bind(json(&writes.rejects))
                .execute(&mut *self.transaction)
                .await?;
        }
        Ok(())
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
            select json_group_array(json_object('id', record_id, 'sequence', sequence, 'created_at', created_at,
                'hash', hex(content_hash), 'entity', entity_id, 'type', record_type))
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
            update rejoinder_records set sequence = j.value ->> 'sequence', mark = unhex(j.value ->> 'mark')
                from json_each($3) as j
                where project_id = $1 and thread_id = $2 and record_id = j.value ->> 'id'
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

async fn read(connection: &mut SqliteConnection, project: &str, lookup: &Lookup) -> Result<Answer, sqlx::Error> {
    let row = sqlx::query(READ)
        .bind(project)
        .bind(json(&lookup.threads))
        .bind(json(&lookup.records))
        .bind(json(&lookup.executions))
        .bind(json(&lookup.steps))
        .bind(json(&lookup.elements))
        .bind(json(&lookup.feedback))
        .bind(json(&lookup.metadata))
        .bind(json(&lookup.trees))
        .fetch_one(connection)
        .await?;
    Ok(Answer {
        cursors: row.try_get(0)?,
        threads: row.try_get(1)?,
        tombstones: row.try_get(2)?,
        records: row.try_get(3)?,
        executions: row.try_get(4)?,
        steps: row.try_get(5)?,
        elements: row.try_get(6)?,
        feedback: row.try_get(7)?,
        trees: row.try_get(8)?,
    })
}
