//! Promises that show at the session layer. "Red when" says what a test is for; "made red" what was tried.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rejoinder::conversation::Show;
use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{ClientEvent, ServerEvent};
use tokio::time::Instant;

use super::world::{Browser, World};
use crate::support::records;

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

/// Until the page shows an answer to `text`; how long that took.
async fn answered(browser: &Browser, text: &str) -> Duration {
    let (begin, wanted) = (Instant::now(), format!("you said {text}"));
    while !texts(browser).contains(&wanted) {
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", texts(browser));
    }
    begin.elapsed()
}

/// Promise 10. Made red: `is_known` and `once` are left out; either of them alone is enough.
#[tokio::test(start_paused = true)]
async fn the_same_message_again_is_answered_once() {
    let world = World::new(21, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    let id = StepId::random();
    for _ in 0..3 {
        line.say_as(id.clone(), "once");
        world.settle().await;
    }
    assert_eq!(world.ledger.answered.lock().unwrap().len(), 1);
    assert_eq!(texts(&browser), ["once", "you said once"]);
}

/// Promise 15: nothing is shown that is not stored, while the store answers in time. Made red: `wait = false`.
#[tokio::test(start_paused = true)]
async fn what_a_hook_says_is_shown_when_it_is_stored() {
    let world = World::new(22, Show::Stored);
    let thread = world.thread(0);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    *world.store.slow.lock().unwrap() = Some(Duration::from_millis(200));
    let before = browser.heard.lock().unwrap().len();
    line.say("patience");
    let mut told = before;
    while !texts(&browser).contains(&"you said patience".to_owned()) || browser.page.lock().unwrap().is_loading() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let kept = rejoinder::record::fold(&thread, &world.store.records(&thread)).steps;
        let heard = browser.heard.lock().unwrap().clone();
        for event in &heard[told..] {
            let (ServerEvent::NewMessage(step) | ServerEvent::UpdateMessage(step)) = event else { continue };
            let stored = kept.get(&step.id).expect("shown before it was stored");
            assert!(step.end.is_none() || stored.end.is_some(), "its end was shown before it was stored");
        }
        told = heard.len();
    }
    assert!(told > before + 4);
}

/// Promise 15, the other half: a slow store holds nobody up. Red when the head of the feed waits for ever; made red:
/// hooks do not wait for their message to be stored.
#[tokio::test(start_paused = true)]
async fn after_a_quarter_of_a_second_it_is_shown_all_the_same() {
    let world = World::new(23, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    *world.store.slow.lock().unwrap() = Some(Duration::from_secs(3));
    line.say("hurry");
    let took = answered(&browser, "hurry").await;
    // The message itself is stored before its hook is called: three seconds. The answer does not wait as long again.
    assert!(took > Duration::from_secs(3) && took < Duration::from_secs(5), "{took:?}");
}

/// A failed write reaches a person, and nothing is computed for a question that history does not know. Made red:
/// the hook is called in spite of it.
#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_stored_is_told_and_not_answered() {
    let world = World::new(24, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    world.store.away.store(true, Ordering::Relaxed);
    line.say("into the void");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.ledger.answered.lock().unwrap().is_empty());
    let told = texts(&browser);
    assert!(told.last().unwrap().contains("could not be saved"), "{told:?}");
    assert!(!browser.page.lock().unwrap().is_loading());
    world.store.away.store(false, Ordering::Relaxed);
    line.say("again");
    answered(&browser, "again").await;
}

/// Promise 22. Made red: a foreign thread is resumed.
#[tokio::test(start_paused = true)]
async fn somebody_elses_thread_looks_like_none() {
    let world = World::new(25, Show::Stored);
    let thread = ThreadId::random();
    world.store.put(&thread, vec![records::start_for(&thread, Some("bert"))]);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    assert_eq!(browser.count("resume_thread_error"), 1);
    line.say("mine");
    answered(&browser, "mine").await;
    assert_eq!(world.store.records(&thread).len(), 1, "nothing was written into it");
    let named = browser.heard.lock().unwrap().iter().find_map(|event| match event {
        ServerEvent::FirstInteraction { thread_id, .. } => Some(thread_id.clone()),
        _ => None,
    });
    assert_ne!(named, Some(thread));
}

/// Promise 22, the race: the row appears between CONNECT and the first interaction. Red when `NotYours` is an error.
#[tokio::test(start_paused = true)]
async fn a_thread_id_that_somebody_took_meanwhile_is_left_to_them() {
    let world = World::new(26, Show::Stored);
    let thread = ThreadId::random();
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    world.store.put(&thread, vec![records::start_for(&thread, Some("bert"))]);
    line.say("first");
    answered(&browser, "first").await;
    line.say("second");
    answered(&browser, "second").await;
    assert_eq!(world.store.records(&thread).len(), 1);
    assert_eq!(texts(&browser), ["hello", "first", "you said first", "second", "you said second"]);
}

/// Nothing is written before the first interaction. Red when the greeting is appended at once.
#[tokio::test(start_paused = true)]
async fn a_visitor_who_never_speaks_leaves_no_thread() {
    let world = World::new(27, Show::Stored);
    let thread = ThreadId::random();
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    line.stop();
    world.settle().await;
    assert!(texts(&browser).contains(&"hello".to_owned()));
    assert!(world.store.records(&thread).is_empty());
    line.say("now");
    answered(&browser, "now").await;
    let kept = rejoinder::record::fold(&thread, &world.store.records(&thread)).steps;
    assert!(kept.values().any(|step| step.output == "hello"), "what came before is stored with it");
}

/// A page that asks for the microphone of an application without ears is told so (chat-wire 2.9, M13). Red when
/// `audio_start` is ignored: the page goes on connecting.
#[tokio::test(start_paused = true)]
async fn a_recorder_that_nobody_hears_is_switched_off() {
    let world = World::new(28, Show::Stored);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.tell(Ok(ClientEvent::AudioStart));
    world.settle().await;
    let heard = browser.heard.lock().unwrap().clone();
    let answers = heard.into_iter().filter(|event| event.name() == "audio_connection").collect::<Vec<_>>();
    assert_eq!(answers, [ServerEvent::AudioConnection(false)]);
}
