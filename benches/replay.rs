//! How fast a thread's events come out of the store over SSE: `cargo bench --bench replay`. A whole server; the reader
//! only counts. What counts is the processor that the server uses: the reader's own thread is taken off.
//! `REJOINDER_TEST_POSTGRES` measures a PostgreSQL database as well.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on says where")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rejoinder::config::Secret;
use rejoinder::hook::{PasswordLogin, UserMessage};
use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{Step, StepKind, Timestamp, User};
use rejoinder::record::{Fact, Record, Source, ThreadStart};
use rejoinder::store::{Append, OpenOptions, open};
use rejoinder::{App, Config, Server};
use tokio_util::sync::CancellationToken;

const EVENTS: usize = 100_000;
const ROUNDS: usize = 5;

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let url = format!("sqlite://{}", folder.path().join("bench.db").display());
    measure("SQLite", &url, folder.path()).await;
    if let Ok(url) = std::env::var("REJOINDER_TEST_POSTGRES") {
        measure("PostgreSQL", &url, folder.path()).await;
    }
}

async fn measure(name: &str, url: &str, folder: &std::path::Path) {
    let thread = ThreadId::random();
    fill(url, &thread).await;
    let app = App::new().on_password_login(sign_in).on_message(hear).build().unwrap();
    let config = Config {
        port: 0,
        database_url: Some(url.to_owned()),
        data_dir: folder.to_owned(),
        auth_secret: Some(Secret::from("a secret for a measurement")),
        ..Config::default()
    };
    let server = Server::bind(config, app).await.unwrap();
    let (addr, stop) = (server.local_addr(), CancellationToken::new());
    let serving = tokio::spawn(server.serve_until(stop.clone().cancelled_owned()));
    let cookie = tokio::task::spawn_blocking(move || login(addr)).await.unwrap();
    println!("{name}, {EVENTS} events of a message of some three hundred bytes:");
    for _ in 0..ROUNDS {
        let (thread, cookie) = (thread.clone(), cookie.clone());
        let Replay { took, processor, before, most } =
            tokio::task::spawn_blocking(move || replay(addr, &thread, &cookie)).await.unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a hundred thousand")]
        let events = EVENTS as f64;
        println!(
            "  {:>8.0} events/s, {:>8.0} events/s a core ({:.1} µs of processor an event), \
             {before} KiB of memory and at most {} more",
            events / took.as_secs_f64(),
            events / processor * 1e6,
            processor / events,
            most.saturating_sub(before),
        );
    }
    stop.cancel();
    serving.await.unwrap().unwrap();
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

/// Nobody says anything; an application without a hook is none.
async fn hear(_: UserMessage) -> rejoinder::Result {
    Ok(())
}

/// A thread of Ada's with so many messages.
async fn fill(url: &str, thread: &ThreadId) {
    let store = open(url, OpenOptions::default()).await.unwrap();
    let start = ThreadStart { user_identifier: Some("ada".into()), ..ThreadStart::default() };
    let mut records = vec![record(0, Fact::ThreadStarted(start))];
    for number in 1..EVENTS {
        let mut step = Step::new(StepId::random(), thread.clone(), StepKind::AssistantMessage, "Assistant");
        step.created_at = Some(now());
        step.output = "The quick brown fox jumps over the lazy dog. ".repeat(7);
        records.push(record(number, Fact::Message { step, interrupted: false }));
        if records.len() == 200 || number == EVENTS - 1 {
            let records = std::mem::take(&mut records);
            let append = Append { thread: thread.clone(), owner: Some("ada".into()), records, hinge: None };
            store.append(&[append]).await.unwrap().remove(0).unwrap();
        }
    }
    store.close().await;
}

fn record(number: usize, fact: Fact) -> Record {
    let id = format!("bench-{number}").into();
    Record { id, execution: None, source: Source::Assistant, produced_at: now(), fact }
}

fn now() -> Timestamp {
    rejoinder::clock::Clock::system().now()
}

fn login(addr: SocketAddr) -> String {
    let mut stream = TcpStream::connect(addr).unwrap();
    let form = "username=ada&password=x";
    let kind = "application/x-www-form-urlencoded";
    write!(
        stream,
        "POST /login HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{form}",
        form.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let cookies = answer.lines().filter_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next());
    cookies.collect::<Vec<_>>().join("; ")
}

/// What a replay cost.
struct Replay {
    took: Duration,
    /// Microseconds of processor that the server used.
    processor: f64,
    /// The memory of the process before it, in KiB.
    before: u64,
    /// The most memory that the process had meanwhile.
    most: u64,
}

/// Reads the stream until `ready`.
fn replay(addr: SocketAddr, thread: &ThreadId, cookie: &str) -> Replay {
    // Not zeros, whose memory would be counted when it is first used.
    let mut buffer = vec![1; 1 << 20];
    let before = resident();
    let mut stream = TcpStream::connect(addr).unwrap();
    let (began, all, own) = (Instant::now(), processor("self"), processor("thread-self"));
    write!(stream, "GET /sessions/{thread}/events HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n").unwrap();
    let (mut kept, mut most) = (Vec::new(), 0);
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "it ended: {}", String::from_utf8_lossy(&kept));
        // The end of what came is enough to find the one frame that is looked for.
        kept.extend_from_slice(&buffer[..count]);
        let end = kept.windows(12).any(|bytes| bytes == b"event: ready");
        if end {
            break;
        }
        kept.drain(..kept.len().saturating_sub(12));
        most = most.max(resident());
    }
    let processor = (processor("self") - all) - (processor("thread-self") - own);
    Replay { took: began.elapsed(), processor, before, most }
}

/// Microseconds of processor, where the system tells; a busy machine does not change it.
fn processor(of: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{of}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    // User and system time in hundredths of a second.
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10_000.0
}

/// The memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or_default()
}
