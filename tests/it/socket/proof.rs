//! What is known to have arrived, and what is not.

use std::time::Duration;

use futures_util::StreamExt;
use rejoinder::line::Timeouts;
use rejoinder::protocol::{ServerEvent, Toast, ToastKind};
use rejoinder::socket::Config;
use serde_json::json;

use super::house::{Doorman, House, Played};
use super::proxy::Proxy;
use crate::support::official::Official;
use crate::support::poll::Polling;
use crate::support::raw::Raw;

fn toast(text: impl ToString) -> ServerEvent {
    ServerEvent::Toast(Toast { message: text.to_string(), kind: ToastKind::Info })
}

fn quick() -> Config {
    Config {
        ping_timeout: Duration::from_millis(700),
        marker_patience: Duration::from_millis(150),
        marker_interval: Duration::from_millis(20),
        ..Config::default()
    }
}

async fn house(config: Config) -> House {
    House::open_with(config, Timeouts::default(), Doorman { required: false }).await
}

fn proven(tab: &Played) -> u64 {
    tab.state.lock().unwrap().proven
}

/// Red when a marker gets no answer, is seen by the page, or is answered out of order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_a_living_page_gets_is_proven() {
    let Some(mut client) = Official::start("all_that_a_living_page_gets_is_proven") else { return };
    let house = house(quick()).await;
    let url = format!("http://{}", house.address);
    for (id, transports) in
        [("websocket", &["websocket"][..]), ("upgrade", &["polling", "websocket"]), ("polling", &["polling"])]
    {
        let tab = house.tabs.tab(id);
        // Some wait already, some come before, during and after an upgrade.
        for number in 0..5 {
            tab.push(toast(number));
        }
        let connected = client.connect(id, &url, transports).await;
        for number in 5..200 {
            let last = tab.push(toast(number));
            if number % 40 == 0 {
                tab.until_proven(last).await;
            }
        }
        if id == "upgrade" && connected["transport"] == "polling" {
            client.until(|report| report["kind"] == "upgrade").await;
        }
        let last = tab.push(ServerEvent::TaskEnd);
        tab.until_proven(last).await;
        client.until(|report| report["id"] == id && report["event"] == "task_end").await;
        let of_this = |report: &&serde_json::Value| report["id"] == id && report["kind"] == "event";
        let seen: Vec<_> = client.seen.iter().filter(of_this).collect();
        assert_eq!(seen.len(), 201, "{id}: {:?}", client.events());
        for (number, report) in seen[..200].iter().enumerate() {
            assert_eq!(report["args"][0]["message"], json!(number.to_string()), "{id}");
        }
    }
}

/// Red when anything is lost, doubled or overtaken while pages change from polling to a websocket.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_in_the_middle_of_a_stream_loses_nothing() {
    let Some(mut client) = Official::start("an_upgrade_in_the_middle_of_a_stream_loses_nothing") else { return };
    let house = house(Config::default()).await;
    let url = format!("http://{}", house.address);
    const PAGES: usize = 20;
    const EVENTS: usize = 150;
    let tabs: Vec<_> = (0..PAGES).map(|page| house.tabs.tab(&page.to_string())).collect();
    for page in 0..PAGES {
        let auth = json!({"sessionId": page.to_string()});
        client.tell(json!({"op": "connect", "id": page.to_string(), "url": url, "auth": auth})).await;
    }
    let mut pace = tokio::time::interval(Duration::from_millis(2));
    let speaking = async {
        let mut lasts = vec![0; PAGES];
        for number in 0..EVENTS {
            // The upgrades happen somewhere in these 300 ms.
            pace.tick().await;
            lasts = tabs.iter().map(|tab| tab.push(toast(format!("{number}{}", "x".repeat(4_000))))).collect();
        }
        for (tab, last) in tabs.iter().zip(lasts) {
            tab.until_proven(last).await;
        }
    };
    let mut got = [0; PAGES];
    let listening = async {
        while got.iter().sum::<usize>() < PAGES * EVENTS {
            let report = client.until(|report| report["kind"] == "event").await;
            let page: usize = report["id"].as_str().unwrap().parse().unwrap();
            let text = report["args"][0]["message"].as_str().unwrap();
            assert_eq!(text.trim_end_matches('x'), got[page].to_string(), "page {page}");
            got[page] += 1;
        }
    };
    tokio::join!(speaking, listening);
    let of_kind = |kind: &str| client.seen.iter().filter(|report| report["kind"] == kind).count();
    assert_eq!((of_kind("connect"), of_kind("disconnect")), (PAGES, 0));
}

/// Red when the kernel's word counts for the page's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_proven_by_a_frozen_page() {
    let Some(mut client) = Official::start("nothing_is_proven_by_a_frozen_page") else { return };
    let house = house(quick()).await;
    client.connect("S", &format!("http://{}", house.address), &["websocket"]).await;
    let tab = house.tabs.tab("S");
    let first = tab.push(toast("alive"));
    tab.until_proven(first).await;
    client.signal("STOP");
    let second = tab.push(toast("frozen"));
    tab.until("taken", |state| (state.taken == second).then_some(())).await;
    // When the marker is overdue, the rest stays with the session.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let third = tab.push(toast("kept"));
    tab.until_gone(1).await;
    assert_eq!((proven(&tab), tab.state.lock().unwrap().taken), (first, second));
    client.signal("CONT");
    // It comes back by itself, and is served again.
    client.until(|report| report["args"][0]["message"] == "kept").await;
    tab.until_proven(third).await;
}

