//! Two thousand random histories of one tab: sockets that die at any moment, several at once, hooks that fail.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rejoinder::conversation::Show;
use rejoinder::id::StepId;
use rejoinder::protocol::ServerEvent;
use rejoinder::screen::{Bounds, Page};
use rejoinder::store::Store;

use super::world::{Browser, Resume, World, answer};

/// How many; `REJOINDER_HISTORIES` says otherwise.
const HISTORIES: u64 = 2000;

/// Made red by hand: the screen forgets its thread when it is handed to a socket; a message that waited is not said again
/// after the thread; a restore that failed is not tried again by the next socket.
#[test]
fn whatever_happens_to_its_lines_a_tab_is_restored_once_and_ends_with_its_thread() {
    let seeds = match std::env::var("REJOINDER_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => {
            let count = std::env::var("REJOINDER_HISTORIES").map_or(HISTORIES, |count| count.parse().unwrap());
            let base: u64 = rand::random::<u32>().into();
            (base..base + count).collect()
        }
    };
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(history(seed))));
        if outcome.is_err() {
            panic!("REJOINDER_SEED={seed} fails");
        }
    }
}

async fn history(seed: u64) {
    let show = if seed.is_multiple_of(3) { Show::AtOnce } else { Show::Stored };
    // Every other tab is one for which next to nothing is kept: it gets its whole thread again and again.
    let bounds = Bounds { steps: if seed.is_multiple_of(2) { 2 } else { 1000 }, ..Bounds::default() };
    let world = World::bounded(seed, show, bounds, |app| app.on_message(answer));
    let stored = world.roll(4) > 0;
    let thread = stored.then(|| world.thread(world.roll(5) as usize));
    let failures = world.roll(3);
    for attempt in 0..6 {
        let plan = Resume {
            takes: Duration::from_millis(world.roll(120)),
            says: world.roll(2) == 0,
            fails: attempt < failures,
        };
        world.ledger.plan.lock().unwrap().push_back(plan);
    }
    let browser = Browser::new(&world, thread.clone());

    let mut lines = Vec::new();
    for _ in 0..2 + world.roll(6) {
        // A page opens one socket, or several in a hurry whose logins overtake each other.
        let mut numbers: Vec<_> = (0..1 + world.roll(2)).map(|_| world.number()).collect();
        if world.roll(2) == 0 {
            numbers.reverse();
        }
        for number in numbers {
            let line = browser.connect_as(number).await;
            world.pause(5).await;
            if world.roll(8) == 0 {
                line.say("before it was ready");
            }
            if world.roll(6) > 0 {
                line.ready();
            }
            lines.push(line);
        }
        world.pause(80).await;
        let line = lines.last().unwrap();
        match world.roll(5) {
            0 => drop(line.say("during")),
            1 => line.freeze(),
            _ => {}
        }
        world.pause(150).await;
        // Some lines die silently, some are noticed at once, some live on until they are replaced.
        for line in &lines {
            match world.roll(4) {
                0 => line.cut(),
                1 => line.noticed(),
                _ => {}
            }
        }
        world.pause(40).await;
    }

    // Now everything is well. Every new socket tries a restore again that failed.
    for _ in 0..failures + 2 {
        let line = browser.open().await;
        lines.push(line);
        world.settle().await;
    }
    let line = lines.last().unwrap();
    line.say("the last word");
    world.settle().await;
    check(&world, &browser, stored).await;
}

async fn check(world: &Arc<World>, browser: &Arc<Browser>, stored: bool) {
    let ledger = &world.ledger;
    let resumed = ledger.resumed.load(Ordering::Relaxed);
    assert_eq!(resumed, u32::from(stored), "on_chat_resume succeeds once for a stored thread");
    assert_eq!(ledger.greeted.load(Ordering::Relaxed), u32::from(!stored), "on_chat_start runs for new threads alone");

    let answered = ledger.answered.lock().unwrap().clone();
    let sent = browser.sent.lock().unwrap().clone();
    let unique: HashSet<&StepId> = answered.iter().collect();
    assert_eq!(unique.len(), answered.len(), "no message is answered twice");
    assert_eq!(unique, sent.iter().collect(), "every message that the server got is answered");

    let context = ledger.contexts.lock().unwrap().last().cloned().unwrap();
    let distinct: HashSet<&StepId> = context.iter().collect();
    assert_eq!(distinct.len(), context.len(), "the chat context holds every message once");

    let thread = context_thread(browser).unwrap_or_else(|| browser.wanted.clone().unwrap());
    let kept = world.store.thread(&thread).await.unwrap().expect("the thread is stored").thread;
    let mut whole = Page::default();
    whole.apply(&ServerEvent::ResumeThread(Arc::new(kept)));
    let lost = browser.lost.lock().unwrap().clone();
    let page = browser.page.lock().unwrap().clone();
    let shown: Vec<_> = page
        .tree()
        .into_iter()
        .filter(|(_, step)| !lost.contains(&step.id) && step.name != "Error")
        .map(|(depth, step)| (depth, step.id.clone(), step.output.clone(), step.streaming))
        .collect();
    let expected: Vec<_> = whole
        .tree()
        .into_iter()
        .map(|(depth, step)| (depth, step.id.clone(), step.output.clone(), step.streaming))
        .collect();
    let sorted = |mut list: Vec<(usize, StepId, String, bool)>| {
        list.sort();
        list
    };
    assert_eq!(sorted(shown), sorted(expected), "the page ends with the thread");
    assert!(!page.is_loading(), "nothing spins");
    let texts = whole.texts().into_iter().filter(|text| !text.is_empty()).count();
    assert_eq!(texts, context.len() + 1, "the context is the thread, up to the answer that was under way");
}

/// The thread that the tab has come to be on.
fn context_thread(browser: &Browser) -> Option<rejoinder::id::ThreadId> {
    browser.heard.lock().unwrap().iter().rev().find_map(|event| match event {
        ServerEvent::FirstInteraction { thread_id, .. } => Some(thread_id.clone()),
        _ => None,
    })
}
