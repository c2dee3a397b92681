//! What a session keeps for a page is bounded; a page that missed more gets its whole thread again. "Red when" says what a
//! test is for; each mutation was tried.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rejoinder::conversation::Show;
use rejoinder::id::StepId;
use rejoinder::protocol::{ServerEvent, Toast, ToastKind};
use rejoinder::screen::Bounds;
use rejoinder::session::{ConnectionNumber, Outbox, Owed};
use rejoinder::{AppBuilder, Chat, UserMessage};

use super::world::{Browser, Line, World};
use crate::support::page::outline;

const FEW: Bounds = Bounds { steps: 10, bytes: 64 * 1024, waiting: 4096 };

/// Says as many messages as it is told to, or a text in so many tokens.
async fn talk(chat: Chat, message: UserMessage) -> rejoinder::Result {
    match message.text().split_once(' ') {
        Some(("say", count)) => {
            for number in 0..count.parse::<u32>()? {
                chat.say(format!("said {number}")).await?;
            }
        }
        Some(("stream", count)) => {
            let mut reply = chat.reply();
            for number in 0..count.parse::<u32>()? {
                reply.push(&format!("[{number}]")).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            reply.finish().await?;
        }
        Some(("ask", text)) => {
            let answer = chat.ask(text).timeout(Duration::from_secs(600)).await?;
            chat.say(format!("heard {answer:?}")).await?;
        }
        _ => {}
    }
    Ok(())
}

fn talkative(app: AppBuilder) -> AppBuilder {
    app.on_message(talk)
}

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

fn resumes(browser: &Browser) -> usize {
    browser.count("resume_thread")
}

/// Two tabs on a stored thread, both open: the one that is looked at, and the one that goes on.
async fn two(world: &Arc<World>) -> (Arc<Browser>, Arc<Line>, Arc<Browser>, Arc<Line>) {
    let thread = world.thread(3);
    let (left, other) = (Browser::new(world, Some(thread.clone())), Browser::new(world, Some(thread)));
    let (line, its) = (left.open().await, other.open().await);
    world.settle().await;
    line.prove_all();
    (left, line, other, its)
}

fn same(left: &Browser, other: &Browser) {
    let (left, other) = (left.page.lock().unwrap().clone(), other.page.lock().unwrap().clone());
    assert_eq!(outline(&left), outline(&other));
    assert!(!left.is_loading());
}

/// I-8, I-12. Red when a window over its bounds is kept, is not replaced by the thread, or brings a second resume.
#[tokio::test(start_paused = true)]
async fn a_page_that_missed_more_than_is_kept_gets_its_thread_once_and_no_hook_runs() {
    let world = World::bounded(81, Show::Stored, FEW, talkative);
    let (left, line, other, its) = two(&world).await;
    line.noticed();
    its.say("say 500");
    world.settle().await;
    assert!(
        world.sessions.figures().unproven_bytes < 4 * FEW.bytes,
        "{} bytes",
        world.sessions.figures().unproven_bytes
    );
    let resumed = world.ledger.resume_calls.load(Ordering::Relaxed);
    left.heard.lock().unwrap().clear();
    let line = left.open().await;
    world.settle().await;
    same(&left, &other);
    line.prove_all();
    assert_eq!(resumes(&left), 1);
    assert_eq!(left.count("first_interaction"), 0);
    assert_eq!(left.count("new_message"), 0, "the thread says all of it");
    assert_eq!(world.ledger.resume_calls.load(Ordering::Relaxed), resumed);
    // Once it is proven, it is over.
    line.say("say 2");
    world.settle().await;
    left.heard.lock().unwrap().clear();
    left.open().await;
    world.settle().await;
    assert_eq!(resumes(&left), 0);
    same(&left, &other);
}

/// I-8. Red when the profile or the settings of the thread come with it: a page would connect again, or lose its edits.
#[tokio::test(start_paused = true)]
async fn the_thread_that_comes_again_says_nothing_of_profile_and_settings() {
    let world = World::bounded(82, Show::Stored, FEW, talkative);
    let thread = rejoinder::id::ThreadId::random();
    let mut start = crate::support::records::start(&thread);
    if let rejoinder::record::Fact::ThreadStarted(start) = &mut start.fact {
        start.metadata.insert("chat_profile".into(), "Careful".into());
        start.metadata.insert("chat_settings".into(), serde_json::json!({"speed": 3}));
        start.metadata.insert("mood".into(), "fine".into());
    }
    world.store.put(&thread, vec![start]);
    let browser = Browser::new(&world, Some(thread));
    let line = browser.open().await;
    world.settle().await;
    line.prove_all();
    line.freeze();
    line.say("say 100");
    world.settle().await;
    browser.open().await;
    world.settle().await;
    let heard = browser.heard.lock().unwrap();
    let threads = heard.iter().filter_map(|event| match event {
        ServerEvent::ResumeThread(thread) => Some(thread.metadata.keys().map(String::as_str).collect::<Vec<_>>()),
        _ => None,
    });
    let threads: Vec<Vec<&str>> = threads.collect();
    assert_eq!(threads, [vec!["chat_profile", "chat_settings", "mood"], vec!["mood"]]);
}

/// I-8. Red when the thread is read once only, or what was said meanwhile is not folded into it.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_delays_the_thread_and_loses_nothing() {
    let world = World::bounded(83, Show::Stored, FEW, talkative);
    let (left, line, other, its) = two(&world).await;
    line.noticed();
    its.say("say 100");
    world.settle().await;
    world.store.away.store(true, Ordering::Relaxed);
    its.say("stream 300");
    left.heard.lock().unwrap().clear();
    left.open().await;
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(resumes(&left), 0);
    assert_eq!(left.count("new_message"), 0, "nothing is said on top of what is not there");
    world.store.away.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_eq!(resumes(&left), 1);
    same(&left, &other);
}