/// Red when a page that answers heartbeats but no markers is kept, or a late answer is taken for an early one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_whose_marker_nobody_answers_is_closed() {
    let house = house(quick()).await;
    let mut page = Raw::connect(house.address, "S").await;
    answer_ping(&mut page).await;
    page.answers = 0;
    let tab = house.tabs.tab("S");
    tab.push(toast("x"));
    assert_eq!(page.event().await.unwrap().0, "toast");
    assert_eq!(page.packet().await, None);
    tab.until_gone(1).await;
    assert_eq!(proven(&tab), 0);
}

/// The next ping, whosever it is, is answered. The first one is the heartbeat's.
async fn answer_ping(page: &mut Raw) {
    while page.stream.next().await.unwrap().unwrap().into_text().unwrap().as_str() != "2" {}
    page.say("3").await;
}

/// A page cannot tell a heartbeat from a marker, and answers both behind all that it got. Red when only markers prove: a
/// page that answered a heartbeat in between would be told again what it has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_proves_what_a_marker_would() {
    let hour = Duration::from_secs(3_600);
    let ping_interval = Duration::from_millis(300);
    let house =
        house(Config { ping_interval, marker_interval: hour, marker_patience: hour, ..Config::default() }).await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    // The only marker for an hour.
    let first = tab.push(toast("a"));
    while proven(&tab) < first {
        answer_ping(&mut page).await;
    }
    let second = tab.push(toast("b"));
    while page.stream.next().await.unwrap().unwrap().into_text().unwrap().as_str() == "2" {
        page.say("3").await;
    }
    answer_ping(&mut page).await;
    tab.until_proven(second).await;
}

/// Red when only the pump asks what is proven: then what a page says behind its answer may be handled before the proof, and
/// the page is told again what it has proven.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_behind_an_answer_is_heard_behind_the_proof() {
    let house = house(quick()).await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    for round in 0..200 {
        let number = tab.push(toast(round));
        let mut has_come = false;
        loop {
            let packet = page.stream.next().await.unwrap().unwrap().into_text().unwrap();
            match packet.as_str() {
                // Behind the toast it is the marker, or a heartbeat.
                "2" if has_come => break,
                "2" => page.say("3").await,
                _ => has_come = true,
            }
        }
        page.feed("3").await;
        page.feed("42[\"stop\"]").await;
        page.flush().await;
        let heard = round + 1;
        let proven = tab.until("heard", |state| (state.said.len() == heard).then_some(state.proven_when_said)).await;
        assert_eq!(proven, number, "round {round}");
    }
}

/// Red when what a reset line took with it counts as arrived, or the end is noticed late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_line_ends_at_once_and_proves_nothing_more() {
    let Some(mut client) = Official::start("a_reset_line_ends_at_once_and_proves_nothing_more") else { return };
    let house = house(Config::default()).await;
    let proxy = Proxy::to(house.address).await;
    let url = format!("http://{}", proxy.address);
    for (id, transports) in [("websocket", ["websocket"]), ("polling", ["polling"])] {
        client.connect(id, &url, &transports).await;
        let tab = house.tabs.tab(id);
        let first = tab.push(toast("before"));
        tab.until_proven(first).await;
        proxy.reset();
        if id == "websocket" {
            tab.until_gone(1).await;
        }
        client.until(|report| report["id"] == id && report["kind"] == "connect").await;
        let second = tab.push(toast("after"));
        client.until(|report| report["id"] == id && report["args"][0]["message"] == "after").await;
        tab.until_proven(second).await;
        let of_this = |report: &&serde_json::Value| report["id"] == id && report["kind"] == "connect";
        assert_eq!(client.seen.iter().filter(of_this).count(), 2, "{id}");
        client.tell(json!({"op": "close", "id": id})).await;
    }
}

/// Red when an answer counts before the next poll comes.
#[tokio::test]
async fn a_poll_proves_the_answer_before_it() {
    let house = house(Config::default()).await;
    let page = Polling::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    let first = tab.push(toast("a"));
    assert!(page.poll().await.contains("toast"));
    assert_eq!(proven(&tab), 0);
    let (second, (), answer) = tokio::join!(
        async {
            tab.until_proven(first).await;
            tab.push(toast("b"))
        },
        tab.until_proven(first),
        page.poll(),
    );
    assert!(answer.contains("toast"));
    assert_eq!(proven(&tab), first);
    tokio::select! {
        () = tab.until_proven(second) => {}
        answer = page.poll() => panic!("nothing was to come: {answer}"),
    }
}

/// Red when a poll that somebody on the way repeats counts as the next one.
#[tokio::test]
async fn a_repeated_poll_proves_nothing_and_ends_the_line() {
    let house = house(Config::default()).await;
    let page = Polling::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    tab.push(toast("a"));
    assert_eq!(page.poll_as("same").await.status(), 200);
    assert_eq!(page.poll_as("same").await.status(), 400);
    tab.until_gone(1).await;
    assert_eq!(proven(&tab), 0);
}

/// Red when a websocket that no listener of ours watches is held up, or proves anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_nobody_watches_works_and_proves_nothing() {
    let house = House::open_unwatched().await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    for number in 0..10_000 {
        tab.push(toast(number));
    }
    for number in 0..10_000 {
        assert_eq!(page.event().await.unwrap().1["message"], json!(number.to_string()));
    }
    // One ping is the heartbeat's.
    assert_eq!((proven(&tab), page.pings), (0, 1));
}
