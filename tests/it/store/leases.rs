//! Leases of runs: records.md 3.12, I-24. Time is moved: the store is asked as of a later moment.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rejoinder::clock::Clock;
use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{StepKind, Timestamp};
use rejoinder::record::EndReason;
use rejoinder::store::probe::{Point, Probes};
use rejoinder::store::{OpenOptions, Settled, Store, Stored};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use super::runs::{begun, partial, runs};
use crate::support::database::{Database, Kind, on_both};
use crate::support::probe::Gate;
use crate::support::records::{append, at, message, output, record, run_ended, step, store};

on_both! {
    i24_servers_that_sweep_together_settle_each_run_once,
    a_lease_begins_with_its_run_and_again_with_each_renewal,
    a_run_of_a_version_without_leases_has_one_from_its_start,
    a_sweep_settles_so_many_and_no_more,
    a_process_hears_what_was_settled_over_its_head,
    a_text_outside_of_any_run_is_alive_as_long_as_its_process,
    at_the_start_only_the_dead_are_settled,
}

/// The lease of these stores.
const LEASE: Duration = Duration::from_secs(90);

fn options(instance: &str) -> OpenOptions {
    OpenOptions { instance: instance.into(), lease: LEASE, clock: Clock::ticking_from(at(0)), ..OpenOptions::default() }
}

/// So many seconds after everything began.
fn after(seconds: i64) -> Timestamp {
    at(seconds * 1_000_000)
}

/// Another server of the same database; where there can be only one, the same.
async fn beside(database: &Database, db: &Arc<dyn Store>) -> Arc<dyn Store> {
    match database.kind {
        Kind::Sqlite => db.clone(),
        Kind::Postgres => database.open_with(options("beside")).await,
    }
}

/// Three things hold it, and each is enough: the locks of a sweep, that a run which has an end takes no other, and that what
/// comes after an end is put aside. Red, on PostgreSQL, when all of them are taken out.
async fn i24_servers_that_sweep_together_settle_each_run_once(database: &Database) {
    let one = database.open_with(options("one")).await;
    let two = beside(database, &one).await;
    let mut begun_runs = Vec::new();
    for _ in 0..20 {
        begun_runs.push(begun(&*one).await);
    }
    let sweeps = (0..6).map(|number| {
        let db = if number % 2 == 0 { one.clone() } else { two.clone() };
        tokio::spawn(async move { db.settle_lapsed(500, after(100)).await.unwrap() })
    });
    let mut settled: Vec<Settled> = Vec::new();
    for sweep in sweeps.collect::<Vec<_>>() {
        settled.extend(sweep.await.unwrap());
    }
    let mut all = runs(&settled);
    all.sort();
    let mut expected: Vec<StepId> = begun_runs.iter().map(|(_, run)| run.clone()).collect();
    expected.sort();
    assert_eq!(all, expected, "each once");
    for (thread, _) in &begun_runs {
        let read = one.records(thread, 2, None, 10).await.unwrap();
        assert_eq!(read.iter().map(|record| record.record_type.as_str()).collect::<Vec<_>>(), ["task_lost"]);
        let said: serde_json::Value = serde_json::from_str(&read[0].attributes).unwrap();
        assert_eq!((read[0].source.as_str(), &said["reason"]), ("watchdog", &"lease_expired".into()));
        let shown = one.thread(thread).await.unwrap().unwrap();
        assert!(shown.incomplete.contains("execution_lost"));
        assert!(shown.thread.steps[0].end.is_some(), "a lost run is not shown as running");
        let settled = settled.iter().find(|settled| settled.thread == *thread).unwrap();
        assert_eq!(settled.latest, Some(3), "so that whoever follows can be woken");
    }
    let rows = "rejoinder_executions where state = 'lost' and settled_by = 'watchdog' and reason = 'lease_expired'";
    assert_eq!(database.count(rows).await, 20);
    assert_eq!(two.settle_lapsed(500, after(200)).await.unwrap(), []);
}