/// I-8. Red when a growing text is doubled, cut, or grows no more after its thread came again.
#[tokio::test(start_paused = true)]
async fn a_text_goes_on_growing_after_the_thread_came_again() {
    for bytes in [FEW.bytes, 3000] {
        let world = World::bounded(84, Show::Stored, Bounds { bytes, ..FEW }, talkative);
        let (left, line, other, its) = two(&world).await;
        its.say("stream 1000");
        tokio::time::sleep(Duration::from_secs(2)).await;
        line.noticed();
        // A turn beside it, which fills the window.
        its.say("say 30");
        tokio::time::sleep(Duration::from_secs(5)).await;
        left.heard.lock().unwrap().clear();
        let line = left.open().await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(resumes(&left), 1);
        assert!(left.count("stream_token") > 10, "it grows on the page");
        // And over the next line again.
        line.noticed();
        tokio::time::sleep(Duration::from_secs(5)).await;
        left.open().await;
        tokio::time::sleep(Duration::from_secs(200)).await;
        same(&left, &other);
        let whole: String = (0..1000).map(|number| format!("[{number}]")).collect();
        assert!(texts(&left).contains(&whole));
    }
}

/// I-12. Red when a conversation without a first interaction cannot say its thread, or a page of it is kept unbounded.
#[tokio::test(start_paused = true)]
async fn a_conversation_that_was_never_stored_comes_again_from_memory() {
    let world = World::bounded(85, Show::Stored, FEW, talkative);
    world.ledger.hellos.store(100, Ordering::Relaxed);
    let browser = Browser::new(&world, None);
    let line = browser.open().await;
    line.freeze();
    world.settle().await;
    assert!(world.sessions.figures().unproven_bytes < 4 * FEW.bytes);
    line.noticed();
    let line = browser.open().await;
    world.settle().await;
    let whole: Vec<String> =
        std::iter::once("hello".to_owned()).chain((0..100).map(|number| format!("hello {number}"))).collect();
    assert_eq!(texts(&browser), whole);
    assert_eq!((resumes(&browser), world.ledger.greeted.load(Ordering::Relaxed)), (1, 1));
    line.say("say 1");
    world.settle().await;
    assert_eq!(texts(&browser)[101..], ["say 1", "said 0"]);
}

/// I-8. Red when a question that is open is not asked again after the thread, or cannot be answered.
#[tokio::test(start_paused = true)]
async fn an_open_question_stands_after_the_thread_that_came_again() {
    let world = World::bounded(86, Show::Stored, FEW, talkative);
    let (left, line, other, its) = two(&world).await;
    line.noticed();
    its.say("say 100");
    world.settle().await;
    its.say("ask which");
    tokio::time::sleep(Duration::from_secs(5)).await;
    left.heard.lock().unwrap().clear();
    let line = left.open().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(left.names().last(), Some(&"ask"));
    let answer = serde_json::json!({"id": StepId::random(), "threadId": "", "name": "anna", "type": "user_message",
        "output": "this", "createdAt": "2026-01-01T10:00:00.000Z"});
    line.acknowledge("ask", answer);
    world.settle().await;
    assert!(texts(&other).iter().any(|text| text.starts_with("heard")), "{:?}", texts(&other));
}

