//! The journal: order, group commit, patience, waking, what is written behind.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rejoinder::id::{StepId, ThreadId};
use rejoinder::journal::{Journal, JournalError, JournalSettings};
use rejoinder::protocol::{Step, StepKind};
use rejoinder::record::{Fact, Record};
use rejoinder::store::{LiveSession, Partial, Stored};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::database::Database;
use crate::support::fake_store::FakeStore;
use crate::support::records::{append, at, message, record, start, step};

struct Running {
    journal: Journal,
    store: Arc<FakeStore>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

fn running(store: FakeStore, settings: JournalSettings) -> Running {
    let (store, tracker, stop) = (Arc::new(store), TaskTracker::new(), CancellationToken::new());
    let journal = Journal::start_with(store.clone(), &tracker, stop.clone(), settings);
    Running { journal, store, tracker, stop }
}

impl Running {
    async fn end(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

fn note(thread: &ThreadId, id: &str) -> Record {
    record(id, message(thread, id, "x"))
}

/// Is a future still waiting after everything that can happen has happened?
async fn waits<F: Future>(future: F) -> bool {
    timeout(Duration::from_millis(1), future).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_stored_in_one_batch_and_in_order() {
    let running = running(FakeStore::gated(), JournalSettings::default());
    let thread = ThreadId::random();
    let mut receipts = Vec::new();
    for n in 0..5 {
        receipts.push(running.journal.submit(append(&thread, vec![note(&thread, &n.to_string())])).await);
        // The first one is on its way before the others come.
        sleep(Duration::from_millis(1)).await;
    }
    running.store.gate.as_ref().unwrap().add_permits(10);
    for (n, receipt) in (1..).zip(receipts) {
        assert_eq!(receipt.await, Ok(Ok(vec![Stored::Appended(Some(n))])));
    }
    assert_eq!(running.store.state().batches, [vec!["0"], vec!["1", "2", "3", "4"]]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_has_its_bounds() {
    let settings = JournalSettings { batch: 3, ..JournalSettings::default() };
    let running = running(FakeStore::gated(), settings);
    let thread = ThreadId::random();
    for n in 0..6 {
        let records = vec![note(&thread, &format!("{n}a")), note(&thread, &format!("{n}b"))];
        drop(running.journal.submit(append(&thread, records)).await);
    }
    running.store.gate.as_ref().unwrap().add_permits(100);
    running.end().await;
    let batches = running.store.state().batches.clone();
    assert!(batches.iter().all(|batch| batch.len() <= 3), "{batches:?}");
    assert_eq!(batches.concat().len(), 12, "dropping a receipt changes nothing");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_makes_its_callers_wait() {
    let settings = JournalSettings { queue: 2, batch: 1, ..JournalSettings::default() };
    let running = running(FakeStore::gated(), settings);
    let thread = ThreadId::random();
    // One is with the store, one is held for the next batch or in the queue, two are in the queue.
    let mut accepted = 0;
    while !waits(running.journal.submit(append(&thread, vec![note(&thread, &accepted.to_string())]))).await {
        accepted += 1;
    }
    assert!((3..=4).contains(&accepted), "{accepted}");
    running.store.gate.as_ref().unwrap().add_permits(100);
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "last")])).await;
    assert!(receipt.await.is_ok());
    let stored = running.store.state().batches.concat();
    assert_eq!(stored.len(), accepted + 1, "what was dropped before it had a place was not handed in: {stored:?}");
}

#[tokio::test(start_paused = true)]
async fn an_absent_store_is_waited_for_with_the_same_batch() {
    let running = running(FakeStore::default(), JournalSettings::default());
    let thread = ThreadId::random();
    running.store.state().away = 8;
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "a")])).await;
    assert_eq!(receipt.await, Ok(Ok(vec![Stored::Appended(Some(1))])));
    assert_eq!(running.store.state().batches, vec![vec!["a"]; 9]);
}

