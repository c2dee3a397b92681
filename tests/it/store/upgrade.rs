//! I-57: a database of any earlier schema opens and keeps what it has, and what an earlier version says to a new one is
//! still understood. A migration is the only thing that changes tables, and only adds.

use std::path::Path;
use std::time::Duration;

use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::Timestamp;
use rejoinder::store::{OpenOptions, Stored};

use super::runs::{begun, runs};
use crate::support::database::{Database, Kind, on_both};
use crate::support::records::{message, record, started, store};

on_both! {
    i57_every_earlier_schema_becomes_the_one_of_a_new_database,
    i57_what_an_earlier_version_has_stored_is_kept,
    i57_an_earlier_version_goes_on_beside_a_newer_one,
}

/// The migrations of a database, oldest first: number, name, text.
fn migrations(kind: Kind) -> Vec<(i64, String, String)> {
    let folder = match kind {
        Kind::Sqlite => "sqlite",
        Kind::Postgres => "postgres",
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name[..4].parse().unwrap(), name, std::fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

async fn another(kind: Kind) -> Database {
    match kind {
        Kind::Sqlite => Database::sqlite().await.unwrap(),
        Kind::Postgres => Database::postgres().await.unwrap(),
    }
}

/// Every column of every table, and every index.
async fn schema(database: &Database) -> String {
    let sql = match database.kind {
        Kind::Sqlite => {
            r#"select group_concat(line, char(10)) from (
                select t.name || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk as line
                    from sqlite_schema as t join pragma_table_info(t.name) as c where t.type = 'table'
                union all select 'index ' || name from sqlite_schema where type = 'index'
                order by line)"#
        }
        Kind::Postgres => {
            r#"select string_agg(line, chr(10) order by line) from (
                select table_name || ' ' || column_name || ' ' || udt_name || ' ' || is_nullable as line
                    from information_schema.columns where table_schema = 'public'
                union all select 'index ' || indexname from pg_indexes where schemaname = 'public') as x"#
        }
    };
    database.text(sql).await.unwrap()
}

/// Red when: a migration that is in the folder is not in the program, or leaves an older database another than a new one.
async fn i57_every_earlier_schema_becomes_the_one_of_a_new_database(database: &Database) {
    database.open().await.close().await;
    let (new, all) = (schema(database).await, migrations(database.kind));
    for known in 0..all.len() {
        let old = another(database.kind).await;
        let table = match old.kind {
            Kind::Sqlite => {
                "(version integer primary key, name text not null, additive integer not null, applied_at integer not null) strict"
            }
            Kind::Postgres => {
                "(version bigint primary key, name text not null, additive boolean not null, applied_at timestamptz not null)"
            }
        };
        old.run(&format!("create table rejoinder_migrations {table}")).await;
        let (yes, now) = if old.kind == Kind::Sqlite { ("1", "0") } else { ("true", "now()") };
        for (version, name, text) in &all[..known] {
            old.run(text).await;
            let row = format!("values ({version}, '{name}', {yes}, {now})");
            old.run(&format!("insert into rejoinder_migrations (version, name, additive, applied_at) {row}")).await;
        }
        let db = old.open().await;
        let thread = started(&*db).await;
        assert_eq!(
            store(&*db, &thread, vec![record("m", message(&thread, "m", "x"))]).await,
            [Stored::Appended(Some(2))]
        );
        db.close().await;
        // Columns that Chainlit's tables may lack are added with the first migration: their order does not matter.
        assert_eq!(schema(&old).await, new, "after {known} of {} migrations", all.len());
        assert_eq!(old.count("rejoinder_migrations").await, all.len() as i64);
    }
}

/// A database as the version before leases left it: its rows, without what came later.
async fn left_by_an_earlier_version(database: &Database) -> (ThreadId, StepId) {
    let db = database.open_with(OpenOptions { instance: "earlier".into(), ..OpenOptions::default() }).await;
    let (thread, run) = begun(&*db).await;
    db.close().await;
    database.run("alter table rejoinder_executions drop column lease_until").await;
    database.run("delete from rejoinder_migrations where version > 5").await;
    (thread, run)
}

