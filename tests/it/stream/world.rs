//! A server whose threads are written from outside of it, and people who follow them.

use std::sync::Arc;

use rejoinder::http::{Point, StreamProbe, StreamSettings};
use rejoinder::id::ThreadId;
use rejoinder::record::Record;
use rejoinder::server::Tuning;
use rejoinder::store::Stored;
use reqwest::{Method, RequestBuilder};
use tokio::sync::Semaphore;

use crate::support::database::Database;
use crate::support::http::Person;
use crate::support::records::{ANNA, append, message, record, start};
use crate::support::server::{House, Running, password_app};
use crate::support::sse::Sse;

/// A server on a database.
pub async fn serve(database: &Database) -> Running {
    tuned(database, Tuning::default()).await
}

/// The same with other times and bounds inside.
pub async fn tuned(database: &Database, tuning: Tuning) -> Running {
    let url = database.url().to_owned();
    House::new().serve_tuned(password_app(), |config| config.database_url = Some(url), tuning).await
}

/// The same with other streams.
pub async fn streaming(database: &Database, set: impl FnOnce(&mut StreamSettings)) -> Running {
    let mut tuning = Tuning::default();
    set(&mut tuning.streams);
    tuned(database, tuning).await
}

/// Stores records of Anna's through the server, as its conversations do.
pub async fn say(server: &Running, thread: &ThreadId, records: Vec<Record>) -> Vec<Stored> {
    server.journal.submit(append(thread, records)).await.await.unwrap().unwrap()
}

/// A message with its own number.
pub fn note(thread: &ThreadId, number: u64) -> Record {
    let id = format!("{thread}-{number}");
    record(id.clone(), message(thread, &id, &format!("note {number}")))
}

/// A thread of Anna's with records 1 to `count`.
pub async fn thread_of(server: &Running, count: u64) -> ThreadId {
    let thread = ThreadId::random();
    say(server, &thread, vec![start(&thread)]).await;
    write(server, &thread, 2..=count).await;
    thread
}

/// Stores notes under these sequences.
pub async fn write(server: &Running, thread: &ThreadId, sequences: std::ops::RangeInclusive<u64>) {
    let notes: Vec<Record> = sequences.map(|number| note(thread, number)).collect();
    for notes in notes.chunks(200) {
        say(server, thread, notes.to_vec()).await;
    }
}

/// Anna, who has signed in.
pub async fn anna(server: &Running) -> Person<'_> {
    server.person(ANNA).await
}

/// A request for somebody's stream.
pub fn events(person: &Person<'_>, thread: &ThreadId, query: &str) -> RequestBuilder {
    person.request(Method::GET, &format!("/sessions/{thread}/events{query}"))
}

/// Somebody's stream.
pub async fn follow(person: &Person<'_>, thread: &ThreadId, query: &str) -> Sse {
    Sse::open(events(person, thread, query)).await
}

/// Streams that come to a point report, and wait to be let through.
pub struct Stop {
    point: Point,
    arrived: Semaphore,
    open: Semaphore,
}

impl Stop {
    pub fn at(point: Point) -> Arc<Self> {
        Arc::new(Self { point, arrived: Semaphore::new(0), open: Semaphore::new(0) })
    }

    pub async fn arrival(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    pub fn stay_open(&self) {
        self.open.add_permits(1_000_000);
    }
}

#[async_trait::async_trait]
impl StreamProbe for Stop {
    async fn reach(&self, point: Point) {
        if point == self.point {
            self.arrived.add_permits(1);
            self.open.acquire().await.unwrap().forget();
        }
    }
}
