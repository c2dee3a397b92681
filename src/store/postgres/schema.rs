//! The tables of a PostgreSQL database: made, completed, or refused. One transaction under an advisory lock, so that
//! servers that start together do it once.

use sqlx::{AssertSqlSafe, PgConnection, PgPool, Row};

use super::columns::Columns;
use crate::store::StoreError;
use crate::store::incomplete::FOREIGN_ROWS;
use crate::store::migrations::{
    ADDED_COLUMNS, MIGRATIONS, Migration, refuse_newer, refuse_other_layout, refuse_other_project,
};
use crate::store::options::OpenOptions;

/// "rejoind": the advisory lock of whoever changes tables.
const LOCK: i64 = 0x0072_656a_6f69_6e64;

/// Brings the tables up to date and looks for what changed without records.
pub(super) async fn prepare(pool: &PgPool, options: &OpenOptions) -> Result<Columns, StoreError> {
    let mut transaction = pool.begin().await.map_err(StoreError::Unavailable)?;
    // An index over a big old table takes its time, and so may the lock.
    sqlx::raw_sql("set local statement_timeout = 0; set local lock_timeout = 0")
        .execute(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?;
    sqlx::query("select pg_advisory_xact_lock($1)")
        .bind(LOCK)
        .execute(&mut *transaction)
        .await
        .map_err(StoreError::Unavailable)?;
    let columns = migrate(&mut transaction, options).await?;
    notice_foreign_rows(&mut transaction, options).await.map_err(StoreError::Unavailable)?;
    transaction.commit().await.map_err(StoreError::Unavailable)?;
    Ok(columns)
}

async fn migrate(connection: &mut PgConnection, options: &OpenOptions) -> Result<Columns, StoreError> {
    let before = Columns::read(connection).await.map_err(StoreError::Unavailable)?;
    refuse_other_layout(&before.tables())?;
    let done = applied(connection).await.map_err(StoreError::Unavailable)?;
    refuse_newer(&done)?;
    let now = options.clock.now().as_micros();
    for migration in MIGRATIONS {
        if done.iter().any(|(version, _)| *version == migration.version) {
            continue;
        }
        let sql = AssertSqlSafe(text(migration, &before));
        sqlx::raw_sql(sql).execute(&mut *connection).await.map_err(|error| cannot(migration.name, &error))?;
        if migration.version == 1 {
            add_columns(connection).await?;
        }
        sqlx::query(
            r#"
            insert into rejoinder_migrations (version, name, additive, applied_at)
                values ($1, $2, true, to_timestamp($3::bigint / 1000000.0))
            "#,
        )
        .bind(migration.version)
        .bind(migration.name)
        .bind(now)
        .execute(&mut *connection)
        .await
        .map_err(StoreError::Unavailable)?;
    }
    own_project(connection, options, now).await?;
    Columns::read(connection).await.map_err(StoreError::Unavailable)
}

/// A key must have the type of what it points at, which in an old database is uuid.
fn text(migration: &Migration, columns: &Columns) -> String {
    let mut sql = migration.postgres.to_owned();
    for table in ["users", "threads"] {
        if columns.has(table, "id") {
            let kind = columns.cast(table, "id");
            sql = sql.replace(&format!("text references {table} "), &format!("{kind} references {table} "));
            sql = sql.replace(
                &format!("text not null references {table} "),
                &format!("{kind} not null references {table} "),
            );
        }
    }
    sql
}

fn cannot(what: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Refused(format!("this database cannot be brought up to date ({what}): {error}"))
}

async fn applied(connection: &mut PgConnection) -> Result<Vec<(i64, bool)>, sqlx::Error> {
    sqlx::raw_sql(
        r#"
        create table if not exists rejoinder_migrations (
            version bigint primary key,
            name text not null,
            additive boolean not null,
            applied_at timestamptz not null
        )
        "#,
    )
    .execute(&mut *connection)
    .await?;
    let rows = sqlx::query("select version, additive from rejoinder_migrations").fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Completes tables that Chainlit, or its documentation, made. Columns that may be null are added without a rewrite.
async fn add_columns(connection: &mut PgConnection) -> Result<(), StoreError> {
    let columns = Columns::read(connection).await.map_err(StoreError::Unavailable)?;
    let sequences = [("steps", "rejoinderSequence", "", "bigint"), ("elements", "rejoinderSequence", "", "bigint")];
    for (table, column, _, kind) in ADDED_COLUMNS.iter().chain(&sequences) {
        if !columns.has(table, column) {
            // The three texts are constants of this program.
            let sql = format!(r#"alter table {table} add column "{column}" {kind}"#);
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *connection).await.map_err(|error| cannot(table, &error))?;
        }
    }
    Ok(())
}

async fn own_project(connection: &mut PgConnection, options: &OpenOptions, now: i64) -> Result<(), StoreError> {
    let stored: Option<String> = sqlx::query_scalar("select project_id from rejoinder_project")
        .fetch_optional(&mut *connection)
        .await
        .map_err(StoreError::Unavailable)?;
    if let Some(stored) = stored {
        return refuse_other_project(&stored, &options.project);
    }
    sqlx::query(
        "insert into rejoinder_project (project_id, created_at) values ($1, to_timestamp($2::bigint / 1000000.0))",
    )
    .bind(&options.project)
    .bind(now)
    .execute(connection)
    .await
    .map_err(StoreError::Unavailable)?;
    Ok(())
}

/// Another program wrote in between: threads whose steps are not what records made are flagged for good, and threads
/// that it removed are removed here as well.
async fn notice_foreign_rows(connection: &mut PgConnection, options: &OpenOptions) -> Result<(), sqlx::Error> {
    let now = options.clock.now().as_micros();
    sqlx::query(
        r#"
        update rejoinder_cursors as c set step_count = s.steps, step_newest = s.newest,
            updated_at = to_timestamp($2::bigint / 1000000.0),
            incomplete_at = coalesce(c.incomplete_at, to_timestamp($2::bigint / 1000000.0)),
            incomplete_why = case when $3 = any (string_to_array(c.incomplete_why, ' ')) then c.incomplete_why
                else concat_ws(' ', c.incomplete_why, $3) end
        from (
            select k.thread_id, count(x.id) as steps, max(x."createdAt"::text collate "C") as newest
            from rejoinder_cursors as k left join steps as x on x."threadId"::text = k.thread_id
            where k.project_id = $1
            group by k.thread_id
        ) as s
        where c.project_id = $1 and c.thread_id = s.thread_id and c.step_count is not null
            and (s.steps <> c.step_count or s.newest > coalesce(c.step_newest, '') collate "C")
        "#,
    )
    .bind(&options.project)
    .bind(now)
    .bind(FOREIGN_ROWS)
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        r#"
        insert into rejoinder_tombstones (project_id, thread_id, deleted_at)
            select project_id, thread_id, to_timestamp($2::bigint / 1000000.0) from rejoinder_cursors as c
            where project_id = $1 and step_count is not null
                and not exists (select 1 from threads as t where t.id::text = c.thread_id)
            on conflict (project_id, thread_id) do nothing
        "#,
    )
    .bind(&options.project)
    .bind(now)
    .execute(&mut *connection)
    .await?;
    for sql in [
        "delete from rejoinder_records as o using rejoinder_tombstones as t
            where o.project_id = $1 and t.project_id = $1 and o.thread_id = t.thread_id",
        "delete from rejoinder_executions as o using rejoinder_tombstones as t
            where o.project_id = $1 and t.project_id = $1 and o.thread_id = t.thread_id",
        "delete from rejoinder_partials as o using rejoinder_tombstones as t
            where o.project_id = $1 and t.project_id = $1 and o.thread_id = t.thread_id",
        "delete from rejoinder_rejects as o using rejoinder_tombstones as t
            where o.project_id = $1 and t.project_id = $1 and o.thread_id = t.thread_id",
        "delete from rejoinder_cursors as o using rejoinder_tombstones as t
            where o.project_id = $1 and t.project_id = $1 and o.thread_id = t.thread_id",
    ] {
        sqlx::query(sql).bind(&options.project).execute(&mut *connection).await?;
    }
    Ok(())
}
