//! The cases of a resume by name, at the session layer. "Red when" says what a test is for; "made red" what was tried.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rejoinder::conversation::Show;
use rejoinder::id::ThreadId;
use rejoinder::protocol::ServerEvent;
use rejoinder::screen::Bounds;
use rejoinder::session::{Outbox, Owed};

use super::world::{Browser, Ledger, ROOM, Resume, World};

const OPENING: [&str; 3] = ["task_end", "clear_ask", "clear_call_fn"];

fn plan(world: &World, takes: u64, says: bool, fails: bool) {
    let resume = Resume { takes: Duration::from_millis(takes), says, fails };
    world.ledger.plan.lock().unwrap().push_back(resume);
}

fn resumed(world: &World) -> u32 {
    world.ledger.resumed.load(Ordering::Relaxed)
}

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

/// What a browser was told since it began to listen anew.
fn forget(browser: &Browser) {
    browser.heard.lock().unwrap().clear();
}

/// Red when `connect` starts the restore: a page that is dropped before its first event would have used it up.
#[tokio::test(start_paused = true)]
async fn a_socket_that_never_says_it_is_ready_restores_nothing() {
    let world = World::new(1, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(2)));
    for _ in 0..3 {
        browser.connect().await.noticed();
        world.settle().await;
    }
    assert_eq!(resumed(&world), 0);
    let _line = browser.open().await;
    world.settle().await;
    assert_eq!(resumed(&world), 1);
    assert_eq!(texts(&browser), ["old 0", "old 1"]);
}

/// Red when the phase goes back to `Fresh` once the socket is gone.
#[tokio::test(start_paused = true)]
async fn dropped_during_the_hook_the_next_socket_gets_marker_and_thread() {
    let world = World::new(2, Show::Stored);
    plan(&world, 500, false, false);
    let browser = Browser::new(&world, Some(world.thread(2)));
    let line = browser.open().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    line.noticed();
    world.settle().await;
    assert_eq!(resumed(&world), 1, "the hook went on");
    forget(&browser);
    let _line = browser.open().await;
    world.settle().await;
    assert_eq!(world.ledger.resume_calls.load(Ordering::Relaxed), 1);
    assert_eq!(browser.names(), [&OPENING[..], &["first_interaction", "resume_thread"]].concat());
}

/// A line that takes everything and brings nothing to the page. Made red: the screen forgets the thread that it handed out.
#[tokio::test(start_paused = true)]
async fn told_into_a_dead_line_the_thread_is_told_again() {
    let world = World::new(3, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(2)));
    let line = browser.connect().await;
    line.freeze();
    line.ready();
    world.settle().await;
    assert_eq!(resumed(&world), 1);
    assert_eq!(texts(&browser), Vec::<String>::new(), "nothing arrived");
    for _ in 0..2 {
        forget(&browser);
        let line = browser.connect().await;
        line.freeze();
        line.ready();
        world.settle().await;
    }
    let _line = browser.open().await;
    world.settle().await;
    assert_eq!(resumed(&world), 1);
    assert_eq!(browser.count("resume_thread"), 1);
    assert_eq!(texts(&browser), ["old 0", "old 1"]);
}

/// Red when the thread is said again although it was proven, or the marker alone is.
#[tokio::test(start_paused = true)]
async fn a_live_reconnect_replays_nothing_and_leaves_the_context_alone() {
    let world = World::new(4, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(3)));
    let line = browser.open().await;
    world.settle().await;
    line.say("before");
    world.settle().await;
    let before = world.ledger.contexts.lock().unwrap().last().cloned().unwrap();
    let shown = texts(&browser);
    line.noticed();
    for _ in 0..3 {
        forget(&browser);
        let line = browser.open().await;
        world.settle().await;
        assert_eq!(browser.count("first_interaction"), 0);
        assert_eq!(browser.count("resume_thread"), 0);
        assert_eq!(texts(&browser), shown);
        line.noticed();
    }
    let line = browser.open().await;
    line.say("after");
    world.settle().await;
    let after = world.ledger.contexts.lock().unwrap().last().cloned().unwrap();
    assert_eq!(after[..before.len()], before, "the context goes on where it was");
    assert_eq!(after.len(), before.len() + 2, "the answer and the new message came to it");
    assert_eq!(resumed(&world), 1);
}

