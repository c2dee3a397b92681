//! I-26: the records. Whatever was acknowledged is there once, in order; what waited is stored; streams recover.

use std::time::{Duration, Instant};

use rejoinder::id::ThreadId;
use rejoinder::journal::{Journal, Receipt};
use rejoinder::server::Tuning;
use rejoinder::store::Stored;
use reqwest::{Method, StatusCode};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::world::{Place, in_each_outage, outages};
use crate::stream::world::{note, say, thread_of};
use crate::support::http::Person;
use crate::support::records::{ANNA, append};
use crate::support::server::password_app;
use crate::support::sse::{Frame, Sse, sequences};

in_each_outage!(i26_what_was_acknowledged_is_there_once_and_streams_recover);

/// Between two records: a hundred a second.
const EVERY: Duration = Duration::from_millis(10);

/// Red, where PostgreSQL is stopped, when the journal gives a batch up that it could not write. (Elsewhere its write hangs and
/// comes through.)
async fn i26_what_was_acknowledged_is_there_once_and_streams_recover(mut place: Place) {
    let (rounds, length) = outages();
    let server = place.serve(password_app(), Tuning::default()).await;
    let thread = thread_of(&server, 1).await;
    let person = server.person(ANNA).await;
    let writer = Writer::start(server.journal.clone(), thread.clone());
    let mut reader = Reader::start(&person, &thread).await;
    for _ in 0..rounds {
        let known = writer.acknowledged();
        writer.until(known + 20).await;
        reader.read_to(known + 20).await;
        let away = async {
            place.goes().await;
            tokio::time::sleep(length).await;
            let waiting = server.journal.pending_of(&thread);
            assert!(waiting > 20, "{waiting} records waited at the end of the outage");
            place.comes_back().await;
        };
        // The stream is read all the time, and comes back whenever it is closed.
        tokio::select! {
            () = away => {}
            () = reader.read_for_ever() => {}
        }
        // What is written from here on is acknowledged after everything that waited.
        let written = writer.written();
        writer.until(written + 1).await;
    }
    let stored = writer.stop().await;
    let last = stored.len() as u64 + 1;
    assert_eq!(stored, (2..=last).collect::<Vec<_>>(), "every record has its place, in the order of writing");
    reader.read_to(last).await;
    assert_eq!(reader.seen, (1..=last).collect::<Vec<_>>(), "each once, in order");
    eprintln!("{last} records, the stream was opened {} times", reader.opened);

    let db = server.journal.store();
    let records = db.records(&thread, 0, None, 1_000_000).await.unwrap();
    assert_eq!(records.len() as u64, last);
    for (number, record) in (1..).zip(&records).skip(1) {
        assert_eq!((record.sequence, record.id.as_str()), (Some(number), format!("{thread}-{number}").as_str()));
    }
    let snapshot = person.get(&format!("/sessions/{thread}")).await.json();
    assert_eq!((&snapshot["read"]["pending"], &snapshot["read"]["history_complete"]), (&0.into(), &true.into()));
    // And it goes on.
    assert_eq!(say(&server, &thread, vec![note(&thread, last + 1)]).await, [Stored::Appended(Some(last + 1))]);
}

/// Writes notes, a hundred a second, each with the number that it must get.
struct Writer {
    written: watch::Receiver<u64>,
    acknowledged: watch::Receiver<Vec<u64>>,
    stop: tokio_util::sync::CancellationToken,
    tasks: [JoinHandle<()>; 2],
}

impl Writer {
    fn start(journal: Journal, thread: ThreadId) -> Self {
        let stop = tokio_util::sync::CancellationToken::new();
        let (wrote, written) = watch::channel(1);
        let (acknowledge, acknowledged) = watch::channel(Vec::new());
        let (hand_over, mut receipts) = mpsc::unbounded_channel::<Receipt>();
        let stopped = stop.clone();
        let writing = tokio::spawn(async move {
            let mut beat = tokio::time::interval(EVERY);
            for number in 2.. {
                tokio::select! {
                    () = stopped.cancelled() => return,
                    _ = beat.tick() => {}
                }
                hand_over.send(journal.submit(append(&thread, vec![note(&thread, number)])).await).unwrap();
                wrote.send_replace(number);
            }
        });
        let answering = tokio::spawn(async move {
            while let Some(receipt) = receipts.recv().await {
                let stored = receipt.await.expect("it is tried without limit of time").unwrap();
                let [Stored::Appended(Some(number)) | Stored::Duplicate(Some(number))] = stored[..] else {
                    panic!("{stored:?}")
                };
                acknowledge.send_modify(|all| all.push(number));
            }
        });
        Self { written, acknowledged, stop, tasks: [writing, answering] }
    }

    /// The number of the last record that was handed in.
    fn written(&self) -> u64 {
        *self.written.borrow()
    }

    /// The highest number that was acknowledged.
    fn acknowledged(&self) -> u64 {
        self.acknowledged.borrow().last().copied().unwrap_or(1)
    }

    /// Waits until this number was acknowledged.
    async fn until(&self, number: u64) {
        let mut acknowledged = self.acknowledged.clone();
        let done = acknowledged.wait_for(|all| all.last().is_some_and(|last| *last >= number));
        let timely = tokio::time::timeout(Duration::from_secs(60), done).await.is_ok();
        assert!(timely, "{number} was never stored, {} was the last", self.acknowledged());
    }

    /// Writes no more; everything that was acknowledged, in that order.
    async fn stop(self) -> Vec<u64> {
        self.stop.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
        self.acknowledged.borrow().clone()
    }
}

/// Follows a thread, and comes back where a stream was closed as long as it is told to.
struct Reader<'a> {
    person: &'a Person<'a>,
    thread: ThreadId,
    stream: Option<Sse>,
    position: Option<String>,
    seen: Vec<u64>,
    opened: usize,
}

impl<'a> Reader<'a> {
    async fn start(person: &'a Person<'a>, thread: &ThreadId) -> Self {
        let thread = thread.clone();
        Self { person, thread, stream: None, position: None, seen: Vec::new(), opened: 0 }
    }

    async fn read_to(&mut self, number: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.seen.last().is_none_or(|last| *last < number) {
            assert!(Instant::now() < deadline, "{number} never came, {:?} was the last", self.seen.last());
            self.read().await;
        }
    }

    async fn read_for_ever(&mut self) {
        loop {
            self.read().await;
        }
    }

    /// One frame, or one try to come back. Cancel safe.
    async fn read(&mut self) {
        let Some(stream) = &mut self.stream else { return self.come_back().await };
        match stream.any_within(Duration::from_secs(30)).await {
            Some(Some(frame)) => self.take(&frame),
            Some(None) => self.stream = None,
            None => panic!("a stream says nothing, not even that it lives"),
        }
    }

    fn take(&mut self, frame: &Frame) {
        match frame.name.as_str() {
            "message" => self.seen.extend(sequences(std::slice::from_ref(frame))),
            "close" => assert_eq!(frame.json()["reason"], "unavailable"),
            "ready" | "checkpoint" | ":" | "retry" => {}
            other => panic!("{other}: {}", frame.data),
        }
        self.position = frame.id.clone().or(self.position.take());
    }

    async fn come_back(&mut self) {
        let mut request = self.person.request(Method::GET, &format!("/sessions/{}/events", self.thread));
        if let Some(position) = &self.position {
            request = request.header("last-event-id", position);
        }
        match Sse::try_open(request).await {
            Ok(stream) => (self.stream, self.opened) = (Some(stream), self.opened + 1),
            Err(answer) => {
                assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.text);
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}
