//! The tables of a SQLite file: made, completed, or refused. One `begin immediate` transaction, so two programs that
//! start together do it once.

use sqlx::sqlite::SqlitePool;
use sqlx::{AssertSqlSafe, Row, SqliteConnection};

use crate::store::StoreError;
use crate::store::incomplete::FOREIGN_ROWS;
use crate::store::migrations::{ADDED_COLUMNS, MIGRATIONS, refuse_newer, refuse_other_layout, refuse_other_project};
use crate::store::options::OpenOptions;

/// Brings the tables up to date and looks for what changed without records. Gives whether the steps table demands a
/// `disableFeedback`.
pub(super) async fn prepare(pool: &SqlitePool, options: &OpenOptions) -> Result<bool, StoreError> {
    let mut transaction = pool.begin_with("begin immediate").await.map_err(StoreError::Unavailable)?;
    let disable_feedback = migrate(&mut transaction, options).await?;
    notice_foreign_rows(&mut transaction, options).await.map_err(StoreError::Unavailable)?;
    transaction.commit().await.map_err(StoreError::Unavailable)?;
    Ok(disable_feedback)
}

async fn migrate(connection: &mut SqliteConnection, options: &OpenOptions) -> Result<bool, StoreError> {
    let tables = tables(connection).await.map_err(not_a_database)?;
    refuse_other_layout(&tables)?;
    let done = applied(connection).await.map_err(StoreError::Unavailable)?;
    refuse_newer(&done)?;
    let now = options.clock.now().as_micros();
    for migration in MIGRATIONS {
        if done.iter().any(|(version, _)| *version == migration.version) {
            continue;
        }
        sqlx::raw_sql(migration.sqlite)
            .execute(&mut *connection)
            .await
            .map_err(|error| cannot(migration.name, &error))?;
        if migration.version == 1 {
            add_columns(connection).await?;
        }
        sqlx::query("insert into rejoinder_migrations (version, name, additive, applied_at) values (?, ?, 1, ?)")
            .bind(migration.version)
            .bind(migration.name)
            .bind(now)
            .execute(&mut *connection)
            .await
            .map_err(StoreError::Unavailable)?;
    }
    own_project(connection, options, now).await?;
    let columns = columns(connection, "steps").await.map_err(StoreError::Unavailable)?;
    Ok(columns.iter().any(|column| column == "disableFeedback"))
}

fn not_a_database(error: sqlx::Error) -> StoreError {
    // SQLITE_NOTADB
    if error.as_database_error().and_then(|error| error.code()).as_deref() == Some("26") {
        return StoreError::Refused("the file is not a SQLite database".into());
    }
    StoreError::Unavailable(error)
}

fn cannot(what: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Refused(format!("this database cannot be brought up to date ({what}): {error}"))
}

async fn tables(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("select name from sqlite_schema where type in ('table', 'view')").fetch_all(connection).await
}

async fn columns(connection: &mut SqliteConnection, table: &str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("select name from pragma_table_info(?)").bind(table).fetch_all(connection).await
}

async fn applied(connection: &mut SqliteConnection) -> Result<Vec<(i64, bool)>, sqlx::Error> {
    sqlx::raw_sql(
        r#"
        create table if not exists rejoinder_migrations (
            version integer primary key,
            name text not null,
            additive integer not null,
            applied_at integer not null
        ) strict
        "#,
    )
    .execute(&mut *connection)
    .await?;
    let rows = sqlx::query("select version, additive from rejoinder_migrations").fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get::<i64, _>(1)? != 0))).collect()
}

/// Completes tables that Chainlit, or its documentation, made.
async fn add_columns(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    for (table, column, kind, _) in ADDED_COLUMNS {
        let there = columns(connection, table).await.map_err(StoreError::Unavailable)?;
        if !there.iter().any(|name| name == column) {
            // The three texts are constants of this program.
            let sql = format!(r#"alter table {table} add column "{column}" {kind}"#);
            sqlx::query(AssertSqlSafe(sql)).execute(&mut *connection).await.map_err(|error| cannot(table, &error))?;
        }
    }
    Ok(())
}

async fn own_project(connection: &mut SqliteConnection, options: &OpenOptions, now: i64) -> Result<(), StoreError> {
    let stored: Option<String> = sqlx::query_scalar("select project_id from rejoinder_project")
        .fetch_optional(&mut *connection)
        .await
        .map_err(StoreError::Unavailable)?;
    if let Some(stored) = stored {
        return refuse_other_project(&stored, &options.project);
    }
    sqlx::query("insert into rejoinder_project (project_id, created_at) values (?, ?)")
        .bind(&options.project)
        .bind(now)
        .execute(connection)
        .await
        .map_err(StoreError::Unavailable)?;
    Ok(())
}

/// Another program wrote in between: threads whose steps are not what records made are flagged for good, and threads
/// that it removed are removed here as well.
async fn notice_foreign_rows(connection: &mut SqliteConnection, options: &OpenOptions) -> Result<(), sqlx::Error> {
    let now = options.clock.now().as_micros();
    sqlx::query(
        r#"
        update rejoinder_cursors set step_count = s.steps, step_newest = s.newest, updated_at = $2,
            incomplete_at = coalesce(incomplete_at, $2),
            incomplete_why = case
                when ' ' || coalesce(incomplete_why, '') || ' ' like '% ' || $3 || ' %' then incomplete_why
                else trim(coalesce(incomplete_why, '') || ' ' || $3) end
        from (
            select c.thread_id, count(s."threadId") as steps, max(s."createdAt") as newest
            from rejoinder_cursors as c left join steps as s on s."threadId" = c.thread_id
            where c.project_id = $1
            group by c.thread_id
        ) as s
        where project_id = $1 and rejoinder_cursors.thread_id = s.thread_id and step_count is not null
            and (s.steps <> step_count or s.newest > coalesce(step_newest, ''))
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
            select project_id, thread_id, $2 from rejoinder_cursors
            where project_id = $1 and step_count is not null and thread_id not in (select id from threads)
            on conflict (project_id, thread_id) do nothing;
        delete from rejoinder_records where project_id = $1
            and thread_id in (select thread_id from rejoinder_tombstones where project_id = $1);
        delete from rejoinder_executions where project_id = $1
            and thread_id in (select thread_id from rejoinder_tombstones where project_id = $1);
        delete from rejoinder_partials where project_id = $1
            and thread_id in (select thread_id from rejoinder_tombstones where project_id = $1);
        delete from rejoinder_rejects where project_id = $1
            and thread_id in (select thread_id from rejoinder_tombstones where project_id = $1);
        delete from rejoinder_cursors where project_id = $1
            and thread_id in (select thread_id from rejoinder_tombstones where project_id = $1);
        "#,
    )
    .bind(&options.project)
    .bind(now)
    .execute(connection)
    .await?;
    Ok(())
}
