//! Much at once: slow readers, full queues, storms, and what is left afterwards.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rejoinder::id::StepId;
use rejoinder::line::Timeouts;
use rejoinder::protocol::{ServerEvent, Token};
use rejoinder::socket::Config;
use serde_json::json;

use super::house::{Doorman, House};
use crate::support::poll::Polling;
use crate::support::raw::Raw;

fn token(text: String) -> ServerEvent {
    ServerEvent::StreamToken(Token { id: StepId::from("s"), token: text, is_sequence: false, is_input: false })
}

/// Red when a full queue loses, doubles or reorders anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_loses_nothing() {
    let config = Config { buffer: 64, ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    let mut last = 0;
    for number in 0..20_000 {
        last = tab.push(ServerEvent::SetSidebarTitle(number.to_string()));
    }
    for number in 0..20_000 {
        assert_eq!(page.event().await.unwrap().1, json!(number.to_string()));
    }
    let reading = tokio::spawn(async move { page.packet().await });
    tab.until_proven(last).await;
    reading.abort();
}

/// Red when a slow page gets every token by itself, or not every one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_for_a_slow_page_are_merged_and_complete() {
    let config = Config { buffer: 64, ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    let padding = "x".repeat(2000);
    let mut whole = String::new();
    for number in 0..20_000 {
        let text = format!("{number}{padding} ");
        whole.push_str(&text);
        tab.push(token(text));
    }
    let last = tab.push(ServerEvent::TaskEnd);
    let (mut text, mut events) = (String::new(), 0);
    loop {
        let (name, argument) = page.event().await.unwrap();
        if name == "task_end" {
            break;
        }
        text.push_str(argument["token"].as_str().unwrap());
        events += 1;
    }
    assert!(text == whole, "{} of {} bytes", text.len(), whole.len());
    assert!(events < 15_000, "{events} events");
    let reading = tokio::spawn(async move { page.packet().await });
    tab.until_proven(last).await;
    reading.abort();
}

/// Red when a page that stops reading is kept, costs more than its share, or slows others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_stops_reading_is_bounded_and_closed() {
    let timeouts = Timeouts { websocket: Duration::from_secs(3), ..Timeouts::default() };
    // Only the write timeout may end it here.
    let config = Config { marker_patience: Duration::from_secs(60), ..Config::default() };
    let house = House::open_with(config, timeouts, Doorman { required: false }).await;
    let slow = Raw::connect(house.address, "slow").await;
    let mut other = Raw::connect(house.address, "other").await;
    let tab = house.tabs.tab("slow");
    let text = "x".repeat(16 * 1024);
    for number in 0..4_000 {
        tab.push(ServerEvent::SetSidebarTitle(format!("{number}{text}")));
    }
    let (mut slowest, start) = (Duration::ZERO, Instant::now());
    while tab.state.lock().unwrap().gone == 0 {
        let began = Instant::now();
        other.say("421[\"stop\"]").await;
        assert_eq!(other.packet().await.unwrap(), "431[]");
        slowest = slowest.max(began.elapsed());
        tokio::task::yield_now().await;
    }
    // Whoever waited for it would wait as long as it may.
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    // Long before any heartbeat would have noticed.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // What the kernel took, half a megabyte in the queue, one batch: far from 64 MB.
    let taken = tab.state.lock().unwrap().taken;
    assert!(taken < 1500, "{taken}");
    drop(slow);
}

/// Red when a connection waits for another, or the listen queue is short.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_pages_come_at_once() {
    let house = House::open().await;
    for round in 0..4 {
        let pages = (0..500).map(|number| {
            let house = &house;
            async move {
                let session = format!("{round}-{number}");
                house.tabs.tab(&session).push(ServerEvent::TaskEnd);
                let mut page = Raw::connect(house.address, &session).await;
                assert_eq!(page.event().await.unwrap().0, "task_end");
                page
            }
        });
        let pages = join_all(pages).await;
        assert_eq!(house.sockets.live(), 500);
        drop(pages);
        none_left(&house).await;
    }
}

/// Red when a page that left leaves anything behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_pages_that_left() {
    // The library keeps a transport without a page for as long as it may connect, also when it is gone.
    let connect_timeout = Duration::from_secs(2);
    let config = Config { leave_timeout: Duration::from_millis(100), connect_timeout, ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    for round in 0..20 {
        join_all((0..100).map(|number| {
            let (house, session) = (&house, format!("{round}-{number}"));
            async move {
                let mut page = Raw::connect(house.address, &session).await;
                match number % 5 {
                    // Closed, torn, said goodbye to, kept open after a goodbye, left in the middle of CONNECT.
                    0 => page.stream.close(None).await.unwrap(),
                    1 => drop(page),
                    2 => page.say("1").await,
                    3 => {
                        page.say("41").await;
                        assert_eq!(page.packet().await, None);
                    }
                    _ => {
                        let mut page = Raw::open(house.address).await;
                        page.say(r#"40{"sessionId":"S"}"#).await;
                    }
                }
            }
        }))
        .await;
        let polling = Polling::connect(house.address, "polling").await;
        polling.post("1").await;
    }
    none_left(&house).await;
}

/// Waits until no page and no transport is there.
pub async fn none_left(house: &House) {
    let began = Instant::now();
    loop {
        let held = house.tabs.held.load(Ordering::SeqCst);
        let left = (house.sockets.live(), house.sockets.connections(), held);
        if left == (0, 0, 0) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "pumps, connections and links left: {left:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