/// Red when: a migration takes rows away, or an execution without a lease cannot be read.
async fn i57_what_an_earlier_version_has_stored_is_kept(database: &Database) {
    let (thread, run) = left_by_an_earlier_version(database).await;
    let db = database.open().await;
    assert_eq!(db.cursor(&thread).await.unwrap().unwrap().latest, 2);
    let shown = db.thread(&thread).await.unwrap().unwrap();
    assert!(shown.incomplete.is_empty() && shown.thread.steps.iter().any(|step| step.id == run));
    assert_eq!(rejoinder::store::verify(&*db, &thread).await.unwrap(), []);
    assert_eq!(store(&*db, &thread, vec![record("m", message(&thread, "m", "x"))]).await, [Stored::Appended(Some(3))]);
    let settled = db.settle_left(Some("earlier"), Timestamp::from_micros(2_000_000_000_000_000)).await.unwrap();
    assert_eq!(runs(&settled), [run]);
}

/// The statement by which version 5 of the schema began and ended runs, as it was.
const BEGIN_OR_END: [&str; 2] = [
    r#"
    insert or fail into rejoinder_executions (project_id, thread_id, execution_id, instance_id, state, trigger_id,
            started_at, settled_at, settled_by, reason)
        select 'default', value ->> 'thread', value ->> 'id', 'earlier', value ->> 'state', value ->> 'trigger',
            value ->> 'started_at', case when value ->> 'settled_by' is not null then 1796000000000000 end,
            value ->> 'settled_by', value ->> 'reason'
        from json_each('{rows}') where true
        on conflict (project_id, thread_id, execution_id) do update set state = excluded.state,
            settled_at = excluded.settled_at, settled_by = excluded.settled_by, reason = excluded.reason
        where rejoinder_executions.settled_at is null
    "#,
    r#"
    insert into rejoinder_executions as e (project_id, thread_id, execution_id, instance_id, state, trigger_id,
            started_at, settled_at, settled_by, reason)
        select 'default', r.thread, r.id, 'earlier', r.state, r.trigger, to_timestamp(r.started_at / 1000000.0),
            case when r.settled_by is not null then to_timestamp(1796000000) end, r.settled_by, r.reason
        from jsonb_to_recordset('{rows}') as r (thread text, id text, state text, trigger text, started_at bigint,
            settled_by text, reason text)
        on conflict (project_id, thread_id, execution_id) do update set state = excluded.state,
            settled_at = excluded.settled_at, settled_by = excluded.settled_by, reason = excluded.reason
        where e.settled_at is null
    "#,
];

/// Red when: what came later may not be missing.
async fn i57_an_earlier_version_goes_on_beside_a_newer_one(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let statement = BEGIN_OR_END[usize::from(database.kind == Kind::Postgres)];
    let began = 1_796_000_000_000_000_i64;
    let rows = |id: &str, state: &str, settled: &str| {
        format!(r#"[{{"thread": "{thread}", "id": "{id}", "state": "{state}", "started_at": {began}{settled}}}]"#)
    };
    for id in ["ended", "open"] {
        database.run(&statement.replace("{rows}", &rows(id, "running", ""))).await;
    }
    let end = r#", "settled_by": "runner", "reason": "completed""#;
    database.run(&statement.replace("{rows}", &rows("ended", "stopped", end))).await;
    assert_eq!(database.count("rejoinder_executions where state = 'stopped' and lease_until is null").await, 1);
    // It renews nothing, so its runs have one lease.
    let lease = OpenOptions::default().lease;
    let at = |after: Duration| Timestamp::from_micros(began + after.as_micros() as i64);
    assert_eq!(db.settle_lapsed(500, at(lease - Duration::from_secs(1))).await.unwrap(), []);
    assert_eq!(runs(&db.settle_lapsed(500, at(lease)).await.unwrap()), [StepId::from("open")]);
}
