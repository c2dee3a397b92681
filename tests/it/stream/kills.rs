//! Many kills beside a talking frontend: what a follower was told is true for ever.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use reqwest::Client;
use serde_json::Value;

use super::folded::{Folded, ids_of, messages_of};
use super::talk::Talk;
use crate::support::database::{Database, on_both};
use crate::support::page::{Visitor, sign_in};
use crate::support::program::Launch;
use crate::support::sse::{Frame, Sse, sequences};

on_both!(what_a_follower_was_told_survives_every_kill);

/// A reader that writes down what it is told, over all lives of the server.
struct Follower {
    visitor: Visitor,
    thread: String,
    /// Every event that it was told, by its number, without what depends on who reads.
    told: BTreeMap<u64, String>,
    /// The last position that it was given.
    last: Option<String>,
    frames: usize,
}

impl Follower {
    async fn open(&self, server: SocketAddr, after: Option<&str>) -> Option<Sse> {
        let request = Client::new().get(format!("http://{server}/sessions/{}/events", self.thread));
        let request = request.header("cookie", &self.visitor.cookie);
        Sse::open_if_there(match after {
            Some(after) => request.header("last-event-id", after),
            None => request,
        })
        .await
    }

    /// No number means two things.
    fn hear(&mut self, frame: &Frame) {
        self.frames += 1;
        assert_ne!(frame.name, "reset", "its position is good for ever: {frame:?} after {:?}", self.last);
        if frame.is_event() {
            let (number, event) = (frame.sequence(), frame.without_watermark());
            let known = self.told.entry(number).or_insert_with(|| event.clone());
            assert_eq!(*known, event, "{number} meant something else before");
        }
    }

    /// Follows until the server is gone.
    async fn follow(&mut self, server: SocketAddr) {
        let last = self.last.clone();
        let Some(mut stream) = self.open(server, last.as_deref()).await else { return };
        let mut next = last.as_deref().map(|id| id.split('.').nth(1).unwrap().parse::<u64>().unwrap() + 1);
        while let Some(frame) = stream.next().await {
            self.hear(&frame);
            if frame.is_event() {
                assert_eq!(frame.sequence(), next.unwrap_or(1), "without a hole and each once: {frame:?}");
                next = Some(frame.sequence() + 1);
            }
            self.last = frame.id.clone().or(self.last.take());
        }
    }

    /// Reads everything from the beginning: what was told is there, and nothing is missing. Gives the events.
    async fn check(&mut self, server: SocketAddr) -> Vec<Value> {
        let frames = self.open(server, None).await.expect("it is there").until("ready").await;
        frames.iter().for_each(|frame| self.hear(frame));
        let numbers = sequences(&frames);
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        assert_eq!(self.told.keys().copied().collect::<Vec<_>>(), numbers, "what was told is there");
        frames.iter().filter(|frame| frame.is_event()).map(Frame::json).collect()
    }
}

/// Show 2 of the records: I-1, I-29, I-34 over restarts. Red when the journal wakes, or a page is answered, before the
/// commit; when a run of a dead process is settled with another number than it was told under; when a number is taken from
/// memory. `REJOINDER_LONG` makes it fifty kills, `REJOINDER_SEED` brings a history back, as far as it goes in real time.
async fn what_a_follower_was_told_survives_every_kill(database: &Database) {
    let seed = std::env::var("REJOINDER_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    let kills = if std::env::var("REJOINDER_LONG").is_ok() { 50 } else { 5 };
    eprintln!("REJOINDER_SEED={seed}, {kills} kills");
    let mut random = StdRng::seed_from_u64(seed);
    let mut server = Launch::reference().on(database).start().await;
    let visitor = sign_in(server.addr(), "anna").await;
    let mut talk = Talk::new(visitor.page(), server.addr(), StdRng::seed_from_u64(random.random()));
    talk.come(server.addr()).await;
    talk.page.until_text("hello").await;
    talk.say("first").await;
    let thread = talk.page.thread();
    let mut follower =
        Follower { visitor: visitor.clone(), thread: thread.clone(), told: BTreeMap::new(), last: None, frames: 0 };
    let mut lost = 0;
    for _ in 0..kills {
        let addr = server.addr();
        let talking = tokio::spawn(async move {
            while talk.page.look(|seen| seen.is_open) {
                talk.turn().await;
            }
            talk
        });
        let following = tokio::spawn(async move {
            follower.follow(addr).await;
            follower
        });
        tokio::time::sleep(Duration::from_millis(random.random_range(50..1_200))).await;
        server.kill().await;
        talk = talking.await.unwrap();
        follower = following.await.unwrap();
        server = Launch::reference().on(database).start().await;
        let before = follower.told.len();
        let events = follower.check(server.addr()).await;
        lost += events.iter().filter(|event| event["type"] == "execution.lost").count();
        eprintln!("{before} events told before a kill, {} there after it", events.len());
        talk.come(server.addr()).await;
        talk.page.until("its thread", |seen| seen.count("resume_thread") == 1 && !seen.screen.is_loading()).await;
    }
    talk.say("and now").await;
    let stored = visitor.stored(server.addr(), &talk.page).await;
    let events = follower.check(server.addr()).await;
    let folded = Folded::of(&events);
    assert_eq!(folded.messages(), messages_of(&stored), "the folded state is the store's");
    assert_eq!(folded.ids(), ids_of(&stored));
    eprintln!("{} frames, {} events, {lost} times a lost run was read", follower.frames, events.len());
}
