//! A server that is told to stop while it talks, and one that does not start.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::database::{Database, on_both};
use crate::support::person::Person;
use crate::support::program::Launch;

on_both! {
    told_to_stop_in_mid_stream_it_settles_what_runs_and_says_no_goodbye,
}

/// Grace period of the hooks, in seconds. The stream below would take a minute.
const GRACE: &str = "1";

async fn told_to_stop_in_mid_stream_it_settles_what_runs_and_says_no_goodbye(database: &Database) {
    let reference = || Launch::reference().on(database).arg("--shutdown-grace").arg(GRACE);
    let mut server = reference().start().await;
    let dora = Person::sign_in(server.base(), "dora").await;
    let mut visit = dora.visit("").await;
    visit.reads("hello").await;
    visit.say("/stream 600 100").await;
    visit.until(|name, _| name == "stream_token").await;

    let told = Instant::now();
    server.signal("TERM");
    let mut shown = String::new();
    let mut last = String::new();
    while let Some(packet) = visit.line().packet().await {
        assert!(!packet.starts_with("41"), "a page that is told DISCONNECT does not come back");
        if let Some((name, value)) = event(&packet)
            && value["name"] == "Assistant"
        {
            assert_eq!(name, "update_message", "{value}");
            text(&value["output"]).clone_into(&mut shown);
            assert_eq!(value["streaming"], false);
        }
        last = packet;
    }
    assert_eq!(server.end().await.code(), Some(0), "{}", server.log());
    assert!(told.elapsed() < Duration::from_secs(15), "{:?}", told.elapsed());
    assert!(shown.starts_with("t0 t1 ") && !shown.contains("t599"), "the page sees what became of it: {shown:?}");
    assert_eq!(event(&last).map(|(name, _)| name).as_deref(), Some("task_end"), "{last}");
    drop(server);

    let server = reference().start().await;
    let dora = Person::sign_in(server.base(), "dora").await;
    let [thread] = &dora.threads().await[..] else { panic!("one thread") };
    let stored = dora.thread(text(&thread["id"])).await;
    let steps = stored["steps"].as_array().unwrap();
    let run = steps.iter().find(|step| step["name"] == "on_message").unwrap();
    assert!(run["end"].is_string() && run["isError"] == true, "{run}");
    let kept = steps.iter().find(|step| step["parentId"] == run["id"]).unwrap();
    assert_eq!(text(&kept["output"]), shown, "what was seen is what was kept");
    let mut visit = dora.visit(text(&thread["id"])).await;
    visit.turn("still there").await;
    assert!(!server.log().contains("lost"), "nothing was left to settle:\n{}", server.log());
}

#[tokio::test]
async fn a_login_without_a_secret_does_not_start_and_says_what_to_do() {
    let (code, said) = Launch::reference().without("CHAINLIT_AUTH_SECRET").fails().await;
    assert_eq!(code, Some(1));
    assert!(said.contains("CHAINLIT_AUTH_SECRET"), "{said}");
    assert_eq!(said.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{said}");
}

/// The name and the argument of a packet that is an event.
fn event(packet: &str) -> Option<(String, Value)> {
    let array: Vec<Value> = serde_json::from_str(packet.strip_prefix("42")?).ok()?;
    Some((text(&array[0]).to_owned(), array.get(1).cloned().unwrap_or_default()))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
