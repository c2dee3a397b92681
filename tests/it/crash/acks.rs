//! I-29: what was acknowledged survives `kill -9`. A writer that is a process of its own says on a pipe what was
//! acknowledged, is killed in the middle of it, and the next one goes on.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::id::ThreadId;
use rejoinder::journal::Journal;
use rejoinder::store::{OpenOptions, Stored, verify};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::database::{Database, on_both};
use crate::support::records::{append, message, record, started};

on_both!(i29_what_was_acknowledged_survives_every_kill);

/// Records that wait for their answer at once.
const AT_ONCE: usize = 64;

/// What the child does: it writes until it is killed. It is run by the test below, by name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the child of the test below"]
async fn writer() {
    let Ok(url) = std::env::var("REJOINDER_CHILD_DATABASE") else { return };
    let thread = ThreadId::from(std::env::var("REJOINDER_CHILD_THREAD").unwrap());
    let round = std::env::var("REJOINDER_CHILD_ROUND").unwrap();
    let store = Database::existing(url).open_with(OpenOptions::default()).await;
    let journal = Journal::start(store, &TaskTracker::new(), CancellationToken::new());
    let room = Arc::new(Semaphore::new(AT_ONCE));
    for number in 0_u64.. {
        let place = room.clone().acquire_owned().await.unwrap();
        let id = format!("{round}-{number}");
        let text = record(id.clone(), message(&thread, &id, &"word ".repeat(1 + number as usize % 200)));
        let receipt = journal.submit(append(&thread, vec![text])).await;
        tokio::spawn(async move {
            let stored = receipt.await.unwrap().unwrap();
            let [Stored::Appended(Some(sequence))] = stored[..] else { panic!("{stored:?}") };
            // One write a line: what is in the pipe was said.
            std::io::stdout().lock().write_all(format!("ack {id} {sequence}\n").as_bytes()).unwrap();
            drop(place);
        });
    }
}

/// Lets a writer write until it has said so much, and kills it. Everything that it has said, by id.
fn write_and_kill(url: &str, thread: &ThreadId, round: usize, enough: usize) -> BTreeMap<String, u64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["crash::acks::writer", "--exact", "--ignored", "--nocapture"])
        .env("REJOINDER_CHILD_DATABASE", url)
        .env("REJOINDER_CHILD_THREAD", thread.as_str())
        .env("REJOINDER_CHILD_ROUND", round.to_string());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = BTreeMap::new();
    let mut take = |line: &str| {
        let mut words = line.split_whitespace();
        if words.next() == Some("ack") {
            said.insert(words.next().unwrap().to_owned(), words.next().unwrap().parse().unwrap());
        }
        said.len()
    };
    let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n').map_while(Result::ok);
    let mut is_dead = false;
    for line in lines {
        if take(&String::from_utf8(line).unwrap()) >= enough && !is_dead {
            // What is in the pipe by then is read all the same.
            child.kill().unwrap();
            is_dead = true;
        }
    }
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
    said
}

/// Red when the journal answers before it has committed. `REJOINDER_LONG` makes it twenty kills.
async fn i29_what_was_acknowledged_survives_every_kill(database: &Database) {
    let seed = std::env::var("REJOINDER_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    let kills = if std::env::var("REJOINDER_LONG").is_ok() { 20 } else { 5 };
    eprintln!("REJOINDER_SEED={seed}, {kills} kills");
    let mut random = StdRng::seed_from_u64(seed);
    let db = database.open_with(OpenOptions::default()).await;
    let thread = started(&*db).await;
    db.close().await;
    let mut acknowledged = BTreeMap::new();
    for round in 0..kills {
        let (url, of, enough) = (database.url().to_owned(), thread.clone(), random.random_range(1..1_500));
        let said = tokio::task::spawn_blocking(move || write_and_kill(&url, &of, round, enough)).await.unwrap();
        assert!(said.len() >= enough);
        acknowledged.extend(said);
    }
    let db = database.open_with(OpenOptions::default()).await;
    let records = db.records(&thread, 0, None, 1_000_000).await.unwrap();
    let sequences: Vec<u64> = records.iter().filter_map(|record| record.sequence).collect();
    assert_eq!(sequences, (1..=records.len() as u64).collect::<Vec<_>>());
    let stored: BTreeMap<String, u64> =
        records.iter().map(|record| (record.id.to_string(), record.sequence.unwrap())).collect();
    let missing: Vec<_> = acknowledged.iter().filter(|(id, sequence)| stored.get(*id) != Some(sequence)).collect();
    assert!(missing.is_empty(), "acknowledged and not stored: {missing:?}");
    assert_eq!(verify(&*db, &thread).await.unwrap(), [], "no row is torn");
    let unsaid = records.len() - 1 - acknowledged.len();
    eprintln!("{} acknowledged and stored, {unsaid} stored and not said", acknowledged.len());
}
