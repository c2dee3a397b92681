//! `kill -9` at the two moments that decide: before the commit there is nothing, after it everything (I-17, I-18).

use std::process::Command;
use std::time::{Duration, Instant};

use rejoinder::id::ThreadId;
use rejoinder::server::Tuning;
use rejoinder::store::probe::{Point, Probe, Probes};
use rejoinder::store::{StoreError, Stored};

use super::world::{anna, follow, note, serve, thread_of, tuned, write};
use crate::support::database::{Database, Kind, on_both};
use crate::support::records::{append, store};
use crate::support::sse::sequences;

on_both!(a_kill_before_the_commit_leaves_nothing, a_kill_between_commit_and_wake_only_delays);

/// Kills its own process at a point.
struct Kill(Point);

#[async_trait::async_trait]
impl Probe for Kill {
    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        if point == self.0 {
            let _ = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

/// What the child does: one record, at which it dies. It is run by the tests below, by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of the tests above"]
async fn child() {
    let Ok(url) = std::env::var("REJOINDER_CHILD_DATABASE") else { return };
    let thread = ThreadId::from(std::env::var("REJOINDER_CHILD_THREAD").unwrap());
    let point = match std::env::var("REJOINDER_CHILD_POINT").unwrap().as_str() {
        "after_insert" => Point::AfterInsert,
        "before_wake" => Point::AfterCommit,
        other => panic!("{other}"),
    };
    let database = Database::existing(url);
    let server =
        tuned(&database, Tuning { probes: Probes(Some(std::sync::Arc::new(Kill(point)))), ..Tuning::default() }).await;
    write(&server, &thread, 2..=2).await;
    unreachable!("it was killed");
}

/// Runs the child until it is dead.
async fn die(database: &Database, thread: &ThreadId, point: &'static str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["stream::crash::child", "--exact", "--ignored", "--nocapture"])
        .env("REJOINDER_CHILD_DATABASE", database.url())
        .env("REJOINDER_CHILD_THREAD", thread.as_str())
        .env("REJOINDER_CHILD_POINT", point);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let killed = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(
        killed,
        Some(9),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// I-17. Red when the record is stored outside of the transaction that numbers it.
async fn a_kill_before_the_commit_leaves_nothing(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 1).await;
    server.stop().await;
    die(database, &thread, "after_insert").await;
    let db = database.open().await;
    assert_eq!(db.cursor(&thread).await.unwrap().unwrap().latest, 1, "no number is used");
    assert_eq!(db.records(&thread, 1, None, 10).await.unwrap(), []);
    assert_eq!(store(&*db, &thread, vec![note(&thread, 2)]).await, [Stored::Appended(Some(2))]);
    db.close().await;
    let server = serve(database).await;
    let frames = follow(&anna(&server).await, &thread, "?after=1").await.until("ready").await;
    assert_eq!(sequences(&frames), [2]);
}

/// I-18. Red, on PostgreSQL, when the poll is taken out.
async fn a_kill_between_commit_and_wake_only_delays(database: &Database) {
    let mut server = serve(database).await;
    let thread = thread_of(&server, 1).await;
    if database.kind == Kind::Sqlite {
        // The file belongs to one process: the reader comes back after the restart.
        server.stop().await;
        die(database, &thread, "before_wake").await;
        server = serve(database).await;
        let frames = follow(&anna(&server).await, &thread, "?after=1").await.until("ready").await;
        assert_eq!(sequences(&frames), [2]);
    } else {
        let person = anna(&server).await;
        let mut stream = follow(&person, &thread, "").await;
        stream.until("ready").await;
        die(database, &thread, "before_wake").await;
        let dead = Instant::now();
        assert_eq!(sequences(&stream.events(1).await), [2]);
        assert!(dead.elapsed() < Duration::from_secs(7), "{:?}", dead.elapsed());
    }
    let again = server.journal.submit(append(&thread, vec![note(&thread, 2)])).await;
    assert_eq!(again.await, Ok(Ok(vec![Stored::Duplicate(Some(2))])));
}
