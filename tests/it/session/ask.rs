//! Questions of every kind over several tabs and broken lines.

use std::sync::Arc;
use std::time::Duration;

use rejoinder::chat::{NewAction, NewElement};
use rejoinder::conversation::Show;
use rejoinder::protocol::{Action, ServerEvent};
use rejoinder::{AppBuilder, Chat, UserMessage};
use serde_json::{Map, json};

use super::world::{Browser, World};

async fn asks(chat: Chat, message: UserMessage) -> rejoinder::Result {
    let minute = Duration::from_secs(60);
    let said = match message.text() {
        "button" => {
            let question = chat.ask_action("which?").choice(NewAction::new("left")).choice(NewAction::new("right"));
            question.timeout(minute).await.map(|action| action.name)
        }
        "form" => {
            let form = NewElement::custom("Form", Map::new());
            chat.ask_element("fill in", form).timeout(minute).await.map(|form| form.values["name"].to_string())
        }
        _ => chat.call_fn("price", json!({"item": "tea"})).timeout(minute).await.map(|value| value.to_string()),
    };
    chat.say(match said {
        Ok(answer) => answer,
        Err(error) => error.to_string(),
    })
    .await?;
    Ok(())
}

fn with_questions(app: AppBuilder) -> AppBuilder {
    app.on_message(asks)
}

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

async fn until(browser: &Browser, event: &str) {
    let begin = tokio::time::Instant::now();
    while browser.count(event) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(begin.elapsed() < Duration::from_secs(30), "no {event} in {:?}", browser.names());
    }
}

fn buttons(browser: &Browser) -> Vec<Arc<Action>> {
    let heard = browser.heard.lock().unwrap();
    let mut buttons: Vec<Arc<Action>> = Vec::new();
    for event in &*heard {
        match event {
            ServerEvent::Action(action) => buttons.push(action.clone()),
            ServerEvent::RemoveAction(action) => {
                if let Some(place) = buttons.iter().position(|known| known.id == action.id) {
                    buttons.remove(place);
                }
            }
            _ => {}
        }
    }
    buttons
}

/// The first answer wins; the buttons go in every tab. Made red: the tab that came later was asked without its buttons.
#[tokio::test(start_paused = true)]
async fn a_question_with_buttons_is_answered_in_another_tab() {
    let world = World::with(51, Show::Stored, with_questions);
    let thread = world.thread(1);
    let first = Browser::new(&world, Some(thread.clone()));
    let line = first.open().await;
    world.settle().await;
    line.say("button");
    until(&first, "ask").await;
    let second = Browser::new(&world, Some(thread));
    let other = second.open().await;
    until(&second, "ask").await;
    let right = buttons(&second).into_iter().find(|action| action.name == "right").unwrap();
    other.acknowledge("ask", serde_json::to_value(&*right).unwrap());
    world.settle().await;
    line.acknowledge("ask", serde_json::to_value(&*right).unwrap());
    world.settle().await;
    for browser in [&first, &second] {
        assert_eq!(texts(browser), ["old 0", "button", "**Selected:** right", "right"]);
        assert!(buttons(browser).is_empty());
        let page = browser.page.lock().unwrap();
        assert!(page.question().is_none() && !page.is_loading());
    }
}

/// A button that was never offered, or one of another question, is no answer.
#[tokio::test(start_paused = true)]
async fn a_button_that_was_not_offered_is_no_answer() {
    let world = World::with(52, Show::Stored, with_questions);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.say("button");
    until(&browser, "ask").await;
    for value in [json!({"id": "made up", "name": "right"}), json!("right"), json!(7), json!([{"id": "x"}])] {
        line.acknowledge("ask", value);
    }
    world.settle().await;
    assert!(browser.page.lock().unwrap().question().is_some());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(texts(&browser), ["button", "Timed out: no action was taken", "nobody answered in time"]);
    assert!(buttons(&browser).is_empty());
}

