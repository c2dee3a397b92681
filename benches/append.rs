//! How fast a SQLite file takes records: `cargo bench --bench append`. With ids, marks and the fold, every commit
//! on the disk (`synchronous=FULL`). `REJOINDER_TEST_POSTGRES` measures a PostgreSQL database as well.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on says where")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoinder::id::{StepId, ThreadId};
use rejoinder::journal::Journal;
use rejoinder::protocol::{Step, StepKind, Timestamp};
use rejoinder::record::{Fact, Record, Source, ThreadStart};
use rejoinder::store::{Append, OpenOptions, Store, open};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const THREADS: usize = 200;
const CALLERS: usize = 64;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let url = format!("sqlite://{}", folder.path().join("bench.db").display());
    measure("SQLite, FULL", &url).await;
    if let Ok(url) = std::env::var("REJOINDER_TEST_POSTGRES") {
        measure("PostgreSQL", &url).await;
    }
}

async fn measure(name: &str, url: &str) {
    let store = open(url, OpenOptions::default()).await.unwrap();
    let threads: Vec<ThreadId> = (0..THREADS).map(|_| ThreadId::random()).collect();
    let starts: Vec<Append> = threads.iter().map(|thread| append(thread, vec![start()])).collect();
    store.append(&starts).await.unwrap();
    println!("{name}:");
    for size in [100, 200, 400] {
        let (rate, cpu) = batches(&*store, &threads, size).await;
        println!("  {size:>4} records a batch: {rate:>7.0} records/s, {cpu:>4.0} µs of processor a record");
    }
    singles(store.clone(), &threads).await;
    store.close().await;
}

/// Records a second in batches over many threads, two records an append, for three seconds.
async fn batches(store: &dyn Store, threads: &[ThreadId], size: usize) -> (f64, f64) {
    let mut stored = 0_u32;
    let mut thread = threads.iter().cycle();
    let (began, processor) = (Instant::now(), processor());
    while began.elapsed() < Duration::from_secs(3) {
        let batch: Vec<Append> =
            (0..size / 2).filter_map(|_| thread.next()).map(|of| append(of, vec![message(of), message(of)])).collect();
        for outcome in store.append(&batch).await.unwrap() {
            stored += u32::try_from(outcome.unwrap().len()).unwrap();
        }
    }
    let used = self::processor() - processor;
    (f64::from(stored) / began.elapsed().as_secs_f64(), used / f64::from(stored))
}

/// Microseconds of processor that this process has used, where the system tells; a busy machine does not change it.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    // User and system time in hundredths of a second.
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10_000.0
}

/// One record at a time from many callers at once, through the journal.
async fn singles(store: Arc<dyn Store>, threads: &[ThreadId]) {
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let journal = Journal::start(store, &tracker, stop.clone());
    for callers in [1, CALLERS] {
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for caller in 0..callers {
            let (journal, thread) = (journal.clone(), threads[caller % threads.len()].clone());
            tasks.spawn(async move {
                let mut times = Vec::new();
                while began.elapsed() < Duration::from_secs(3) {
                    let submitted = Instant::now();
                    let receipt = journal.submit(append(&thread, vec![message(&thread)])).await;
                    receipt.await.unwrap().unwrap();
                    times.push(submitted.elapsed());
                }
                times
            });
        }
        let mut times: Vec<Duration> = tasks.join_all().await.into_iter().flatten().collect();
        times.sort_unstable();
        let rate = f64::from(u32::try_from(times.len()).unwrap()) / began.elapsed().as_secs_f64();
        let (half, most) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("  single appends, {callers:>2} callers: p50 {half:.1?}, p99 {most:.1?}, {rate:.0} records/s");
    }
    stop.cancel();
    tracker.close();
    tracker.wait().await;
}

fn append(thread: &ThreadId, records: Vec<Record>) -> Append {
    Append { thread: thread.clone(), owner: None, records, hinge: None }
}

fn now() -> Timestamp {
    rejoinder::clock::Clock::system().now()
}

fn start() -> Record {
    let fact = Fact::ThreadStarted(ThreadStart { name: Some("bench".into()), ..ThreadStart::default() });
    Record { id: "start".into(), execution: None, source: Source::App, produced_at: now(), fact }
}

/// A message of some three hundred bytes.
fn message(thread: &ThreadId) -> Record {
    let mut step = Step::new(StepId::random(), thread.clone(), StepKind::AssistantMessage, "Assistant");
    step.created_at = Some(now());
    step.output = "The quick brown fox jumps over the lazy dog. ".repeat(7);
    Record::derived(thread, None, 0, Source::Assistant, now(), Fact::Message { step, interrupted: false })
}
