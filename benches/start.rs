//! How long a server takes from its start until it is ready: `cargo bench --bench start`. The program itself, on an empty
//! database and on one with a million records (`REJOINDER_BENCH_RECORDS` for another number). `REJOINDER_TEST_POSTGRES`
//! measures a PostgreSQL database as well.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on says where")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{Step, StepKind, Timestamp};
use rejoinder::record::{Fact, Record, Source, ThreadStart};
use rejoinder::store::{Append, OpenOptions, Store, open};

/// Records of a thread.
const LENGTH: usize = 100;
const ROUNDS: usize = 5;

fn main() {
    let records = std::env::var("REJOINDER_BENCH_RECORDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sqlite = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
    for round in 0..ROUNDS {
        report("SQLite, empty", start(&sqlite(&format!("empty-{round}.db")), folder.path()));
    }
    filled("SQLite", &sqlite("filled.db"), records, folder.path());
    if let Ok(url) = std::env::var("REJOINDER_TEST_POSTGRES") {
        // The first start makes the tables.
        report("PostgreSQL, empty", start(&url, folder.path()));
        filled("PostgreSQL", &url, records, folder.path());
    }
}

fn filled(name: &str, url: &str, records: usize, folder: &Path) {
    let began = Instant::now();
    tokio::runtime::Runtime::new().unwrap().block_on(fill(url, records));
    println!("{name}: {records} records stored in {:.1?}", began.elapsed());
    for _ in 0..ROUNDS {
        report(&format!("{name}, {records} records"), start(url, folder));
    }
}

fn report(name: &str, (answers, processor): (Duration, f64)) {
    println!("{name}: ready after {answers:.1?}, {processor:.0} ms of processor");
}

/// Starts the program; how long it took until it said that it is ready, and the milliseconds of processor until then.
fn start(url: &str, folder: &Path) -> (Duration, f64) {
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_rejoinder"))
        .args(["serve", "--port", "0", "--database-url", url, "--data-dir"])
        .arg(folder.join("data"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let port = log.find_map(|line| line.split_once("http://localhost:")?.1.split('/').next()?.parse().ok()).unwrap();
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    // Connections wait until it answers.
    let mut stream = TcpStream::connect(addr).unwrap();
    write!(stream, "GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (took, used) = (began.elapsed(), processor(child.id()));
    let stopped = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    // Nobody reads on, and its last words must not stop it.
    log.for_each(drop);
    child.wait().unwrap();
    (took, used)
}

/// Milliseconds of processor that a process has used, where the system tells, in steps of ten.
fn processor(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}

/// So many records in threads of a hundred.
async fn fill(url: &str, records: usize) {
    let store = open(url, OpenOptions::default()).await.unwrap();
    let mut batch = Vec::new();
    for _ in 0..records / LENGTH {
        let thread = ThreadId::random();
        let start = ThreadStart { user_identifier: Some("ada".into()), ..ThreadStart::default() };
        let mut all = vec![record(&thread, Source::App, Fact::ThreadStarted(start))];
        for _ in 1..LENGTH {
            let mut step = Step::new(StepId::random(), thread.clone(), StepKind::AssistantMessage, "Assistant");
            step.created_at = Some(now());
            step.output = "The quick brown fox jumps over the lazy dog. ".repeat(7);
            all.push(record(&thread, Source::Assistant, Fact::Message { step, interrupted: false }));
        }
        batch.push(Append { thread, owner: Some("ada".into()), records: all, hinge: None });
        if batch.len() == 10 {
            store_all(&*store, &mut batch).await;
        }
    }
    store_all(&*store, &mut batch).await;
    store.close().await;
}

async fn store_all(store: &dyn Store, batch: &mut Vec<Append>) {
    for outcome in store.append(batch).await.unwrap() {
        outcome.unwrap();
    }
    batch.clear();
}

fn record(thread: &ThreadId, source: Source, fact: Fact) -> Record {
    Record::derived(thread, None, 0, source, now(), fact)
}

fn now() -> Timestamp {
    rejoinder::clock::Clock::system().now()
}
