//! The watchdog's beats: what is renewed, when nothing is settled, who is woken. Time is moved.

use std::sync::Arc;
use std::time::Duration;

use rejoinder::clock::Clock;
use rejoinder::id::{StepId, ThreadId};
use rejoinder::journal::{Journal, JournalError, JournalSettings, Watchdog, WatchdogSettings};
use rejoinder::protocol::Timestamp;
use rejoinder::record::EndReason;
use rejoinder::store::{Settled, Working};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::fake_store::FakeStore;
use crate::support::records::{append, message, output, record, run_ended};

struct Watched {
    store: Arc<FakeStore>,
    journal: Journal,
    watchdog: Watchdog,
    began: Instant,
}

fn watched(store: FakeStore, journal: JournalSettings, clock: Clock) -> Watched {
    let store = Arc::new(store);
    let journal = Journal::start_with(store.clone(), &TaskTracker::new(), CancellationToken::new(), journal);
    let watchdog = Watchdog::new(journal.clone(), clock, WatchdogSettings::default());
    Watched { store, journal, watchdog, began: Instant::now() }
}

impl Watched {
    fn new() -> Self {
        watched(FakeStore::default(), JournalSettings::default(), Clock::system())
    }

    async fn beats(&mut self, count: usize) {
        for _ in 0..count {
            self.watchdog.due().await;
            self.watchdog.beat().await;
        }
    }

    /// The runs of the next renewal.
    async fn renewed(&mut self) -> Vec<Working> {
        self.beats(1).await;
        self.store.state().renewed.last().cloned().unwrap()
    }

    /// What happened and when, in seconds since the beginning.
    fn happened(&self) -> Vec<(&'static str, u64)> {
        self.store.state().beats.iter().map(|(what, at)| (*what, (*at - self.began).as_secs())).collect()
    }
}

/// Red when: a server that has just begun settles what it finds; when it settles before it renews.
#[tokio::test(start_paused = true)]
async fn a_new_server_settles_nothing_for_a_lease() {
    let mut watched = Watched::new();
    watched.beats(5).await;
    let expected =
        [("renew", 0), ("renew", 30), ("renew", 60), ("renew", 90), ("settle", 90), ("renew", 120), ("settle", 120)];
    assert_eq!(watched.happened(), expected);
}

/// I-25. Red when: a failed renewal does not put the settling off; when the next one is not soon.
#[tokio::test(start_paused = true)]
async fn i25_after_an_outage_nothing_is_settled_for_a_lease() {
    let mut watched = Watched::new();
    watched.beats(4).await;
    watched.store.state().beats.clear();
    // It is away at 120, and again at 125 and 130.
    watched.store.state().away = 3;
    watched.beats(8).await;
    let expected = [
        ("renew", 120),
        ("renew", 125),
        ("renew", 130),
        ("renew", 135),
        ("renew", 165),
        ("renew", 195),
        ("renew", 225),
        ("settle", 225),
        ("renew", 255),
        ("settle", 255),
    ];
    assert_eq!(watched.happened(), expected);
}

/// Red when: an error of the settling itself does not count.
#[tokio::test(start_paused = true)]
async fn an_outage_that_is_seen_by_the_settling_counts_as_well() {
    let mut watched = Watched::new();
    watched.beats(3).await;
    watched.watchdog.due().await;
    watched.store.state().beats.clear();
    // The renewal is answered, the settling is not.
    let store = watched.store.clone();
    store.state().lapsed = vec![Settled { thread: ThreadId::random(), runs: vec![], steps: vec![], latest: None }];
    store.state().away_after = Some(1);
    watched.beats(2).await;
    assert_eq!(watched.happened()[..3], [("renew", 90), ("settle", 90), ("renew", 95)]);
    assert_eq!(watched.happened().len(), 3, "nothing is settled at once again");
}

/// A laptop was closed for an hour. Red when the clock is not asked how long a beat was waited for.
#[tokio::test(start_paused = true)]
async fn a_process_that_stood_still_settles_nothing_for_a_lease() {
    let clock = Clock::ticking_from(Timestamp::from_micros(1_796_000_000_000_000));
    let mut watched = watched(FakeStore::default(), JournalSettings::default(), clock.clone());
    watched.beats(4).await;
    watched.store.state().beats.clear();
    clock.forward(Duration::from_secs(3_600));
    watched.beats(4).await;
    let expected = [("renew", 120), ("renew", 150), ("renew", 180), ("renew", 210), ("settle", 210)];
    assert_eq!(watched.happened(), expected);
}

/// Red when: a run is let go with its conversation although its end is not stored; when an end that will never be stored
/// keeps it.
#[tokio::test(start_paused = true)]
async fn a_run_keeps_its_lease_until_its_end_is_stored() {
    let settings =
        JournalSettings { push_back: Duration::from_secs(1), thread_records: 2, ..JournalSettings::default() };
    let mut watched = watched(FakeStore::gated(), settings, Clock::system());
    let (thread, run) = (ThreadId::random(), StepId::random());
    let working = vec![(thread.clone(), run.clone())];
    let lease = watched.journal.leases().hold(&thread, &run);
    let again = watched.journal.leases().hold(&thread, &run);
    drop(again);
    assert_eq!(watched.renewed().await, working);
    let ended = |run: &StepId| append(&thread, vec![run_ended(&thread, run, EndReason::Completed)]);
    let receipt = watched.journal.submit(ended(&run)).await;
    drop(lease);
    assert_eq!(watched.renewed().await, working, "its end waits for the store");
    watched.store.gate.as_ref().unwrap().add_permits(1);
    assert!(receipt.await.is_ok());
    assert_eq!(watched.renewed().await, []);

    // An end that finds no place is never stored: a watchdog settles its run.
    let other = StepId::random();
    let lease = watched.journal.leases().hold(&thread, &other);
    for id in ["a", "b", "c"] {
        let text = output(&other, id, message(&thread, id, "x"));
        drop(watched.journal.submit(append(&thread, vec![text])).await);
    }
    assert_eq!(watched.journal.submit(ended(&other)).await.await, Err(JournalError::Full));
    assert_eq!(watched.renewed().await, [(thread.clone(), other)]);
    drop(lease);
    assert_eq!(watched.renewed().await, []);
}

/// Red when: what is settled past the journal wakes nobody, or what was overtaken is not handed on.
#[tokio::test(start_paused = true)]
async fn what_a_beat_finds_is_told() {
    let mut watched = Watched::new();
    watched.beats(3).await;
    let (thread, run) = (ThreadId::random(), StepId::random());
    let settled = Settled { thread: thread.clone(), runs: vec![run.clone()], steps: vec!["m".into()], latest: Some(7) };
    watched.store.state().lapsed = vec![settled.clone()];
    watched.store.state().overtaken = vec![(thread.clone(), run.clone())];
    let mut follower = watched.journal.follow(&thread);
    watched.watchdog.due().await;
    let found = watched.watchdog.beat().await;
    assert_eq!((found.settled, found.overtaken), (vec![settled], vec![(thread.clone(), run)]));
    assert!(follower.has_changed().unwrap());
    assert_eq!(*follower.borrow_and_update(), 7);
    // A commit of its own goes on as ever.
    let receipt = watched.journal.submit(append(&thread, vec![record("a", message(&thread, "a", "x"))])).await;
    assert!(receipt.await.is_ok());
}
