//! `/metrics`: numbers for whoever keeps the server running, and for nobody else.

use rejoinder::config::MetricsFor;
use reqwest::Method;

use crate::support::counted::Counted;
use crate::support::http::Answer;
use crate::support::page::{Cut, sign_in};
use crate::support::server::{House, Running, open_app};
use crate::support::sse::Sse;

/// The value of a line of the answer.
fn value(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
}

async fn metrics(server: &Running) -> String {
    let answer = server.visitor().get("/metrics").await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    answer.text
}

/// Red when something is not counted where it happens; or is, but says who it was.
#[tokio::test]
async fn what_happened_is_counted_and_says_nothing_of_anybody() {
    let server = House::new().serve(Counted::new().app()).await;
    let anna = sign_in(server.addr, "anna").await;
    let mut page = anna.page();
    page.come(server.addr).await;
    page.until_text("hello").await;
    page.ask("a secret plan").await;
    page.until_proven().await;
    let text = metrics(&server).await;
    assert_eq!(value(&text, "rejoinder_sessions"), 1.0);
    assert_eq!(value(&text, "rejoinder_sockets"), 1.0);
    assert_eq!(value(&text, "rejoinder_unproven_bytes"), 0.0);
    assert_eq!(value(&text, "rejoinder_pending_records"), 0.0);
    assert_eq!(value(&text, "rejoinder_pending_oldest_seconds"), 0.0);
    assert_eq!(value(&text, "rejoinder_runs_ended_total{what=\"completed\"}"), 2.0);
    assert!(value(&text, "rejoinder_records_total{what=\"appended\"}") >= 5.0);
    assert!(value(&text, "rejoinder_commit_seconds_count") >= 1.0);
    assert_eq!(value(&text, "rejoinder_commit_lock_seconds_count"), value(&text, "rejoinder_commit_seconds_count"));
    assert!(value(&text, "rejoinder_proof_seconds_count") >= 1.0);

    page.cut(Cut::Close).await;
    page.come(server.addr).await;
    page.until("its opening", |seen| seen.count("clear_call_fn") > 0).await;
    let text = metrics(&server).await;
    assert_eq!(value(&text, "rejoinder_reconnects_total{what=\"nothing\"}"), 1.0);
    assert_eq!(value(&text, "rejoinder_gap_events_count"), 1.0);
    assert_eq!(value(&text, "rejoinder_gap_seconds_count"), 1.0);

    let thread = page.thread();
    let follow = format!("/sessions/{thread}/events");
    let request = reqwest::Client::new().get(server.url(&follow)).header("cookie", &anna.cookie);
    let mut following = Sse::open(request).await;
    following.until("ready").await;
    page.ask("another one").await;
    following.until_event("execution.stopped").await;
    let text = metrics(&server).await;
    assert_eq!(value(&text, "rejoinder_readers"), 1.0);
    assert_eq!(value(&text, "rejoinder_followed_threads"), 1.0);
    assert!(value(&text, "rejoinder_records_read_total") >= 10.0);
    assert!(value(&text, "rejoinder_follow_seconds_count") >= 1.0);
    for secret in ["secret plan", "anna", thread.as_str(), page.session.as_str()] {
        assert!(!text.contains(secret), "{secret} in\n{text}");
    }
}

/// Red when a position that is of no use is not counted by its reason.
#[tokio::test]
async fn followers_that_must_begin_anew_are_counted_by_reason() {
    let server = House::new().serve(Counted::new().app()).await;
    let anna = sign_in(server.addr, "anna").await;
    let mut page = anna.page();
    page.come(server.addr).await;
    page.ask("first").await;
    let follow = format!("/sessions/{}/events", page.thread());
    let request = reqwest::Client::new().get(server.url(&follow)).header("cookie", &anna.cookie);
    let answer = Answer::of(request.header("last-event-id", "of another server")).await;
    assert!(answer.text.contains("event: reset"), "{}", answer.text);
    let text = metrics(&server).await;
    let resets: Vec<&str> = text.lines().filter(|line| line.starts_with("rejoinder_resets_total{")).collect();
    assert_eq!(resets.len(), 1, "{resets:?}");
    assert!(resets[0].ends_with("} 1"), "{resets:?}");
}

/// Red when a proxy on this machine counts as this machine, or the setting as nothing.
#[tokio::test]
async fn who_may_read_them_is_set() {
    for (setting, here, through_a_proxy) in
        [(MetricsFor::Local, 200, 404), (MetricsFor::Anyone, 200, 200), (MetricsFor::Nobody, 404, 404)]
    {
        let server = House::new().serve_with(open_app(), |config| config.metrics = setting).await;
        assert_eq!(server.visitor().get("/metrics").await.status, here, "{setting:?}");
        let request = server.visitor().request(Method::GET, "/metrics").header("x-forwarded-for", "192.0.2.7");
        assert_eq!(Answer::of(request).await.status, through_a_proxy, "{setting:?}");
    }
}