/// Red when: what was told to have failed is tried again.
#[tokio::test(start_paused = true)]
async fn patience_ends_and_the_journal_goes_on() {
    let running = running(FakeStore::default(), JournalSettings::default());
    let thread = ThreadId::random();
    running.store.state().away = 1_000;
    let began = Instant::now();
    let first = running.journal.submit_or_withdraw(append(&thread, vec![note(&thread, "a")])).await;
    let kept = running.journal.submit_patiently(append(&thread, vec![note(&thread, "b")])).await;
    assert_eq!(first.await, Err(JournalError::Unavailable));
    assert_eq!(began.elapsed(), Duration::from_secs(30));
    assert_eq!(kept.await, Err(JournalError::Unavailable));
    running.store.state().away = 0;
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "c")])).await;
    assert_eq!(receipt.await, Ok(Ok(vec![Stored::Appended(Some(2))])));
    let batches = running.store.state().batches.clone();
    assert_eq!(batches[batches.len() - 2..].concat(), ["b", "c"], "the first one is not tried again");
}

/// Records.md 3.5. Red when: an append is given up that nobody withdrew.
#[tokio::test(start_paused = true)]
async fn what_nobody_waits_for_is_tried_without_limit_of_time() {
    let running = running(FakeStore::default(), JournalSettings::default());
    let thread = ThreadId::random();
    running.store.state().away = 300;
    let began = Instant::now();
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "a")])).await;
    assert_eq!(running.journal.pending_of(&thread), 1);
    assert_eq!(receipt.await, Ok(Ok(vec![Stored::Appended(Some(1))])));
    let waited = began.elapsed();
    assert!((Duration::from_secs(600)..Duration::from_secs(1_500)).contains(&waited), "{waited:?}: 5 s with jitter");
    assert_eq!(running.journal.pending_of(&thread), 0);
}

/// I-28. Red when: something accepted makes room, the overflow is not marked, or another thread is held up.
#[tokio::test(start_paused = true)]
async fn i28_overflow_pushes_back_and_then_drops_only_what_is_new() {
    let settings =
        JournalSettings { thread_records: 10, push_back: Duration::from_secs(1), ..JournalSettings::default() };
    let running = running(FakeStore::default(), settings);
    let (thread, other) = (ThreadId::random(), ThreadId::random());
    running.store.state().away = usize::MAX;
    let mut receipts = Vec::new();
    for n in 0..15 {
        let began = Instant::now();
        receipts.push(running.journal.submit(append(&thread, vec![note(&thread, &n.to_string())])).await);
        assert_eq!(began.elapsed() >= Duration::from_secs(1), n >= 10, "{n}");
    }
    assert_eq!((running.journal.pending_of(&thread), running.journal.refused()), (10, 5));
    let began = Instant::now();
    let others = running.journal.submit(append(&other, vec![note(&other, "other")])).await;
    assert!(began.elapsed() < Duration::from_millis(1), "another thread has room of its own");
    running.store.state().away = 0;
    for (n, receipt) in (1..).zip(receipts) {
        let expected = if n <= 10 { Ok(Ok(vec![Stored::Appended(Some(n))])) } else { Err(JournalError::Full) };
        assert_eq!(receipt.await, expected, "{n}");
    }
    assert!(others.await.is_ok());
    sleep(Duration::from_secs(2)).await;
    assert_eq!(running.store.state().incomplete, [(thread, "pending_overflow".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn bytes_of_a_thread_and_of_all_are_bounded() {
    let settings = JournalSettings {
        thread_bytes: 2_000,
        queue_bytes: 3_000,
        push_back: Duration::from_secs(1),
        ..JournalSettings::default()
    };
    let running = running(FakeStore::default(), settings);
    running.store.state().away = usize::MAX;
    let (one, two) = (ThreadId::random(), ThreadId::random());
    let long = |thread: &ThreadId, id: &str| append(thread, vec![record(id, message(thread, id, &"x".repeat(1_200)))]);
    drop(running.journal.submit(long(&one, "a")).await);
    assert_eq!(running.journal.submit(long(&one, "b")).await.await, Err(JournalError::Full));
    drop(running.journal.submit(long(&two, "c")).await);
    let third = ThreadId::random();
    assert_eq!(running.journal.submit(long(&third, "d")).await.await, Err(JournalError::Full));
    running.store.state().away = 0;
    sleep(Duration::from_secs(10)).await;
    // What is larger than all of the room has all of it.
    let huge = append(&one, vec![record("e", message(&one, "e", &"x".repeat(10_000)))]);
    assert!(running.journal.submit(huge).await.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stop_writes_what_was_handed_in_and_takes_no_more() {
    let running = running(FakeStore::gated(), JournalSettings::default());
    let thread = ThreadId::random();
    let receipts = [
        running.journal.submit(append(&thread, vec![note(&thread, "a")])).await,
        running.journal.submit(append(&thread, vec![note(&thread, "b")])).await,
    ];
    running.stop.cancel();
    sleep(Duration::from_millis(1)).await;
    running.store.gate.as_ref().unwrap().add_permits(100);
    running.end().await;
    for receipt in receipts {
        assert!(receipt.await.is_ok());
    }
    let late = running.journal.submit(append(&thread, vec![note(&thread, "late")])).await;
    assert_eq!(late.await, Err(JournalError::Stopped));
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever() {
    let running = running(FakeStore::default(), JournalSettings::default());
    let thread = ThreadId::random();
    running.store.state().away = 1_000;
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "a")])).await;
    sleep(Duration::from_secs(1)).await;
    let began = Instant::now();
    running.end().await;
    assert!(began.elapsed() <= Duration::from_secs(11), "{:?}", began.elapsed());
    assert_eq!(receipt.await, Err(JournalError::Unavailable));
}

/// Red when: the wake comes before the commit, or at all when it fails (I-16).
#[tokio::test(start_paused = true)]
async fn followers_wake_after_the_commit_only() {
    let running = running(FakeStore::gated(), JournalSettings::default());
    let (thread, other) = (ThreadId::random(), ThreadId::random());
    let (mut mine, mut theirs) = (running.journal.follow(&thread), running.journal.follow(&other));
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "a"), note(&thread, "b")])).await;
    assert!(waits(mine.changed()).await, "nothing is announced that is not committed");
    running.store.gate.as_ref().unwrap().add_permits(1);
    mine.changed().await.unwrap();
    assert_eq!(*mine.borrow_and_update(), 2);
    assert!(receipt.await.is_ok());
    assert!(waits(theirs.changed()).await);

    running.store.state().away = 1_000;
    running.store.gate.as_ref().unwrap().add_permits(1_000);
    drop(running.journal.submit(append(&thread, vec![note(&thread, "c")])).await);
    assert!(timeout(Duration::from_secs(60), mine.changed()).await.is_err());
}

