//! A person at the stock page, in a browser. The scenarios are in tests/js/page; what the person saw is kept under
//! target/screenshots.

use crate::support::database::Database;
use crate::support::program::{Launch, Program};
use crate::support::tool;

/// A server with the stock page, when there are a page and a browser.
async fn served(launch: Launch) -> Option<Program> {
    let launch = launch.with_page()?;
    if !tool::has_browser() {
        return None;
    }
    Some(launch.start().await)
}

/// Plays a scenario; `place` is where its screenshots go.
async fn play(scenario: &str, place: &str, launch: Launch) {
    let Some(mut command) = tool::node(&format!("page/{scenario}.mjs")) else { return };
    let Some(server) = served(launch).await else { return };
    command.arg(server.base()).arg(tool::project("target/screenshots").join(place));
    tool::succeeds(command).await;
}

macro_rules! scenarios {
    ($launch:ident: $($test:ident $scenario:literal,)*) => {
        $(#[tokio::test]
        async fn $test() {
            play($scenario, "sqlite", Launch::$launch()).await;
        })*
    };
}

scenarios! { reference:
    page_chat "chat",
    page_stop "stop",
    page_ask "ask",
    page_threads "threads",
    page_idle_cut "idle-cut",
    page_stream_cut "stream-cut",
    page_stop_cut "stop-cut",
    page_ask_cut "ask-cut",
    page_two_tabs "two-tabs",
    an_app_on_the_react_client "react-client",
}

scenarios! { surface:
    page_elements "elements",
    page_forms "forms",
    page_history "history",
    page_look "look",
    the_copilot_on_somebody_elses_page "copilot",
}

#[tokio::test]
async fn page_look_below_a_root_path() {
    play("look", "root", Launch::surface().root("/deep/down")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_elements_on_postgres() {
    let Some(database) = Database::postgres().await else { return };
    play("elements", "postgres", Launch::surface().on(&database)).await;
}

/// The page of client/observer, with a small server of its own that can be told to break.
#[tokio::test]
async fn the_observer_page() {
    let Some(mut command) = tool::node("page/observer.mjs") else { return };
    if !tool::has_browser() || tool::observer().is_none() {
        return;
    }
    command.arg("-").arg(tool::project("target/screenshots/observer"));
    tool::succeeds(command).await;
}

/// The observer beside the stock page, on the real server.
#[tokio::test]
async fn page_observe() {
    if tool::observer().is_some() {
        play("observe", "sqlite", Launch::reference()).await;
    }
}

#[tokio::test]
async fn page_demo() {
    play("demo", "demo", Launch::demo()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_chat_on_postgres() {
    let Some(database) = Database::postgres().await else { return };
    play("chat", "postgres", Launch::reference().on(&database)).await;
}
