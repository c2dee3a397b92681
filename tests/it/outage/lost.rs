//! I-24: the runs of a process that was killed are lost, once, and everybody sees it.

use std::time::Duration;

use rejoinder::journal::WatchdogSettings;
use rejoinder::server::Tuning;
use rejoinder::store::Store;

use crate::stream::world::follow;
use crate::support::counted::Counted;
use crate::support::database::{Database, Kind, on_both};
use crate::support::page::{Page, sign_in};
use crate::support::program::Launch;
use crate::support::records::ANNA;
use crate::support::server::{House, Running};

on_both!(i24_a_killed_run_is_lost_once);

/// A server that looks after leases often. Its own begin with a minute and a half, as always.
async fn watchful(database: &Database) -> Running {
    let watchdog = WatchdogSettings { every: Duration::from_millis(100), ..WatchdogSettings::default() };
    let watchdog = WatchdogSettings { lease: Duration::from_millis(400), ..watchdog };
    let url = database.url().to_owned();
    let tuning = Tuning { watchdog, ..Tuning::default() };
    House::new().serve_tuned(Counted::new().app(), |config| config.database_url = Some(url), tuning).await
}

/// A page whose run is killed in the middle of a text: its thread.
async fn killed(database: &Database, data: &std::path::Path) -> String {
    let server = Launch::reference().on(database).in_data(data).start().await;
    let anna = sign_in(server.addr(), ANNA).await;
    let mut page = anna.page();
    page.come(server.addr()).await;
    page.until_text("hello").await;
    page.send("/stream 100000 5");
    let thread = async {
        loop {
            if database.count("rejoinder_partials").await > 0 {
                return page.thread();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let thread = tokio::time::timeout(crate::support::raw::SOON, thread).await.expect("a text is written down");
    server.kill().await;
    thread
}

/// Red when a settled run is settled again; when what a sweep finds is told to no page and no stream.
async fn i24_a_killed_run_is_lost_once(database: &Database) {
    let data = tempfile::tempdir().unwrap();
    let thread = killed(database, data.path()).await;
    if database.kind == Kind::Sqlite {
        // The file belongs to one process, and whoever comes next knows that it is the only one.
        for _ in 0..2 {
            let server = Launch::reference().on(database).in_data(data.path()).start().await;
            assert_eq!(lost(database, &thread).await, 1);
            server.kill().await;
        }
        let server = watchful(database).await;
        return check(&server, database, &thread).await;
    }
    let one = watchful(database).await;
    let person = one.person(ANNA).await;
    let thread_id = thread.as_str().into();
    let mut stream = follow(&person, &thread_id, "").await;
    let frames = stream.until("ready").await;
    assert!(!frames.iter().any(|frame| frame.data.contains("execution.lost")), "its lease is not over: {frames:#?}");
    let mut page = page_on(&one, &thread).await;
    page.until("a text that streams", |seen| seen.screen.steps().any(|step| step.streaming)).await;
    // A minute and a half later.
    database.run("update rejoinder_executions set lease_until = now() - interval '1 second'").await;
    let event = loop {
        let frame = stream.events(1).await.remove(0);
        if frame.json()["type"] == "execution.lost" {
            break frame.json();
        }
    };
    assert_eq!(
        (&event["payload"]["reason"], &event["payload"]["history_complete"]),
        (&"lease_expired".into(), &false.into())
    );
    page.until("the end of it all", |seen| {
        let open = |step: &rejoinder::protocol::Step| step.streaming || step.start.is_some() && step.end.is_none();
        !seen.screen.steps().any(open)
    })
    .await;
    // Another one, and two servers that may find it.
    let two = watchful(database).await;
    let other = killed(database, data.path()).await;
    database.run("update rejoinder_executions set lease_until = now() - interval '1 second'").await;
    let other_id = other.as_str().into();
    let mut stream = follow(&two.person(ANNA).await, &other_id, "").await;
    while stream.events(1).await[0].json()["type"] != "execution.lost" {}
    for thread in [&thread, &other] {
        assert_eq!(lost(database, thread).await, 1);
    }
    check(&two, database, &thread).await;
    // The conversation goes on.
    assert_eq!(page.ask("still there?").await, "echo: still there?");
}

async fn page_on(server: &Running, thread: &str) -> Page {
    let anna = sign_in(server.addr, ANNA).await;
    let mut page = anna.page_on(thread);
    page.come(server.addr).await;
    page
}

/// How many events say that a run of a thread is lost.
async fn lost(database: &Database, thread: &str) -> i64 {
    database.count(&format!("rejoinder_records where thread_id = '{thread}' and record_type = 'task_lost'")).await
}

async fn check(server: &Running, database: &Database, thread: &str) {
    assert_eq!(lost(database, thread).await, 1);
    let person = server.person(ANNA).await;
    let snapshot = person.get(&format!("/sessions/{thread}")).await.json();
    assert_eq!(snapshot["execution"]["state"], "lost");
    assert_eq!(snapshot["execution_state"]["state"], "idle");
    assert_eq!(snapshot["read"]["history_complete"], false);
    assert_eq!(snapshot["read"]["incomplete_reasons"], serde_json::json!(["execution_lost"]));
    let store: &dyn Store = &**server.journal.store();
    let stored = store.thread(&thread.into()).await.unwrap().unwrap().thread;
    assert!(stored.steps.iter().all(|step| !step.streaming));
}
