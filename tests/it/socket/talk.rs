//! The ordinary talk of a page and its session.

use rejoinder::line::Timeouts;
use rejoinder::protocol::{BadEvent, ClientEvent, ServerEvent};
use rejoinder::session::ConnectionNumber;
use rejoinder::socket::Config;
use serde_json::{Value, json};

use super::house::{Doorman, House};
use crate::support::poll::Polling;
use crate::support::raw::Raw;

#[tokio::test]
async fn a_page_and_its_session_hear_each_other() {
    let house = House::open().await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    page.emit("connection_successful", &[]).await;
    tab.until("event", |state| (state.said == [Ok(ClientEvent::ConnectionSuccessful)]).then_some(())).await;
    tab.push(ServerEvent::TaskEnd);
    tab.push(ServerEvent::SetSidebarTitle("t".into()));
    assert_eq!(page.event().await.unwrap(), ("task_end".into(), json!({})));
    assert_eq!(page.event().await.unwrap(), ("set_sidebar_title".into(), json!("t")));
    drop(page);
    tab.until_gone(1).await;
}

/// Red when an event is handled in a task of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_thousand_events_keep_their_order() {
    let house = House::open().await;
    let mut page = Raw::connect(house.address, "S").await;
    for number in 0..20_000 {
        page.feed(&format!("42[\"window_message\",{number}]")).await;
    }
    page.flush().await;
    let tab = house.tabs.tab("S");
    tab.until("all", |state| (state.said.len() == 20_000).then_some(())).await;
    let state = tab.state.lock().unwrap();
    for (number, said) in state.said.iter().enumerate() {
        assert_eq!(*said, Ok(ClientEvent::WindowMessage(json!(number))));
    }
}

#[tokio::test]
async fn whoever_wants_an_acknowledgement_gets_an_empty_list() {
    let house = House::open().await;
    let mut page = Raw::connect(house.address, "S").await;
    page.say("4217[\"stop\"]").await;
    assert_eq!(page.packet().await.unwrap(), "4317[]");
    // Not for what nobody understands, as frontends know it (chat-wire 1.1).
    page.say("4218[\"hijack\",{}]").await;
    page.say("4219[\"stop\"]").await;
    assert_eq!(page.packet().await.unwrap(), "4319[]");
    house.tabs.tab("S").state.lock().unwrap().said.remove(1).unwrap_err();
}

/// Red when acknowledgements that find the queue full are dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledgement_of_a_burst_is_lost() {
    let config = Config { buffer: 64, ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    let mut page = Raw::connect(house.address, "S").await;
    for id in 0..900 {
        page.feed(&format!("42{id}[\"stop\"]")).await;
    }
    page.flush().await;
    let mut acked = std::collections::BTreeSet::new();
    while acked.len() < 900 {
        let packet = page.packet().await.unwrap();
        acked.insert(packet.strip_prefix("43").unwrap().strip_suffix("[]").unwrap().to_owned());
    }
}