/// Red when: a run is inserted without a lease that counts from then; when a renewal does not move it.
async fn a_lease_begins_with_its_run_and_again_with_each_renewal(database: &Database) {
    let db = database.open_with(options("one")).await;
    let (thread, run) = begun(&*db).await;
    let (_, other) = begun(&*db).await;
    assert_eq!(db.settle_lapsed(500, after(89)).await.unwrap(), []);
    assert_eq!(db.renew(&[(thread.clone(), run.clone())], after(60)).await.unwrap(), []);
    assert_eq!(runs(&db.settle_lapsed(500, after(91)).await.unwrap()), [other]);
    assert_eq!(db.settle_lapsed(500, after(149)).await.unwrap(), []);
    assert_eq!(runs(&db.settle_lapsed(500, after(151)).await.unwrap()), [run]);
}

/// Red when: no lease is taken for one that is never over, or for one that is over.
async fn a_run_of_a_version_without_leases_has_one_from_its_start(database: &Database) {
    let db = database.open_with(options("one")).await;
    let (_, run) = begun(&*db).await;
    database.run("update rejoinder_executions set lease_until = null").await;
    assert_eq!(db.settle_lapsed(500, after(89)).await.unwrap(), []);
    assert_eq!(runs(&db.settle_lapsed(500, after(91)).await.unwrap()), [run]);
}

/// Red when: the limit is not in the statement that picks the runs.
async fn a_sweep_settles_so_many_and_no_more(database: &Database) {
    let db = database.open_with(options("one")).await;
    for _ in 0..7 {
        begun(&*db).await;
    }
    let mut sizes = Vec::new();
    for _ in 0..3 {
        sizes.push(runs(&db.settle_lapsed(5, after(100)).await.unwrap()).len());
    }
    assert_eq!(sizes, [5, 2, 0]);
}

/// Red when: a renewal revives a settled run, or tells of one that ended by itself.
async fn a_process_hears_what_was_settled_over_its_head(database: &Database) {
    let one = database.open_with(options("one")).await;
    let two = beside(database, &one).await;
    let (ended, lost) = (begun(&*one).await, begun(&*one).await);
    store(&*one, &ended.0, vec![run_ended(&ended.0, &ended.1, EndReason::Completed)]).await;
    assert_eq!(runs(&two.settle_lapsed(500, after(100)).await.unwrap()), std::slice::from_ref(&lost.1));
    let mine = [ended, lost.clone(), (ThreadId::random(), StepId::random())];
    assert_eq!(one.renew(&mine, after(101)).await.unwrap(), std::slice::from_ref(&lost));
    let late = output(&lost.1, "late", message(&lost.0, "late", "x"));
    assert_eq!(store(&*one, &lost.0, vec![late]).await, [Stored::Quarantined]);
    let end = run_ended(&lost.0, &lost.1, EndReason::Completed);
    assert_eq!(store(&*one, &lost.0, vec![end]).await, [Stored::AlreadySettled]);
}

/// Red when: a renewal leaves the process's texts alone; when they are never settled.
async fn a_text_outside_of_any_run_is_alive_as_long_as_its_process(database: &Database) {
    let db = database.open_with(options("one")).await;
    let (thread, run) = begun(&*db).await;
    store(&*db, &thread, vec![run_ended(&thread, &run, EndReason::Completed)]).await;
    let text = rejoinder::store::Partial { execution: None, ..partial(&thread, &run, "m", "pressed a butt") };
    db.save_partials(&[text]).await.unwrap();
    db.renew(&[], after(60)).await.unwrap();
    assert_eq!(db.settle_lapsed(500, after(100)).await.unwrap(), []);
    let settled = db.settle_lapsed(500, after(160)).await.unwrap();
    assert_eq!(settled, [Settled { thread: thread.clone(), runs: vec![], steps: vec!["m".into()], latest: Some(4) }]);
    let shown = db.thread(&thread).await.unwrap().unwrap();
    let read = shown.thread.steps.iter().find(|step| step.id.as_str() == "m").unwrap();
    assert_eq!((read.output.as_str(), read.streaming), ("pressed a butt", false));
    assert_eq!(database.count("rejoinder_partials").await, 0);
}

