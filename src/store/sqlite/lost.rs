//! Leases of runs, and what dead processes left.

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::SqliteStore;
use crate::protocol::Timestamp;
use crate::store::assemble::many;
use crate::store::lost::{Dead, Left, micros};
use crate::store::{StoreError, Working, writes};

/// Which runs are left, and which texts that streamed in none. $2 is an instance, $3 now, $4 a lease ago.
fn conditions(dead: Dead<'_>) -> (&'static str, &'static str) {
    match dead {
        Dead::AllBut(_) => ("instance_id <> $2", "p.instance_id <> $2"),
        Dead::Only(_) => ("instance_id = $2", "p.instance_id = $2"),
        // A version before leases wrote none.
        Dead::Lapsed { .. } => ("coalesce(lease_until <= $3, started_at <= $4)", "p.updated_at <= $4"),
    }
}

/// What dead processes left. The connection is in a writing transaction.
pub(super) async fn left(connection: &mut SqliteConnection, project: &str, dead: Dead<'_>) -> Result<Left, StoreError> {
    let (its_runs, its_partials) = conditions(dead);
    let (now, ago) = dead.times();
    let runs = format!(
        r#"
        select json_group_array(json_array(thread_id, execution_id)) from (
            select thread_id, execution_id from rejoinder_executions
            where project_id = $1 and settled_at is null and {its_runs}
            order by started_at, execution_id limit $5)
        "#
    );
    let runs: String = sqlx::query_scalar(AssertSqlSafe(runs))
        .bind(project)
        .bind(dead.instance())
        .bind(now)
        .bind(ago)
        .bind(dead.most())
        .fetch_one(&mut *connection)
        .await
        .map_err(StoreError::Unavailable)?;
    let rest = format!(
        r#"
        with runs (thread, run) as materialized (select value ->> 0, value ->> 1 from json_each($5))
        select
            (select json_group_array(json_object('thread', p.thread_id, 'execution', p.execution_id,
                    'step', json(p.step)))
                from rejoinder_partials as p where p.project_id = $1 and (
                    (p.thread_id, p.execution_id) in (select thread, run from runs)
                    or {its_partials} and not exists (select 1 from rejoinder_executions as e
                        where e.project_id = $1 and e.thread_id = p.thread_id and e.execution_id = p.execution_id
                            and e.settled_at is null))),
            (select json_group_array({step}) from steps
                where "threadId" in (select thread from runs)
                    and "threadId" not in (select thread_id from rejoinder_executions
                        where project_id = $1 and settled_at is null
                            and (thread_id, execution_id) not in (select thread, run from runs))
                    and "end" is null and start is not null and type <> 'run' and type not like '%message%')
        "#,
        step = step!()
    );
    let (partials, open_steps): (String, String) = sqlx::query_as(AssertSqlSafe(rest))
        .bind(project)
        .bind(dead.instance())
        .bind(now)
        .bind(ago)
        .bind(&runs)
        .fetch_one(connection)
        .await
        .map_err(StoreError::Unavailable)?;
    Ok(Left { runs: many(&runs)?, partials, open_steps })
}

impl SqliteStore {
    pub(super) async fn renew_leases(&self, runs: &[Working], now: Timestamp) -> Result<Vec<Working>, StoreError> {
        let mut transaction = self.begin_write().await.map_err(StoreError::Unavailable)?;
        let until = now.as_micros().saturating_add(micros(self.lease));
        let runs = writes::json(&runs);
        sqlx::query(
            r#"
            update rejoinder_executions set lease_until = $2
                where project_id = $1 and settled_at is null
                    and (thread_id, execution_id) in (select value ->> 0, value ->> 1 from json_each($3))
            "#,
        )
        .bind(&self.project)
        .bind(until)
        .bind(&runs)
        .execute(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?;
        // What streams outside of a run has no other sign of life.
        sqlx::query("update rejoinder_partials set updated_at = $3 where project_id = $1 and instance_id = $2")
            .bind(&self.project)
            .bind(&self.instance)
            .bind(now.as_micros())
            .execute(&mut *transaction)
            .await
            .map_err(StoreError::Unavailable)?;
        let lost: String = sqlx::query_scalar(
            r#"
            select json_group_array(json_array(e.thread_id, e.execution_id)) from json_each($2) as j
                cross join rejoinder_executions as e on e.project_id = $1 and e.thread_id = j.value ->> 0
                    and e.execution_id = j.value ->> 1
                where e.settled_by = 'watchdog'
            "#,
        )
        .bind(&self.project)
        .bind(&runs)
        .fetch_one(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?;
        transaction.commit().await.map_err(StoreError::Unavailable)?;
        many(&lost)
    }
}