/// I-35. Red when the poll is taken out; when it asks for each thread alone.
#[tokio::test(start_paused = true)]
async fn a_wake_that_is_lost_is_made_up_for_by_a_poll() {
    let settings = JournalSettings { wakes: false, ..JournalSettings::default() };
    let running = running(FakeStore::default(), settings);
    let threads: Vec<ThreadId> = (0..3).map(|_| ThreadId::random()).collect();
    let mut followers: Vec<_> = threads.iter().map(|thread| running.journal.follow(thread)).collect();
    for thread in &threads[..2] {
        let receipt = running.journal.submit(append(thread, vec![note(thread, "a")])).await;
        assert!(receipt.await.is_ok());
    }
    let began = Instant::now();
    for follower in &mut followers[..2] {
        follower.changed().await.unwrap();
        assert_eq!(*follower.borrow_and_update(), 1);
    }
    assert!(began.elapsed() <= Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(running.journal.missed_wakes(), 2);
    // A thread without numbering may be one that is gone: its follower looks.
    followers[2].changed().await.unwrap();
    assert_eq!(*followers[2].borrow_and_update(), 0);
    let polls = running.store.state().polls;
    assert_eq!(polls, 1, "all in one statement");
    // Nobody is woken again for what is known.
    assert!(timeout(Duration::from_secs(60), followers[0].changed()).await.is_err());
    drop(followers);
    let polls = running.store.state().polls;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(running.store.state().polls, polls, "nobody follows");
}

/// Red when what was stored under a lost answer wakes nobody.
#[tokio::test(start_paused = true)]
async fn what_was_committed_without_an_answer_wakes_as_well() {
    let store = FakeStore::default();
    store.state().forgets_answers = 1;
    let running = running(store, JournalSettings::default());
    let thread = ThreadId::random();
    let mut follower = running.journal.follow(&thread);
    let receipt = running.journal.submit(append(&thread, vec![note(&thread, "a")])).await;
    assert_eq!(receipt.await, Ok(Ok(vec![Stored::Duplicate(Some(1))])));
    assert!(!waits(follower.changed()).await);
    assert_eq!(*follower.borrow(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_wakes_its_followers() {
    let running = running(FakeStore::default(), JournalSettings::default());
    let thread = ThreadId::random();
    let mut follower = running.journal.follow(&thread);
    running.journal.look(&thread);
    assert!(!waits(follower.changed()).await);
}

#[tokio::test(start_paused = true)]
async fn a_thread_that_nobody_follows_costs_nothing() {
    let running = running(FakeStore::default(), JournalSettings::default());
    let kept = running.journal.follow(&ThreadId::random());
    for _ in 0..100 {
        drop(running.journal.follow(&ThreadId::random()));
    }
    assert_eq!(running.journal.followed(), 101);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(running.journal.followed(), 1);
    drop(kept);
}

fn streaming(thread: &ThreadId, id: &str, text: &str) -> Partial {
    let mut step: Step = step(thread, id, StepKind::AssistantMessage, 1);
    (step.output, step.streaming) = (text.into(), true);
    Partial { thread: thread.clone(), execution: Some(StepId::from("run")), step }
}

#[tokio::test(start_paused = true)]
async fn a_streaming_step_is_gathered_and_written_as_it_stands() {
    let settings = JournalSettings { partial_every: Duration::from_secs(1), ..JournalSettings::default() };
    let running = running(FakeStore::default(), settings);
    let thread = ThreadId::random();
    for n in 0..100 {
        running.journal.partial(streaming(&thread, "m", &format!("text {n}")));
        sleep(Duration::from_millis(50)).await;
    }
    let written = running.store.state().partials.concat();
    assert!((5..=6).contains(&written.len()), "{}", written.len());
    // The final record takes along what was noted and not written.
    running.journal.partial(streaming(&thread, "m", "too late"));
    let receipt = running.journal.submit(append(&thread, vec![record("m", message(&thread, "m", "whole"))])).await;
    assert!(receipt.await.is_ok());
    sleep(Duration::from_secs(3)).await;
    assert!(running.store.state().partials.concat().iter().all(|partial| partial.step.output != "too late"));
}

#[tokio::test(start_paused = true)]
async fn live_tabs_are_written_in_batches_and_never_forgotten() {
    let running = running(FakeStore::default(), JournalSettings::default());
    running.store.state().away = 3;
    let tab = |hash: &str, greeted| LiveSession {
        hash: hash.into(),
        thread: "t".into(),
        owner: None,
        greeted,
        stored: false,
        seen_at: at(0),
    };
    for n in 0..100 {
        running.journal.remember(tab(&format!("tab{n}"), false));
        running.journal.remember(tab(&format!("tab{n}"), true));
    }
    running.journal.remember(tab("gone", true));
    running.journal.forget("gone");
    sleep(Duration::from_secs(2)).await;
    let state = running.store.state();
    assert_eq!(state.sessions.len(), 1, "in one batch, once the store is back");
    assert_eq!(state.sessions[0].len(), 100);
    assert!(state.sessions[0].iter().all(|tab| tab.greeted), "the last state counts");
    assert_eq!(state.forgotten, [vec!["gone"]]);
}

#[tokio::test]
async fn a_journal_over_a_real_store() {
    let database = Database::sqlite().await.unwrap();
    let (store, tracker, stop) = (database.open().await, TaskTracker::new(), CancellationToken::new());
    let journal = Journal::start(store.clone(), &tracker, stop.clone());
    let thread = ThreadId::random();
    let mut follower = journal.follow(&thread);
    let first = journal.submit(append(&thread, vec![start(&thread)])).await;
    let mut step = step(&thread, "m", StepKind::AssistantMessage, 1);
    step.output = "hello".into();
    let second = journal.submit(append(&thread, vec![record("m", Fact::Message { step, interrupted: false })])).await;
    assert_eq!(second.await, Ok(Ok(vec![Stored::Appended(Some(2))])));
    assert_eq!(first.await, Ok(Ok(vec![Stored::Appended(Some(1))])));
    follower.wait_for(|latest| *latest == 2).await.unwrap();
    assert_eq!(store.records(&thread, 1, None, 10).await.unwrap()[0].attributes()["content"], "hello");
    stop.cancel();
    tracker.close();
    tracker.wait().await;
}