/// After a reconnect the question is there with its buttons once, and can be answered.
#[tokio::test(start_paused = true)]
async fn a_question_with_buttons_survives_a_broken_line() {
    let world = World::with(53, Show::Stored, with_questions);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.say("button");
    until(&browser, "ask").await;
    line.noticed();
    let line = browser.open().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let offered = buttons(&browser);
    assert_eq!(offered.len(), 2, "each button once");
    line.acknowledge("ask", serde_json::to_value(&*offered[0]).unwrap());
    world.settle().await;
    assert_eq!(texts(&browser), ["button", "**Selected:** left", "left"]);
}

#[tokio::test(start_paused = true)]
async fn a_form_is_answered_and_goes() {
    let world = World::with(54, Show::Stored, with_questions);
    let thread = world.thread(0);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    line.say("form");
    until(&browser, "ask").await;
    line.acknowledge("ask", json!({"submitted": true, "name": "Ada"}));
    world.settle().await;
    assert_eq!(texts(&browser), ["form", "Thanks for submitting", "\"Ada\""]);
    assert_eq!((browser.count("element"), browser.count("remove_element")), (1, 1));
    let kept = rejoinder::record::fold(&thread, &world.store.records(&thread)).into_thread();
    assert!(kept.elements.is_empty(), "the form is not in the stored thread: {:?}", kept.elements);
}

/// A call that its page has got and cannot answer any more ends at once; one that it may never have got is made again.
/// Made red: without `lost_calls` the hook waited for its whole minute.
#[tokio::test(start_paused = true)]
async fn a_call_of_a_function_ends_with_the_line_that_brought_it() {
    let world = World::with(55, Show::Stored, with_questions);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.say("call");
    until(&browser, "call_fn").await;
    line.prove_all();
    line.noticed();
    browser.open().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(texts(&browser), ["call", "the page has lost its line"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_function_that_may_not_have_arrived_is_made_again() {
    let world = World::with(56, Show::Stored, with_questions);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.freeze();
    line.say("call");
    tokio::time::sleep(Duration::from_secs(1)).await;
    line.noticed();
    let line = browser.open().await;
    until(&browser, "call_fn").await;
    line.acknowledge("call_fn", json!(3));
    world.settle().await;
    assert_eq!(texts(&browser), ["call", "3"]);
    assert_eq!(browser.count("call_fn"), 1);
}

async fn until_asked(browser: &Browser, times: usize) {
    while browser.count("ask") < times {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn right(browser: &Browser, place: usize) -> serde_json::Value {
    let buttons = buttons(browser);
    let right = buttons.iter().filter(|action| action.name == "right").nth(place).unwrap();
    serde_json::to_value(&**right).unwrap()
}

/// A page shows one question, and drops it when any ends. Red when the other one that waits is not asked again: nobody could
/// answer it any more.
#[tokio::test(start_paused = true)]
async fn of_two_questions_the_first_is_asked_again_behind_the_second() {
    let world = World::with(57, Show::Stored, with_questions);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.say("button");
    until_asked(&browser, 1).await;
    line.say("button");
    until_asked(&browser, 2).await;
    line.acknowledge("ask", right(&browser, 1));
    until_asked(&browser, 3).await;
    assert!(browser.page.lock().unwrap().question().is_some());
    assert_eq!(buttons(&browser).len(), 2, "those of the first one, once");
    line.acknowledge("ask", right(&browser, 0));
    world.settle().await;
    let page = browser.page.lock().unwrap();
    assert!(page.question().is_none() && !page.is_loading());
    assert_eq!(page.texts().iter().filter(|text| **text == "right").count(), 2, "both were answered");
}

/// Red when the end of a question that the page does not show any more takes away the one that it shows.
#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_end_of_an_older_one() {
    let world = World::with(58, Show::Stored, with_questions);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.say("button");
    until_asked(&browser, 1).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    line.say("button");
    until_asked(&browser, 2).await;
    until(&browser, "ask_timeout").await;
    until_asked(&browser, 3).await;
    line.acknowledge("ask", right(&browser, 0));
    world.settle().await;
    let page = browser.page.lock().unwrap();
    assert!(page.question().is_none() && !page.is_loading());
    assert!(page.texts().contains(&"right"), "{:?}", page.texts());
}