/// Red when each socket starts a restore of its own.
#[tokio::test(start_paused = true)]
async fn five_reconnects_at_once_wait_for_one_restore() {
    let world = World::new(5, Show::Stored);
    plan(&world, 300, true, false);
    let browser = Browser::new(&world, Some(world.thread(2)));
    let mut lines = Vec::new();
    for _ in 0..5 {
        lines.push(browser.open().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.settle().await;
    assert_eq!(world.ledger.resume_calls.load(Ordering::Relaxed), 1);
    assert_eq!(texts(&browser), ["old 0", "old 1", "welcome back"]);
    assert!(!browser.page.lock().unwrap().is_loading());
}

/// Made red: the last to finish its login wins.
#[tokio::test(start_paused = true)]
async fn an_older_connection_whose_login_takes_longer_displaces_nobody() {
    let world = World::new(6, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(1)));
    let (older, newer) = (world.number(), world.number());
    let line = browser.connect_as(newer).await;
    line.ready();
    let late = browser.connect_as(older).await;
    late.ready();
    late.stop();
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0"], "the newer one is served, and the older one's stop counts for nothing");
    assert_eq!(resumed(&world), 1);
}

/// Red when a failed attempt keeps its context or what it said; made red: the next socket does not try again.
#[tokio::test(start_paused = true)]
async fn a_failing_hook_is_told_withdrawn_and_tried_again_by_the_next_socket() {
    let world = World::new(7, Show::Stored);
    plan(&world, 100, true, true);
    let browser = Browser::new(&world, Some(world.thread(2)));
    let line = browser.open().await;
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0", "old 1", "resume failed"], "the thread and the error, no welcome");
    assert!(!browser.page.lock().unwrap().is_loading());
    line.noticed();
    let line = browser.open().await;
    world.settle().await;
    assert_eq!((resumed(&world), world.ledger.resume_calls.load(Ordering::Relaxed)), (1, 2));
    line.say("now");
    world.settle().await;
    let context = world.ledger.contexts.lock().unwrap().last().cloned().unwrap();
    assert_eq!(context.len(), 3, "old 0, old 1, now: each once");
    assert_eq!(texts(&browser), ["old 0", "old 1", "now", "you said now"]);
}

/// Red when an event in the phase `Undone` is handled without a restore, or is dropped.
#[tokio::test(start_paused = true)]
async fn a_failing_hook_is_tried_again_by_the_next_event_which_is_then_answered() {
    let world = World::new(8, Show::Stored);
    plan(&world, 10, false, true);
    let browser = Browser::new(&world, Some(world.thread(1)));
    let line = browser.open().await;
    world.settle().await;
    line.say("hello again");
    world.settle().await;
    assert_eq!(resumed(&world), 1);
    assert_eq!(texts(&browser), ["old 0", "hello again", "you said hello again"]);
}

/// Made red: the error is forgotten as soon as it was handed over.
#[tokio::test(start_paused = true)]
async fn a_missing_thread_is_told_until_it_is_proven_and_then_never_again() {
    let world = World::new(9, Show::Stored);
    let missing = ThreadId::random();
    let browser = Browser::new(&world, Some(missing.clone()));
    for _ in 0..2 {
        let line = browser.connect().await;
        line.freeze();
        line.ready();
        world.settle().await;
    }
    let line = browser.open().await;
    world.settle().await;
    assert_eq!(browser.count("resume_thread_error"), 1);
    assert_eq!(world.ledger.greeted.load(Ordering::Relaxed), 1);
    // The id comes to life by this very session.
    line.say("first words");
    world.settle().await;
    for _ in 0..5 {
        forget(&browser);
        let line = browser.open().await;
        world.settle().await;
        assert_eq!(browser.count("resume_thread_error") + browser.count("resume_thread"), 0);
        line.noticed();
    }
    assert_eq!((resumed(&world), world.ledger.greeted.load(Ordering::Relaxed)), (0, 1));
    assert_eq!(texts(&browser), ["hello", "first words", "you said first words"]);
}

/// A message that is the first event of its socket. Red when it is handled before the restore, or wiped by the thread.
#[tokio::test(start_paused = true)]
async fn a_message_before_the_restore_waits_for_it_and_stays_on_the_page() {
    let world = World::new(10, Show::Stored);
    plan(&world, 200, true, false);
    let browser = Browser::new(&world, Some(world.thread(1)));
    let line = browser.connect().await;
    line.say("typed too early");
    tokio::time::sleep(Duration::from_millis(50)).await;
    line.ready();
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0", "welcome back", "typed too early", "you said typed too early"]);
    let context = world.ledger.contexts.lock().unwrap().last().cloned().unwrap();
    assert_eq!(context.len(), 3, "the hook saw the thread, the welcome and the message");
}

/// Made red: `stop` leaves what waits alone.
#[tokio::test(start_paused = true)]
async fn stop_during_a_restore_cancels_the_turns_that_wait() {
    let world = World::new(11, Show::Stored);
    plan(&world, 500, false, false);
    let browser = Browser::new(&world, Some(world.thread(1)));
    let line = browser.open().await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    line.say("never mind");
    tokio::time::sleep(Duration::from_millis(100)).await;
    line.stop();
    world.settle().await;
    assert!(world.ledger.answered.lock().unwrap().is_empty(), "no hook for it");
    assert!(texts(&browser).contains(&"never mind".to_owned()), "it is part of the conversation");
}

/// Several tabs on one thread. Made red: what is said while a tab is prepared is not kept for it.
#[tokio::test(start_paused = true)]
async fn a_second_tab_sees_what_was_said_while_it_came() {
    let world = World::new(12, Show::Stored);
    let thread = world.thread(1);
    plan(&world, 0, false, false);
    plan(&world, 300, false, false);
    let first = Browser::new(&world, Some(thread.clone()));
    let line = first.open().await;
    world.settle().await;
    let second = Browser::new(&world, Some(thread));
    let _second_line = second.open().await;
    line.say("while you came");
    world.settle().await;
    assert_eq!(texts(&first), ["old 0", "while you came", "you said while you came"]);
    assert_eq!(texts(&second), texts(&first));
    let context = world.ledger.contexts.lock().unwrap().last().cloned().unwrap();
    assert_eq!(context.len(), 2);
}

/// Red when a goodbye leaves the conversation, its task or the session behind.
#[tokio::test(start_paused = true)]
async fn a_session_ends_once_and_gives_everything_back() {
    let world = World::new(13, Show::Stored);
    let mut lines = Vec::new();
    for index in 0..20 {
        let wanted = (index % 2 == 0).then(|| world.thread(1));
        let browser = Browser::new(&world, wanted);
        let line = browser.open().await;
        world.settle().await;
        if index % 3 == 0 {
            line.clear();
        }
        line.noticed();
        lines.push(line);
    }
    tokio::time::sleep(Duration::from_secs(301)).await;
    world.sessions.sweep(tokio::time::Instant::now());
    world.settle().await;
    assert!(world.sessions.is_empty() && world.conversations.is_empty());
    assert_eq!(world.ledger.ended.load(Ordering::Relaxed), 20);
}

/// Red when any of them leaves something behind, or its end is told twice or never.
#[tokio::test(start_paused = true)]
async fn ten_thousand_that_never_come_back_leave_nothing() {
    const PAGES: usize = 10_000;
    let world = World::new(63, Show::Stored);
    for index in 0..PAGES {
        let wanted = (index % 2 == 0).then(|| world.thread(1));
        Browser::new(&world, wanted).open().await.noticed();
    }
    world.settle().await;
    assert_eq!(world.sessions.len(), PAGES);
    tokio::time::sleep(Duration::from_secs(301)).await;
    world.sessions.sweep(tokio::time::Instant::now());
    world.settle().await;
    assert!(world.sessions.is_empty() && world.conversations.is_empty());
    assert_eq!(world.ledger.ended.load(Ordering::Relaxed), u32::try_from(PAGES).unwrap());
}

/// Red when the run of a tab that left is stopped, or its end is told to nobody and stored nowhere.
#[tokio::test(start_paused = true)]
async fn a_run_outlives_its_session() {
    let world = World::new(14, Show::Stored);
    let thread = world.thread(1);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    line.say("going on");
    tokio::time::sleep(Duration::from_millis(60)).await;
    line.clear();
    line.noticed();
    world.settle().await;
    let late = Browser::new(&world, Some(thread));
    let _line = late.open().await;
    world.settle().await;
    assert_eq!(texts(&late), ["old 0", "going on", "you said going on"]);
}

/// Red when a shutdown cuts hooks at once, or leaves runs open.
#[tokio::test(start_paused = true)]
async fn a_shutdown_settles_what_runs() {
    let world = World::new(15, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(1)));
    let line = browser.open().await;
    world.settle().await;
    line.say("last");
    tokio::time::sleep(Duration::from_millis(60)).await;
    world.stop.cancel();
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0", "last", "you said last"], "the grace period was enough");
    let heard = browser.heard.lock().unwrap();
    let ended =
        heard.iter().any(|event| matches!(event, ServerEvent::UpdateMessage(step) if step.name == "on_message"));
    assert!(ended, "the run has its end");
    assert!(Arc::strong_count(&world.sessions) > 0);
}

