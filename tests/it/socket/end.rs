//! How lines end from our side: another tab takes over, the server goes away.

use std::time::{Duration, Instant};

use rejoinder::line::Timeouts;
use rejoinder::protocol::{ClientEvent, ServerEvent};
use rejoinder::socket::Config;
use serde_json::json;

use super::house::{Doorman, House};
use crate::support::official::Official;
use crate::support::raw::Raw;

/// Red when a page that lost its session is not told, or told so that it comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_whose_session_is_taken_over_is_told_to_leave() {
    let Some(mut client) = Official::start("a_page_whose_session_is_taken_over_is_told_to_leave") else { return };
    let house = House::open().await;
    let url = format!("http://{}", house.address);
    for transport in ["websocket", "polling"] {
        client.connect(transport, &url, &[transport]).await;
        let mut second = Raw::connect(house.address, transport).await;
        let left = client.until(|report| report["id"] == transport && report["kind"] == "disconnect").await;
        assert_eq!(left["reason"], "io server disconnect");
        house.tabs.tab(transport).until_gone(1).await;
        // The newer one is served.
        house.tabs.tab(transport).push(ServerEvent::TaskEnd);
        assert_eq!(second.event().await.unwrap().0, "task_end");
    }
}

/// Red when a page that was told to leave stays, or is still heard.
#[tokio::test]
async fn a_page_that_was_told_to_leave_is_not_heard_and_does_not_stay() {
    let config = Config { leave_timeout: Duration::from_millis(100), ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    let mut first = Raw::connect(house.address, "S").await;
    let mut second = Raw::connect(house.address, "S").await;
    assert_eq!(first.packet().await.unwrap(), "41");
    let mut stays = Raw::connect(house.address, "T").await;
    let _newer = Raw::connect(house.address, "T").await;
    assert_eq!(stays.packet().await.unwrap(), "41");
    first.emit("clear_session", &[]).await;
    assert_eq!(first.packet().await, None);
    assert_eq!(stays.packet().await, None);
    second.emit("stop", &[]).await;
    let tab = house.tabs.tab("S");
    tab.until("stop", |state| (state.said == [Ok(ClientEvent::Stop)]).then_some(())).await;
}

/// Red when a page loses what was said before the server went, or takes its going for a goodbye.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_goes_says_what_it_has_and_no_goodbye() {
    let Some(mut client) = Official::start("a_server_that_goes_says_what_it_has_and_no_goodbye") else { return };
    let house = House::open().await;
    let url = format!("http://{}", house.address);
    for transport in ["websocket", "polling"] {
        client.connect(transport, &url, &[transport]).await;
    }
    let mut raw = Raw::open(house.address).await;
    for transport in ["websocket", "polling"] {
        for number in 0..300 {
            house.tabs.tab(transport).push(ServerEvent::SetSidebarTitle(number.to_string()));
        }
    }
    let began = Instant::now();
    let told = async {
        let (mut left, mut titles) = (0, 0);
        while left < 2 || titles < 600 {
            let report = client.until(|_| true).await;
            match report["kind"].as_str() {
                Some("event") => titles += usize::from(report["event"] == "set_sidebar_title"),
                Some("disconnect") => {
                    let reason = report["reason"].as_str().unwrap();
                    assert!(["transport close", "transport error"].contains(&reason), "{reason}");
                    left += 1;
                }
                _ => {}
            }
        }
    };
    tokio::join!(house.sockets.close(), told);
    // Meanwhile nobody is let in, and nobody refused for good.
    let again = format!("{url}/ws/socket.io/?EIO=4&transport=polling");
    assert_eq!(reqwest::get(again).await.unwrap().status(), 503);
    house.stop.cancel();
    house.served.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    // Not even a transport without a page stays; a CONNECT would have been refused for good.
    assert_eq!(raw.packet().await, None);
    // They try again by themselves.
    client.until(|report| report["kind"] == "connect_error" && report["active"] == json!(true)).await;
}

/// Red when one page that reads nothing keeps the server from going.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_reads_nothing_does_not_hold_the_server() {
    let config = Config { close_timeout: Duration::from_millis(300), ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    let page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    let text = "x".repeat(64 * 1024);
    for _ in 0..1_000 {
        tab.push(ServerEvent::SetSidebarTitle(text.clone()));
    }
    tab.until("taken", |state| (state.taken > 0).then_some(())).await;
    house.stop.cancel();
    let began = Instant::now();
    house.sockets.close().await;
    house.served.await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    tab.until_gone(1).await;
    drop(page);
}
