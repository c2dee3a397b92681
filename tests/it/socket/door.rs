//! Who is let in, and what those hear who are not.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rejoinder::line::Timeouts;
use rejoinder::session::Refusal;
use rejoinder::socket::{Config, Origins};
use serde_json::json;

use super::house::{Doorman, House};
use crate::support::official::Official;
use crate::support::raw::Raw;

async fn refused(house: &House, auth: &str, cookie: &str) -> String {
    let url = format!("ws://{}/ws/socket.io/?EIO=4&transport=websocket", house.address);
    let mut page = Raw::open_at(&url, &[("cookie", cookie)]).await.unwrap();
    page.say(&format!("40{auth}")).await;
    let packet = page.packet().await.unwrap();
    let error: serde_json::Value = serde_json::from_str(packet.strip_prefix("44").expect(&packet)).unwrap();
    error["message"].as_str().unwrap().to_owned()
}

/// Red when a page waits for ever instead of hearing why.
#[tokio::test]
async fn whoever_is_refused_hears_why() {
    let house = House::open_with(Config::default(), Timeouts::default(), Doorman { required: true }).await;
    let good = r#"{"sessionId":"S"}"#;
    for (auth, cookie, reason) in [
        ("", "user=ada", "connection data missing"),
        ("[1]", "user=ada", "connection data missing"),
        ("{nonsense", "user=ada", "connection data malformed"),
        (r#"{"sessionId":7}"#, "user=ada", "connection data malformed"),
        (r#"{"clientType":"webapp"}"#, "user=ada", "session id missing"),
        (r#"{"sessionId":"S","userEnv":"no"}"#, "user=ada", "user environment malformed"),
        (good, "user=eve", "authentication failed"),
        (good, "panic", "something went wrong on the server"),
    ] {
        assert_eq!(refused(&house, auth, cookie).await, reason, "{auth}");
    }
    *house.tabs.refuse.lock().unwrap() = Some(Refusal::MissingEnv("KEY".into()));
    assert_eq!(refused(&house, good, "user=ada").await, "Missing user environment variable: KEY");
    *house.tabs.refuse.lock().unwrap() = Some(Refusal::NotYours);
    assert_eq!(refused(&house, good, "user=ada").await, "authorization failed");
    assert_eq!(house.tabs.held.load(Ordering::SeqCst), 0);
}

/// Red when a login that takes for ever takes a page along.
#[tokio::test]
async fn a_login_takes_bounded_time() {
    let config = Config { login_timeout: Duration::from_millis(200), ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    house.tabs.hang.store(true, Ordering::SeqCst);
    assert_eq!(refused(&house, r#"{"sessionId":"S"}"#, "").await, "the server took too long, try again in a moment");
}

/// Red when the line of a refused page stays open.
#[tokio::test]
async fn a_refused_page_does_not_keep_its_line() {
    let config = Config { connect_timeout: Duration::from_millis(300), ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: true }).await;
    let mut page = Raw::open(house.address).await;
    page.say(r#"40{"sessionId":"S"}"#).await;
    assert!(page.packet().await.unwrap().starts_with("44"));
    assert_eq!(page.packet().await, None);
}

/// Red when a page that was refused only because the server goes away gives up.
#[tokio::test]
async fn a_page_that_comes_while_the_server_goes_is_cut_not_refused() {
    let house = House::open().await;
    *house.tabs.refuse.lock().unwrap() = Some(Refusal::ShuttingDown);
    let mut page = Raw::open(house.address).await;
    page.say(r#"40{"sessionId":"S"}"#).await;
    assert_eq!(page.packet().await, None);
}

/// Red when another site's page may use a visitor's cookie.
#[tokio::test]
async fn pages_of_other_sites_are_shut_out() {
    let config = Config { origins: Origins::List(vec!["https://good.example".into()]), ..Config::default() };
    let house = House::open_with(config, Timeouts::default(), Doorman { required: false }).await;
    let url = format!("ws://{}/ws/socket.io/?EIO=4&transport=websocket", house.address);
    let own = format!("http://{}", house.address);
    for (origin, passes) in [("https://good.example", true), (own.as_str(), true), ("https://evil.example", false)] {
        let opened = Raw::open_at(&url, &[("origin", origin)]).await;
        assert_eq!(opened.is_ok(), passes, "{origin}");
        if let Err(error) = opened {
            assert!(error.contains("403"), "{error}");
        }
        let url = format!("http://{}/ws/socket.io/?EIO=4&transport=polling", house.address);
        let status = reqwest::Client::new().get(url).header("origin", origin).send().await.unwrap().status();
        assert_eq!(status, if passes { 200 } else { 403 }, "{origin}");
    }
}

#[tokio::test]
async fn the_official_client_hears_why_and_stays_away() {
    let Some(mut client) = Official::start("the_official_client_hears_why_and_stays_away") else { return };
    let house = House::open_with(Config::default(), Timeouts::default(), Doorman { required: true }).await;
    let url = format!("http://{}", house.address);
    client.tell(json!({"op": "connect", "id": "a", "url": url, "auth": {"sessionId": "S"}})).await;
    let error = client.until(|report| report["kind"] == "connect_error").await;
    assert_eq!((error["message"].as_str(), error["active"].as_bool()), (Some("authentication failed"), Some(false)));
}
