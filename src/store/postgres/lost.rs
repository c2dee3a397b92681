//! Leases of runs, and what dead processes left. Nothing here waits for a lock: what is held is at work, and comes next
//! time.

use sqlx::{AssertSqlSafe, PgConnection};

use super::PostgresStore;
use super::columns::Columns;
use super::read::STEP;
use crate::id::{ExecutionId, ThreadId};
use crate::protocol::Timestamp;
use crate::store::lost::{Dead, Left, micros};
use crate::store::{StoreError, Working};

/// Which runs are left, and which texts that streamed in none. $2 is an instance, $3 now, $4 a lease ago.
fn conditions(dead: Dead<'_>) -> (&'static str, &'static str) {
    match dead {
        Dead::AllBut(_) => ("e.instance_id <> $2", "p.instance_id <> $2"),
        Dead::Only(_) => ("e.instance_id = $2", "p.instance_id = $2"),
        // A version before leases wrote none.
        Dead::Lapsed { .. } => (
            "coalesce(e.lease_until <= to_timestamp($3::bigint / 1000000.0),
                e.started_at <= to_timestamp($4::bigint / 1000000.0))",
            "p.updated_at <= to_timestamp($4::bigint / 1000000.0)",
        ),
    }
}

/// A text that streams in no run that goes on.
const IN_NO_RUN: &str = r#"
not exists (select 1 from rejoinder_executions as e where e.project_id = $1 and e.thread_id = p.thread_id
    and e.execution_id = p.execution_id and e.settled_at is null)
"#;

/// What dead processes left. The cursors are locked first, as by an append; whoever holds one has it to itself.
pub(super) async fn left(
    connection: &mut PgConnection,
    columns: &Columns,
    project: &str,
    dead: Dead<'_>,
) -> Result<Left, StoreError> {
    let (its_runs, its_partials) = conditions(dead);
    let (now, ago) = dead.times();
    let threads = format!(
        r#"
        select c.thread_id from rejoinder_cursors as c
            where c.project_id = $1 and c.thread_id in (
                (select e.thread_id from rejoinder_executions as e
                    where e.project_id = $1 and e.settled_at is null and {its_runs}
                    order by e.started_at, e.execution_id limit $5)
                union
                (select p.thread_id from rejoinder_partials as p
                    where p.project_id = $1 and {its_partials} and {IN_NO_RUN} limit $5))
            order by c.thread_id for update of c skip locked
        "#
    );
    let threads: Vec<String> = sqlx::query_scalar(AssertSqlSafe(threads))
        .bind(project)
        .bind(dead.instance())
        .bind(now)
        .bind(ago)
        .bind(dead.most())
        .fetch_all(&mut *connection)
        .await
        .map_err(StoreError::Unavailable)?;
    if threads.is_empty() {
        return Ok(Left { partials: "[]".into(), open_steps: "[]".into(), ..Left::default() });
    }
    // A statement of its own: it sees what those have committed who held the threads before.
    let runs = format!(
        r#"
        select e.thread_id, e.execution_id from rejoinder_executions as e
            where e.project_id = $1 and e.thread_id = any ($6::text[]) and e.settled_at is null and {its_runs}
            order by e.started_at, e.execution_id limit $5 for update skip locked
        "#
    );
    let runs: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(runs))
        .bind(project)
        .bind(dead.instance())
        .bind(now)
        .bind(ago)
        .bind(dead.most())
        .bind(&threads)
        .fetch_all(&mut *connection)
        .await
        .map_err(StoreError::Unavailable)?;
    let rest = format!(
        r#"
        with runs as materialized (select * from unnest($6::text[], $7::text[]) as r (thread, run))
        select
            (select coalesce(json_agg(json_build_object('thread', p.thread_id, 'execution', p.execution_id,
                    'step', p.step)), '[]')::text
                from rejoinder_partials as p where p.project_id = $1 and p.thread_id = any ($5::text[]) and (
                    (p.thread_id, p.execution_id) in (select thread, run from runs)
                    or {its_partials} and {IN_NO_RUN})),
            (select coalesce(json_agg(s), '[]')::text from (
                select {STEP} from steps
                where "threadId" = any (array(
                        select thread::{kind} from runs where thread not in (
                            select e.thread_id from rejoinder_executions as e
                            where e.project_id = $1 and e.settled_at is null and e.thread_id = any ($5::text[])
                                and (e.thread_id, e.execution_id) not in (select thread, run from runs))))
                    and "end" is null and start is not null
                    and type::text <> 'run' and type::text not like '%message%') as s)
        "#,
        kind = columns.cast("steps", "threadId")
    );
    let (partials, open_steps): (String, String) = sqlx::query_as(AssertSqlSafe(rest))
        .bind(project)
        .bind(dead.instance())
        .bind(now)
        .bind(ago)
        .bind(&threads)
        .bind(runs.iter().map(|(thread, _)| thread.as_str()).collect::<Vec<_>>())
        .bind(runs.iter().map(|(_, run)| run.as_str()).collect::<Vec<_>>())
        .fetch_one(connection)
        .await
        .map_err(StoreError::Unavailable)?;
    Ok(Left { runs: runs.into_iter().map(ids).collect(), partials, open_steps })
}

fn ids((thread, run): (String, String)) -> (ThreadId, ExecutionId) {
    (thread.as_str().into(), run.as_str().into())
}

impl PostgresStore {
    pub(super) async fn renew_leases(&self, runs: &[Working], now: Timestamp) -> Result<Vec<Working>, StoreError> {
        let until = now.as_micros().saturating_add(micros(self.lease));
        let threads: Vec<&str> = runs.iter().map(|(thread, _)| thread.as_str()).collect();
        let ids_of_runs: Vec<&str> = runs.iter().map(|(_, run)| run.as_str()).collect();
        sqlx::query(
            r#"
            update rejoinder_executions as e set lease_until = to_timestamp($2::bigint / 1000000.0)
                from (
                    select x.thread_id, x.execution_id from unnest($3::text[], $4::text[]) as j (thread, run)
                        join rejoinder_executions as x
                            on x.project_id = $1 and x.thread_id = j.thread and x.execution_id = j.run
                        where x.settled_at is null
                        for update of x skip locked
                ) as mine
                where e.project_id = $1 and e.thread_id = mine.thread_id and e.execution_id = mine.execution_id
            "#,
        )
        .bind(&self.project)
        .bind(until)
        .bind(&threads)
        .bind(&ids_of_runs)
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        // What streams outside of a run has no other sign of life.
        sqlx::query(
            r#"
            update rejoinder_partials as p set updated_at = to_timestamp($3::bigint / 1000000.0)
                from (
                    select x.thread_id, x.step_id from rejoinder_partials as x
                        where x.project_id = $1 and x.instance_id = $2 for update skip locked
                ) as mine
                where p.project_id = $1 and p.thread_id = mine.thread_id and p.step_id = mine.step_id
            "#,
        )
        .bind(&self.project)
        .bind(&self.instance)
        .bind(now.as_micros())
        .execute(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        let lost: Vec<(String, String)> = sqlx::query_as(
            r#"
            select e.thread_id, e.execution_id from unnest($2::text[], $3::text[]) as j (thread, run)
                join rejoinder_executions as e
                    on e.project_id = $1 and e.thread_id = j.thread and e.execution_id = j.run
                where e.settled_by = 'watchdog'
            "#,
        )
        .bind(&self.project)
        .bind(&threads)
        .bind(&ids_of_runs)
        .fetch_all(&self.pool)
        .await
        .map_err(StoreError::Unavailable)?;
        Ok(lost.into_iter().map(ids).collect())
    }
}