/// I-6. Red when a message that was typed while the thread was on its way is wiped by it.
#[tokio::test(start_paused = true)]
async fn what_is_typed_while_the_thread_is_on_its_way_stays() {
    for wait in 0..60 {
        let world = World::bounded(87 + wait, Show::Stored, FEW, talkative);
        let (left, line, _, its) = two(&world).await;
        line.noticed();
        its.say("say 50");
        world.settle().await;
        let line = left.open().await;
        tokio::time::sleep(Duration::from_millis(3 * wait)).await;
        line.say("typed");
        world.settle().await;
        let shown = texts(&left);
        assert_eq!(shown.iter().filter(|text| *text == "typed").count(), 1, "after {wait}: {shown:?}");
        assert_eq!(shown.len(), 55, "after {wait}");
    }
}

/// I-8. Red when what a person was told alone, and no history has, goes with the thread that comes again.
#[tokio::test(start_paused = true)]
async fn a_notice_to_one_page_stays_on_it() {
    let world = World::bounded(88, Show::Stored, FEW, talkative);
    let (left, line, _, its) = two(&world).await;
    line.tell(Err(rejoinder::protocol::BadEvent::Message("no text")));
    world.settle().await;
    let notice = texts(&left).last().cloned().unwrap();
    line.prove_all();
    line.noticed();
    its.say("say 50");
    world.settle().await;
    left.open().await;
    world.settle().await;
    assert_eq!(resumes(&left), 2);
    assert_eq!(texts(&left)[3], notice, "in its old place");
    assert_eq!(texts(&left).len(), 55);
}

async fn take(outbox: &Outbox, connection: ConnectionNumber) -> Vec<(u64, ServerEvent)> {
    let mut taken = Vec::new();
    while let Ok(Some(Owed::Events(batch))) =
        tokio::time::timeout(Duration::from_millis(1), outbox.next(connection, 64)).await
    {
        taken.extend(batch.into_iter().map(|entry| (entry.number, entry.event)));
    }
    taken
}

fn message(number: usize, length: usize) -> ServerEvent {
    let kind = rejoinder::protocol::StepKind::AssistantMessage;
    let mut step = rejoinder::protocol::Step::new(format!("s{number}").into(), "t".into(), kind, "a");
    step.output = "x".repeat(length);
    ServerEvent::NewMessage(Arc::new(step))
}

/// I-8. Red when a note that is sent after something was given up proves what was given up (it did).
#[tokio::test(start_paused = true)]
async fn a_note_proves_nothing_of_what_was_given_up_before_it() {
    let outbox = Outbox::new(Bounds { waiting: 20, ..Bounds::default() });
    let connection = ConnectionNumber(1);
    outbox.expect(connection);
    outbox.ready(connection);
    take(&outbox, connection).await;
    (0..30).for_each(|number| outbox.show(message(number, 1)));
    outbox.show(ServerEvent::Toast(Toast { message: "!".into(), kind: ToastKind::Info }));
    let mut page = rejoinder::screen::Page::default();
    while let Ok(Some(Owed::Events(batch))) =
        tokio::time::timeout(Duration::from_millis(1), outbox.next(connection, 64)).await
    {
        // Each batch is proven before the next one is taken.
        batch.iter().for_each(|entry| page.apply(&entry.event));
        batch.last().into_iter().for_each(|last| outbox.proven(last.number));
    }
    assert_eq!((page.steps().count(), page.toasts()), (30, 1));
}

/// I-12. Red when what waits is bounded by its count alone, or one large event is given up in favour of the thread.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_slow_page_is_bounded_in_bytes() {
    let outbox = Outbox::new(Bounds { bytes: 1_000_000, ..Bounds::default() });
    let connection = ConnectionNumber(1);
    outbox.expect(connection);
    outbox.ready(connection);
    take(&outbox, connection).await;
    outbox.show(message(0, 2_000_000));
    assert_eq!(take(&outbox, connection).await.len(), 1, "one alone may be as large as it likes");
    // The same step again and again: the screen keeps one of them.
    for _ in 0..1000 {
        outbox.show(message(1, 100_000));
        assert!(outbox.unproven_bytes() < 2_100_000, "{}", outbox.unproven_bytes());
    }
}
