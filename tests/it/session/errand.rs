//! Hooks that are neither run nor restore: settings, buttons. What they change is stored, what they fail with is told.

use std::time::Duration;

use rejoinder::conversation::Show;
use rejoinder::hook::Settings;
use rejoinder::id::{ActionId, ThreadId};
use rejoinder::protocol::{Action, ClientEvent, User, Widget, WidgetKind};
use rejoinder::{AppBuilder, Chat, HookError, UserMessage, UserSession};
use serde_json::{Map, Value, json};

use super::world::{ANNA, Browser, World};

async fn offers(chat: Chat, message: UserMessage) -> rejoinder::Result {
    if message.text() == "form" {
        let loud = Widget::new("loud", "Loud", WidgetKind::Switch { initial: false });
        chat.settings(vec![loud]).await?;
    }
    chat.say(Value::Object(chat.settings_values()).to_string()).await?;
    Ok(())
}

async fn updated(chat: Chat, settings: Settings, session: UserSession) -> rejoinder::Result {
    tokio::time::sleep(Duration::from_millis(100)).await;
    if settings.get("loud") == Some(&json!("wrong")) {
        return Err(HookError::tell("that is no switch"));
    }
    session.set("updated", true);
    chat.say("noted").await?;
    Ok(())
}

async fn press(chat: Chat, action: Action) -> rejoinder::Result<Value> {
    let n = action.payload.get("n").ok_or_else(|| HookError::tell("no n"))?.clone();
    chat.say(format!("pressed {n}")).await?;
    Ok(n)
}

fn with_errands(app: AppBuilder) -> AppBuilder {
    app.on_message(offers).on_settings_update(updated).on_action("press", press)
}

fn texts(browser: &Browser) -> Vec<String> {
    browser.page.lock().unwrap().texts().into_iter().map(str::to_owned).collect()
}

fn values(pairs: Value) -> Map<String, Value> {
    pairs.as_object().cloned().unwrap()
}

fn metadata(world: &World, thread: &ThreadId) -> Map<String, Value> {
    rejoinder::record::fold(thread, &world.store.records(thread)).head.metadata
}

#[tokio::test(start_paused = true)]
async fn confirmed_settings_are_the_sessions_and_come_back_with_the_thread() {
    let world = World::with(61, Show::Stored, with_errands);
    let thread = world.thread(0);
    let browser = Browser::new(&world, Some(thread.clone()));
    let line = browser.open().await;
    world.settle().await;
    line.say("form");
    world.settle().await;
    line.tell(Ok(ClientEvent::SettingsChange(values(json!({"loud": true})))));
    world.settle().await;
    assert_eq!(texts(&browser), ["form", r#"{"loud":false}"#, "noted"]);
    assert!(!browser.page.lock().unwrap().is_loading());
    assert_eq!(metadata(&world, &thread)["chat_settings"], json!({"loud": true}));
    assert_eq!(metadata(&world, &thread)["updated"], json!(true), "what the hook set is stored as well");
    line.clear();
    world.settle().await;

    let browser = Browser::new(&world, Some(thread));
    let line = browser.open().await;
    world.settle().await;
    line.say("form");
    world.settle().await;
    assert_eq!(texts(&browser).last().unwrap(), r#"{"loud":true}"#, "the form goes on with what the thread had");
}

/// A failure is told, and the page is not left waiting. Made red: without the indicator at an errand's end.
#[tokio::test(start_paused = true)]
async fn a_settings_hook_that_fails_is_told_and_unlocks_the_page() {
    let world = World::with(62, Show::Stored, with_errands);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.tell(Ok(ClientEvent::SettingsChange(values(json!({"loud": "wrong"})))));
    world.settle().await;
    assert_eq!(texts(&browser), ["that is no switch"]);
    assert!(!browser.page.lock().unwrap().is_loading());
}

/// A run that ends while the settings hook still works leaves that page locked until both are done.
#[tokio::test(start_paused = true)]
async fn a_page_stays_busy_until_the_last_of_run_and_errand_is_done() {
    let world = World::with(63, Show::Stored, with_errands);
    let browser = Browser::new(&world, Some(world.thread(0)));
    let line = browser.open().await;
    world.settle().await;
    line.tell(Ok(ClientEvent::SettingsChange(values(json!({"loud": true})))));
    line.say("hi");
    world.settle().await;
    let names = browser.names();
    let noted = names.iter().rposition(|name| *name == "new_message").unwrap();
    assert!(names[noted..].contains(&"task_end"), "{names:?}");
    assert!(!browser.page.lock().unwrap().is_loading());
}

#[tokio::test(start_paused = true)]
async fn a_button_answers_and_is_only_its_visitors() {
    let world = World::with(64, Show::Stored, with_errands);
    let browser = Browser::new(&world, None);
    browser.open().await;
    world.settle().await;
    let press = |payload: Value| Action {
        id: ActionId::random(),
        name: "press".into(),
        payload: values(payload),
        label: String::new(),
        tooltip: String::new(),
        icon: None,
        for_id: None,
    };
    assert!(world.sessions.visit(&browser.session, None).is_none());
    assert!(world.sessions.visit(&browser.session, Some(&User::new("bob"))).is_none());
    let visit = world.sessions.visit(&browser.session, Some(&User::new(ANNA))).unwrap();
    assert_eq!(visit.act(press(json!({"n": 3}))).await.unwrap(), json!(3));
    assert_eq!(visit.act(press(json!({}))).await.unwrap(), Value::Null);
    world.settle().await;
    assert_eq!(texts(&browser), ["hello", "pressed 3", "no n"]);
    // The first thing that a person does makes the thread, and it has the name of the button.
    assert_eq!(browser.count("first_interaction"), 1);
}