/// Red when what waits for a page that does not read is kept event by event, or given up without being said again.
#[tokio::test(start_paused = true)]
async fn a_page_that_is_far_behind_gets_what_it_adds_up_to() {
    let outbox = Outbox::new(Bounds::default());
    let connection = rejoinder::session::ConnectionNumber(1);
    outbox.expect(connection);
    outbox.ready(connection);
    let mut step =
        rejoinder::protocol::Step::new("s".into(), "t".into(), rejoinder::protocol::StepKind::AssistantMessage, "a");
    step.streaming = true;
    outbox.show(ServerEvent::StreamStart(Arc::new(step)));
    for _ in 0..100_000 {
        outbox.show(ServerEvent::StreamToken(rejoinder::protocol::Token {
            id: "s".into(),
            token: "x".into(),
            is_sequence: false,
            is_input: false,
        }));
    }
    let mut page = rejoinder::screen::Page::default();
    let mut told = 0;
    while let Ok(Some(Owed::Events(batch))) =
        tokio::time::timeout(Duration::from_millis(1), outbox.next(connection, 64)).await
    {
        told += batch.len();
        batch.iter().for_each(|entry| page.apply(&entry.event));
    }
    assert!(told < 5000, "{told} events");
    assert_eq!(page.texts(), ["x".repeat(100_000)]);
}

