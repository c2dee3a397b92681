//! A thread that is read from the store stands as the pages stood that were there.

use std::time::Duration;

use rejoinder::conversation::Show;
use rejoinder::{AppBuilder, Chat, UserMessage};

use super::world::{Browser, World};

const HOUR: Duration = Duration::from_secs(3_600);

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

/// Red when times are taken as they are: what came last would stand first.
#[tokio::test(start_paused = true)]
async fn a_clock_that_goes_back_moves_nothing() {
    let world = World::new(51, Show::Stored);
    let thread = world.thread(2);
    world.clock.back(HOUR);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    line.say("one");
    world.settle().await;
    world.clock.back(HOUR);
    line.say("two");
    world.settle().await;
    let shown = texts(&browser);
    assert_eq!(shown, ["old 0", "old 1", "one", "you said one", "two", "you said two"]);

    let later = Browser::new(&world, Some(thread));
    later.open().await;
    world.settle().await;
    assert_eq!(texts(&later), shown);
}

/// Two answers, of which the one that is shown last says so with the older time, and is changed afterwards. Red when its
/// hook's time comes back with the change.
#[tokio::test(start_paused = true)]
async fn what_is_changed_keeps_its_place() {
    async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
        let mut said = chat.say(format!("a draft of {}", message.text())).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        said.update(format!("all of {}", message.text())).await?;
        Ok(())
    }
    let world = World::with(52, Show::Stored, |app: AppBuilder| app.on_message(answer));
    let thread = world.thread(1);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    line.say("one");
    tokio::time::sleep(Duration::from_millis(20)).await;
    world.clock.back(HOUR);
    line.say("two");
    world.settle().await;
    let shown = texts(&browser);
    assert_eq!(shown, ["old 0", "one", "all of one", "two", "all of two"]);

    let later = Browser::new(&world, Some(thread));
    later.open().await;
    world.settle().await;
    assert_eq!(texts(&later), shown);
}