/// Red when an answer without arguments counts as none.
#[tokio::test]
async fn questions_are_answered_by_acknowledging() {
    let house = House::open().await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    let call =
        |name: &str| ServerEvent::CallFn { call: rejoinder::protocol::CallId(1), name: name.into(), args: json!({}) };
    let (first, second, third) = (tab.push(call("a")), tab.push(call("b")), tab.push(call("c")));
    for id in 1..=3 {
        assert!(page.packet().await.unwrap().starts_with(&format!("42{id}[\"call_fn\"")));
    }
    page.say(r#"433[{"x":1},"more"]"#).await;
    page.say("431[]").await;
    // Answered twice, and never asked.
    page.say("431[1]").await;
    page.say("439[1]").await;
    page.say("432[null]").await;
    let answers = tab.until("answers", |state| (state.answers.len() == 3).then(|| state.answers.clone())).await;
    assert_eq!(answers, [(third, json!({"x": 1})), (first, Value::Null), (second, Value::Null)]);
}

/// Red when the end of a line hides the answer that came right before it: the page would be asked again.
#[tokio::test]
async fn an_answer_counts_though_its_line_ends_right_behind_it() {
    let house = House::open().await;
    for (session, end) in [("left", "41"), ("closed", "1")] {
        let mut page = Raw::connect(house.address, session).await;
        let tab = house.tabs.tab(session);
        let call = rejoinder::protocol::CallId(1);
        let asked = tab.push(ServerEvent::CallFn { call, name: "a".into(), args: json!({}) });
        assert!(page.packet().await.unwrap().starts_with("421[\"call_fn\""), "{end}");
        page.feed("431[7]").await;
        page.feed(end).await;
        page.flush().await;
        tab.until_gone(1).await;
        assert_eq!(tab.state.lock().unwrap().answers, [(asked, json!(7))], "{end}");
    }
}

/// Red when a packet that cannot be read takes more down than its own line.
#[tokio::test]
async fn a_broken_packet_ends_its_line_only() {
    let house = House::open().await;
    let mut other = Raw::connect(house.address, "other").await;
    for (index, broken) in
        ["42[\"raw\",", "42{}", "42[1]", "49", "4", "42[]", "5", "42", "", "\u{e9}"].iter().enumerate()
    {
        let session = format!("S{index}");
        let mut page = Raw::connect(house.address, &session).await;
        page.say(broken).await;
        assert_eq!(page.packet().await, None, "{broken}");
        house.tabs.tab(&session).until_gone(1).await;
    }
    other.say("421[\"stop\"]").await;
    assert_eq!(other.packet().await.unwrap(), "431[]");
}

/// Red when the limit of the polls is not the websockets' as well.
#[tokio::test]
async fn what_is_too_large_ends_its_line_only() {
    let house = House::open().await;
    let mut other = Raw::connect(house.address, "other").await;
    let fits = format!("42[\"window_message\",\"{}\"]", "x".repeat(999_970));
    let large = format!("42[\"window_message\",\"{}\"]", "x".repeat(1_000_000));

    let mut page = Raw::connect(house.address, "websocket").await;
    page.say(&fits).await;
    page.try_say(&large).await;
    assert_eq!(page.packet().await, None);
    let tab = house.tabs.tab("websocket");
    tab.until_gone(1).await;
    assert_eq!(tab.state.lock().unwrap().said.len(), 1);

    let polling = Polling::connect(house.address, "polling").await;
    assert_eq!(polling.post(&fits).await.status(), 200);
    assert_eq!(polling.post(&large).await.status(), 413);
    let tab = house.tabs.tab("polling");
    tab.until_gone(1).await;
    assert_eq!(tab.state.lock().unwrap().said.len(), 1);
    assert_eq!(polling.poll_as("last").await.status(), 400);

    other.say("421[\"stop\"]").await;
    assert_eq!(other.packet().await.unwrap(), "431[]");
}

/// Red when the path, its slashes or the root path matter.
#[tokio::test]
async fn every_spelling_of_the_path_is_served() {
    let house = House::open().await;
    for path in ["/ws/socket.io", "/ws/socket.io/", "//ws/socket.io/", "/base/ws/socket.io", "/base//ws/socket.io/"] {
        let url = format!("ws://{}{path}?EIO=4&transport=websocket", house.address);
        Raw::open_at(&url, &[]).await.unwrap();
        let url = format!("http://{}{path}?EIO=4&transport=polling", house.address);
        let opening = reqwest::get(url).await.unwrap().text().await.unwrap();
        assert!(opening.contains("\"pingInterval\":25000") && opening.contains("\"maxPayload\":1000000"), "{opening}");
    }
    let old = format!("http://{}/ws/socket.io/?EIO=3&transport=polling", house.address);
    assert_eq!(reqwest::get(old).await.unwrap().status(), 400);
}

/// Red when connections are numbered by anything later than their opening.
#[tokio::test]
async fn connections_are_numbered_as_they_open() {
    let house = House::open().await;
    let mut first = Raw::open(house.address).await;
    let second = Polling::open(house.address).await;
    let mut third = Raw::open(house.address).await;
    for page in [&mut third, &mut first] {
        page.say(r#"40{"sessionId":"S"}"#).await;
        page.packet().await.unwrap();
    }
    second.post(r#"40{"sessionId":"S"}"#).await;
    let tab = house.tabs.tab("S");
    let connects = tab.until("three", |state| (state.connects.len() == 3).then(|| state.connects.clone())).await;
    let numbers: Vec<_> = connects.iter().map(|connect| connect.number).collect();
    assert_eq!(numbers, [ConnectionNumber(3), ConnectionNumber(1), ConnectionNumber(2)]);
}

#[tokio::test]
async fn a_session_learns_how_its_page_came() {
    let house = House::open_with(Config::default(), Timeouts::default(), Doorman { required: true }).await;
    let url = format!("ws://{}/ws/socket.io/?EIO=4&transport=websocket", house.address);
    let headers = [("cookie", "user=ada"), ("accept-language", "fr-CA,fr;q=0.8"), ("x-tenant", "blue")];
    let mut page = Raw::open_at(&url, &headers).await.unwrap();
    let auth = json!({"clientType": "copilot", "sessionId": "S", "threadId": "T", "userEnv": "{\"K\":\"v\"}",
        "chatProfile": "P%201"});
    page.say(&format!("40{auth}")).await;
    assert!(page.packet().await.unwrap().starts_with("40{"));
    let connect = house.tabs.tab("S").state.lock().unwrap().connects[0].clone();
    assert_eq!(connect.user.unwrap().identifier, "ada");
    assert_eq!((connect.client_type.as_str(), connect.language.as_str()), ("copilot", "fr-CA"));
    assert_eq!(connect.chat_profile.as_deref(), Some("P 1"));
    assert!(connect.headers.contains(&("x-tenant".into(), "blue".into())));
    assert!(!connect.headers.iter().any(|(name, _)| name == "cookie"));
}

/// Red when a page that floods is kept, or others suffer.
#[tokio::test]
async fn a_page_that_floods_or_breaks_its_session_loses_its_line() {
    let house = House::open().await;
    let mut page = Raw::connect(house.address, "floods").await;
    let tab = house.tabs.tab("floods");
    tab.state.lock().unwrap().floods = true;
    page.emit("stop", &[]).await;
    assert_eq!(page.packet().await, None);
    tab.until_gone(1).await;

    let polling = Polling::connect(house.address, "polls").await;
    let tab = house.tabs.tab("polls");
    tab.state.lock().unwrap().floods = true;
    polling.post("42[\"stop\"]").await;
    tab.until_gone(1).await;

    let mut page = Raw::connect(house.address, "panics").await;
    let tab = house.tabs.tab("panics");
    tab.state.lock().unwrap().panics = true;
    page.emit("stop", &[]).await;
    assert_eq!(page.packet().await, None);
    tab.until_gone(1).await;
}

#[test]
fn an_unknown_event_is_a_bad_event() {
    assert_eq!(ClientEvent::parse("\u{1}", vec![]), Err(BadEvent::Unknown));
}