/// A conversation that waits for its store takes note of a tab only afterwards. Red when the thread is read before that:
/// what was stored meanwhile is neither in what was read nor in what is kept for the tab.
#[tokio::test(start_paused = true)]
async fn a_tab_that_comes_while_the_conversation_is_busy_misses_nothing() {
    let world = World::new(61, Show::Stored);
    let thread = world.thread(2);
    let first = Browser::new(&world, Some(thread.clone()));
    let line = first.open().await;
    world.settle().await;
    *world.store.slow.lock().unwrap() = Some(Duration::from_secs(2));
    // Each takes all of the room, so the second one has to wait until the first one is stored.
    for name in ["one", "two"] {
        line.say(&format!("{name} {}", "x".repeat(ROOM)));
    }
    // On their way for some milliseconds.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let second = Browser::new(&world, Some(thread));
    second.open().await;
    world.settle().await;
    *world.store.slow.lock().unwrap() = None;
    world.settle().await;
    let shown = texts(&first);
    assert_eq!(shown.len(), 6, "two old ones, two questions and their answers");
    assert_eq!(texts(&second), shown);
}

/// The store is slow, so the thread waits in the feed for its turn after the hook is done. What the page sends meanwhile is
/// wiped from it by the thread, and comes again. Red when the session counts as restored before its page is told.
#[tokio::test(start_paused = true)]
async fn what_is_typed_while_the_thread_waits_for_its_turn_stays_on_the_page() {
    let world = World::new(62, Show::Stored);
    let thread = world.thread(2);
    let first = Browser::new(&world, Some(thread.clone()));
    let line = first.open().await;
    world.settle().await;
    *world.store.slow.lock().unwrap() = Some(Duration::from_secs(1));
    plan(&world, 100, false, false);
    let second = Browser::new(&world, Some(thread));
    let other = second.open().await;
    until(&world, |ledger| ledger.resume_calls.load(Ordering::Relaxed) == 2).await;
    line.say("one");
    until(&world, |ledger| ledger.resumed.load(Ordering::Relaxed) == 2).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(second.count("resume_thread"), 0, "the thread is still on its way");
    other.say("two");
    world.settle().await;
    *world.store.slow.lock().unwrap() = None;
    world.settle().await;
    let shown = texts(&second);
    assert!(shown.contains(&"two".to_owned()), "{shown:?}");
    assert_eq!(shown.len(), 6, "two old ones, two questions and their answers");
    assert_eq!(texts(&first), shown);
}

async fn until(world: &World, holds: impl Fn(&Ledger) -> bool) {
    while !holds(&world.ledger) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