/// Red when: a server that starts on PostgreSQL takes every other one for dead.
async fn at_the_start_only_the_dead_are_settled(database: &Database) {
    let mut ids = Vec::new();
    for instance in ["former", "elsewhere", "here"] {
        let db = database.open_with(options(instance)).await;
        let (thread, run) = begun(&*db).await;
        let mut tool = step(&thread, &format!("tool of {instance}"), StepKind::Tool, 4);
        (tool.start, tool.parent_id) = (Some(at(4)), Some(run.clone()));
        let tool = rejoinder::record::Fact::StepStarted(tool);
        store(&*db, &thread, vec![output(&run, format!("tool of {instance}"), tool)]).await;
        db.save_partials(&[partial(&thread, &run, &format!("text of {instance}"), "so far")]).await.unwrap();
        ids.push((thread, run));
        db.close().await;
    }
    let db = database.open_with(options("here")).await;
    assert_eq!(runs(&db.settle_left(None, after(1)).await.unwrap()).len(), if is_shared(database) { 0 } else { 2 });
    let settled: BTreeSet<StepId> =
        runs(&db.settle_left(Some("former"), after(1)).await.unwrap()).into_iter().collect();
    assert_eq!(settled, if is_shared(database) { [ids[0].1.clone()].into() } else { [].into() });
    let states = database.text("select cast(count(*) as text) from rejoinder_executions where state = 'lost'").await;
    assert_eq!(states.as_deref(), Some(if is_shared(database) { "1" } else { "2" }));
    let (here, run) = &ids[2];
    let late = record("late", message(here, "late", "x"));
    let late = rejoinder::record::Record { execution: Some(run.clone()), ..late };
    assert_eq!(store(&*db, here, vec![late]).await, [Stored::Appended(Some(4))], "what runs here goes on");
}

fn is_shared(database: &Database) -> bool {
    database.kind == Kind::Postgres
}

/// A thread that somebody holds is at work: the sweep passes it by and settles the others. Red when the sweep waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_a_sweep_waits_for_nobody() {
    let Some(database) = Database::postgres().await else { return };
    let gate = Gate::at(Point::AfterLock);
    let free = database.open_with(options("one")).await;
    let (held, other) = (begun(&*free).await, begun(&*free).await);
    let holder = database.open_with(OpenOptions { probes: Probes(Some(gate.clone())), ..options("holder") }).await;
    let late = vec![output(&held.1, "m", message(&held.0, "m", "just in time"))];
    let batch = [append(&held.0, late)];
    let appending = tokio::spawn(async move { holder.append(&batch).await.unwrap() });
    gate.arrival().await;
    assert_eq!(runs(&free.settle_lapsed(500, after(100)).await.unwrap()), [other.1]);
    gate.stay_open();
    assert_eq!(appending.await.unwrap(), [Ok(vec![Stored::Appended(Some(3))])]);
    assert_eq!(runs(&free.settle_lapsed(500, after(100)).await.unwrap()), [held.1]);
}

/// A lease that is being renewed is over or is not, never both: the sweep leaves it to whoever renews. Red when the sweep
/// does not lock the runs that it picks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_a_renewal_that_is_under_way_counts() {
    let Some(database) = Database::postgres().await else { return };
    let db = database.open_with(options("one")).await;
    let (_, run) = begun(&*db).await;
    let mut renewing = PgConnection::connect(database.url()).await.unwrap();
    let until = after(200).as_micros() / 1_000_000;
    let renewal = format!("begin; update rejoinder_executions set lease_until = to_timestamp({until})");
    renewing.execute(AssertSqlSafe(renewal)).await.unwrap();
    let settling = tokio::time::timeout(Duration::from_secs(1), db.settle_lapsed(500, after(100)));
    assert_eq!(settling.await.expect("it waits").unwrap(), []);
    renewing.execute("commit").await.unwrap();
    assert_eq!(db.settle_lapsed(500, after(100)).await.unwrap(), []);
    assert_eq!(runs(&db.settle_lapsed(500, after(201)).await.unwrap()), [run]);
}
