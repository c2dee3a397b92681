//! Editing: what followed is gone everywhere, one run answers anew, and nothing of the old one comes back.

use std::sync::Arc;

use rejoinder::conversation::Show;
use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{ClientEvent, EditedMessage, ServerEvent};
use rejoinder::record::{EndReason, Fact};

use super::world::{Browser, Line, World};
use crate::support::page::outline_of;

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

fn edit(line: &Line, id: &StepId, output: &str) {
    line.tell(Ok(ClientEvent::Edit(EditedMessage { id: id.clone(), output: output.into() })));
}

/// What is stored, as a page would be shown it.
fn stored(world: &World, thread: &ThreadId) -> Vec<String> {
    outline_of(rejoinder::record::fold(thread, &world.store.records(thread)).into_thread())
}

async fn opened(seed: u64) -> (Arc<World>, ThreadId, Arc<Browser>, Arc<Line>) {
    let world = World::new(seed, Show::Stored);
    let thread = world.thread(2);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    (world, thread, browser, line)
}

/// Made red: the outline does not follow what is said, so that only the children of the message went.
#[tokio::test(start_paused = true)]
async fn what_followed_an_edited_message_is_gone_everywhere() {
    let (world, thread, browser, line) = opened(41).await;
    let one = line.say("one");
    world.settle().await;
    line.say("two");
    world.settle().await;
    edit(&line, &one, "one, better");
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0", "old 1", "one, better", "you said one, better"]);
    let kept = stored(&world, &thread);
    assert!(!kept.iter().any(|line| line.contains("two") || line.contains("you said one\"")), "{kept:?}");
    // Another tab opens the thread from the store and sees the same.
    let other = Browser::new(&world, Some(thread));
    other.open().await;
    world.settle().await;
    assert_eq!(texts(&other), texts(&browser));
    assert_eq!(world.ledger.contexts.lock().unwrap().last().unwrap().len(), 3, "two old ones and the edited one");
}

/// A message that was written before this process: made red by keeping only what people wrote since.
#[tokio::test(start_paused = true)]
async fn a_message_of_a_resumed_thread_can_be_edited() {
    let (world, thread, _browser, line) = opened(42).await;
    let one = line.say("one");
    world.settle().await;
    line.clear();
    world.settle().await;
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    edit(&line, &one, "another one");
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0", "old 1", "another one", "you said another one"]);
}

/// The run under the message is superseded: it ends once, and nothing that it still says is shown or kept.
/// Made red: without `overruled`, the old answer went on below a run that was gone.
#[tokio::test(start_paused = true)]
async fn an_edit_supersedes_the_run_under_it() {
    let (world, thread, browser, line) = opened(43).await;
    let one = line.say("one");
    // The answer is being streamed.
    while browser.count("stream_token") == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    edit(&line, &one, "two");
    world.settle().await;
    assert_eq!(texts(&browser), ["old 0", "old 1", "two", "you said two"]);
    assert!(!browser.page.lock().unwrap().is_loading());
    let ends: Vec<EndReason> = world
        .store
        .records(&thread)
        .iter()
        .filter_map(|record| match &record.fact {
            Fact::RunEnded { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [EndReason::Superseded, EndReason::Completed]);
    assert_eq!(world.ledger.answered.lock().unwrap().len(), 2);
    // A run that was deleted is not spoken of again: a tab that joins just then would show it.
    let heard = browser.heard.lock().unwrap();
    let deleted = heard.iter().position(|event| matches!(event, ServerEvent::DeleteMessage(_))).unwrap();
    let ServerEvent::DeleteMessage(gone) = &heard[deleted] else { unreachable!() };
    let again = heard[deleted + 1..]
        .iter()
        .any(|event| matches!(event, ServerEvent::UpdateMessage(step) if step.id == gone.id));
    assert!(!again);
}

#[tokio::test(start_paused = true)]
async fn a_run_of_an_edit_can_be_stopped() {
    let (world, _thread, browser, line) = opened(44).await;
    let one = line.say("one");
    world.settle().await;
    edit(&line, &one, "two");
    while browser.count("task_start") < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    line.stop();
    world.settle().await;
    assert!(!browser.page.lock().unwrap().is_loading());
    assert!(texts(&browser).contains(&"Task manually stopped.".to_owned()));
    assert!(!texts(&browser).contains(&"you said two".to_owned()));
}

/// An edit that is sent while the line dies, and an edit of nothing: the composer is never left locked.
#[tokio::test(start_paused = true)]
async fn an_edit_of_an_unknown_message_unlocks_the_page() {
    let (world, _thread, browser, line) = opened(45).await;
    edit(&line, &StepId::random(), "what");
    world.settle().await;
    assert!(!browser.page.lock().unwrap().is_loading());
    assert_eq!(texts(&browser), ["old 0", "old 1"]);
}
