//! Readers that are slow, and replays that are long: each costs its own time and a bounded memory.

use std::time::{Duration, Instant};

use rejoinder::id::ThreadId;
use rejoinder::record::Record;
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::world::{anna, events, follow, say, streaming, thread_of};
use crate::support::database::Database;
use crate::support::page::sign_in;
use crate::support::program::Launch;
use crate::support::records::{ANNA, message, record, started};
use crate::support::server::Running;
use crate::support::sse::{Frame, Reader, Sse, sequences};

/// A reader with a small window, that reads when it is told.
struct Slow {
    stream: TcpStream,
    reader: Reader,
    /// What came and is not cut out of its chunks yet.
    raw: Vec<u8>,
    headers: bool,
}

impl Slow {
    async fn open(addr: std::net::SocketAddr, cookie: &str, path: &str) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(8 << 10).unwrap();
        socket.connect(&addr.into()).unwrap();
        socket.set_nonblocking(true).unwrap();
        let mut stream = TcpStream::from_std(socket.into()).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        Self { stream, reader: Reader::default(), raw: Vec::new(), headers: true }
    }

    /// Reads so many bytes at most; none at the end.
    async fn read(&mut self, most: usize) -> usize {
        let mut bytes = vec![0; most];
        let count = self.stream.read(&mut bytes).await.unwrap_or_default();
        self.raw.extend_from_slice(&bytes[..count]);
        if self.headers
            && let Some(end) = self.raw.windows(4).position(|four| four == b"\r\n\r\n")
        {
            assert!(self.raw.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&self.raw));
            self.raw.drain(..end + 4);
            self.headers = false;
        }
        while !self.headers {
            let Some(line) = self.raw.windows(2).position(|two| two == b"\r\n") else { break };
            let size = usize::from_str_radix(std::str::from_utf8(&self.raw[..line]).unwrap(), 16).unwrap();
            if self.raw.len() < line + 2 + size + 2 {
                break;
            }
            self.reader.add(&self.raw[line + 2..line + 2 + size]);
            self.raw.drain(..line + 2 + size + 2);
        }
        count
    }

    /// Everything to the end of the stream, or until something was seen.
    async fn frames(&mut self, mut until: impl FnMut(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            while let Some(frame) = self.reader.next() {
                let done = until(&frame);
                frames.push(frame);
                if done {
                    return frames;
                }
            }
            let read = tokio::time::timeout(Duration::from_secs(20), self.read(64 << 10)).await.expect("nothing comes");
            if read == 0 {
                return frames;
            }
        }
    }
}

/// Notes of some four thousand bytes.
async fn fill(server: &Running, thread: &ThreadId, sequences: std::ops::RangeInclusive<u64>) {
    let long = |number: u64| {
        let id = format!("{thread}-{number}");
        record(id.clone(), message(thread, &id, &format!("note {number} {}", "x".repeat(4_000))))
    };
    let records: Vec<Record> = sequences.map(long).collect();
    for records in records.chunks(50) {
        say(server, thread, records.to_vec()).await;
    }
}

/// I-37. Red when pages are queued instead of pulled; when a stuck write is waited for without an end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_hurts_nobody_and_loses_nothing() {
    const EVENTS: u64 = 2_000;
    const PATIENCE: Duration = Duration::from_secs(10);
    let database = Database::sqlite().await.unwrap();
    let server = streaming(&database, |streams| streams.patience = PATIENCE).await;
    let thread = thread_of(&server, 1).await;
    let cookie = sign_in(server.addr, ANNA).await.cookie;
    let path = format!("/sessions/{thread}/events");
    let mut stuck = Slow::open(server.addr, &cookie, &path).await;
    let mut pausing = Slow::open(server.addr, &cookie, &path).await;
    stuck.frames(|frame| frame.name == "ready").await;
    pausing.frames(|frame| frame.name == "ready").await;
    let person = anna(&server).await;
    let mut quick = follow(&person, &thread, "").await;
    quick.until("ready").await;
    let began = Instant::now();
    let reading = async {
        let mut came = Vec::new();
        while came.len() < EVENTS as usize - 1 {
            let frame = quick.next().await.unwrap();
            if frame.is_event() {
                came.push((frame.sequence(), Instant::now()));
            }
        }
        came
    };
    let (came, ()) = tokio::join!(reading, fill(&server, &thread, 2..=EVENTS));
    let written = began.elapsed();
    assert_eq!(came.iter().map(|(sequence, _)| *sequence).collect::<Vec<_>>(), (2..=EVENTS).collect::<Vec<_>>());
    let mut gaps: Vec<Duration> = came.windows(2).map(|two| two[1].1 - two[0].1).collect();
    gaps.sort_unstable();
    eprintln!("{EVENTS} events in {written:?}; between two of them p99 {:?}", gaps[gaps.len() * 99 / 100]);
    // Nobody waited for one that reads nothing: that takes as long as its patience.
    assert!(*gaps.last().unwrap() < PATIENCE, "{:?}", gaps.last());

    // It comes back while it may, and has everything.
    let frames = pausing.frames(|frame| frame.is_event() && frame.sequence() == EVENTS).await;
    assert_eq!(sequences(&frames), (2..=EVENTS).collect::<Vec<_>>());
    // The other one stays away for longer.
    tokio::time::sleep(PATIENCE + Duration::from_secs(2)).await;
    let frames = stuck.frames(|_| false).await;
    let [.., checkpoint, close] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!(close.json()["reason"], "slow_reader");
    let seen = sequences(&frames);
    assert!((2..EVENTS).contains(seen.last().unwrap()), "{:?}", seen.last());
    let again = events(&person, &thread, "").header("last-event-id", checkpoint.id.clone().unwrap());
    let rest = sequences(&Sse::open(again).await.until("ready").await);
    assert_eq!([seen, rest].concat(), (2..=EVENTS).collect::<Vec<_>>(), "each once");
}

/// I-36; with `REJOINDER_LONG` a hundred thousand. Made red: readers had the writer's cache of 64 MiB (31 MiB more). Red when a replay is queued in memory; when a page is as long as the rest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_replay_is_ready_in_flat_memory() {
    // The whole of it takes minutes without optimisation.
    let records = if std::env::var("REJOINDER_LONG").is_ok() { 100_000 } else { 20_000 };
    let database = Database::sqlite().await.unwrap();
    let db = database.open().await;
    let thread = started(&*db).await;
    crate::support::records::store(&*db, &thread, vec![record("two", message(&thread, "two", &"x".repeat(300)))]).await;
    db.close().await;
    // As the second record, a hundred thousand times: through the store it would take a minute.
    database
        .run(&format!(
            "with recursive numbers(n) as (select 3 union all select n + 1 from numbers where n < {records})
            insert into rejoinder_records (project_id, thread_id, record_id, sequence, entity_id, record_type,
                    record_source, attributes, content_hash, mark, produced_at, created_at)
                select project_id, thread_id, 'r' || n, n, 'e' || n, record_type, record_source, attributes,
                    content_hash, randomblob(8), produced_at, created_at
                from rejoinder_records, numbers where sequence = 2;
            update rejoinder_cursors set latest_sequence = {records},
                mark = (select mark from rejoinder_records where sequence = {records})"
        ))
        .await;
    let server = Launch::reference().on(&database).start().await;
    let visitor = sign_in(server.addr(), ANNA).await;
    let path = |after: u64| format!("/sessions/{thread}/events?after={after}");
    // Once through: from here on the readers' caches, of two megabytes each, are full.
    let mut warm = Slow::open(server.addr(), &visitor.cookie, &path(0)).await;
    warm.frames(|frame| frame.name == "ready").await;
    let before = memory(server.pid());
    let mut reader = Slow::open(server.addr(), &visitor.cookie, &path(0)).await;
    let (began, mut most, mut next, mut ready) = (Instant::now(), 0, 1, false);
    while !ready {
        assert!(reader.read(64 << 10).await > 0, "it ended at {next}");
        while let Some(frame) = reader.reader.next() {
            if frame.is_event() {
                assert_eq!(frame.sequence(), next);
                next += 1;
            }
            ready |= frame.name == "ready";
        }
        most = most.max(memory(server.pid()));
        if next % 50 == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!(next, records + 1);
    let grown = most.saturating_sub(before);
    eprintln!("{records} records in {:?}: {before} KiB before, {grown} KiB more", began.elapsed());
    assert!(grown < 8 << 10, "{grown} KiB more");
}

/// The memory of a process, in KiB.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
