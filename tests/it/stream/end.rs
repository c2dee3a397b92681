//! How streams end: with a word that says whether to come back, and with nothing after it.

use std::time::{Duration, Instant};

use rejoinder::http::StreamLimits;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::world::{anna, events, follow, note, say, serve, streaming, thread_of, write};
use crate::support::database::{Database, on_both};
use crate::support::http::Answer;
use crate::support::records::start;
use crate::support::sse::{Frame, Sse, sequences};

on_both!(
    a_right_that_is_taken_back_ends_the_stream,
    a_deleted_thread_ends_its_streams,
    a_stop_ends_all_streams_and_coming_back_loses_nothing,
    a_database_that_stays_away_ends_the_stream,
);

fn reason(frame: &Frame) -> String {
    assert_eq!(frame.name, "close", "{frame:?}");
    frame.json()["reason"].as_str().unwrap().to_owned()
}

/// I-43. Red when rights are checked at the beginning only.
async fn a_right_that_is_taken_back_ends_the_stream(database: &Database) {
    let server = streaming(database, |streams| streams.check_every = Duration::from_millis(500)).await;
    let thread = thread_of(&server, 2).await;
    let (anna, bert) = (anna(&server).await, server.person("bert").await);
    let share = |on: bool| anna.send(Method::PUT, "/project/thread/share", json!({"threadId": thread, "isShared": on}));
    assert_eq!(share(true).await.status, StatusCode::OK);
    let mut stream = follow(&bert, &thread, "").await;
    stream.until("ready").await;
    write(&server, &thread, 10..=10).await;
    assert_eq!(stream.events(1).await.len(), 1);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(share(false).await.status, StatusCode::OK);
    write(&server, &thread, 11..=11).await;
    let rest = stream.rest().await;
    assert_eq!(reason(rest.last().unwrap()), "authorization_revoked");
    assert!(rest[..rest.len() - 1].iter().all(|frame| !frame.data.contains("note 11")), "{rest:?}");
    assert_eq!(Answer::of(events(&bert, &thread, "")).await.status, StatusCode::NOT_FOUND);
}

/// I-43: also while nothing happens on the thread.
#[tokio::test]
async fn an_expired_login_ends_a_silent_stream() {
    let database = Database::sqlite().await.unwrap();
    let url = database.url().to_owned();
    let mut tuning = rejoinder::server::Tuning::default();
    tuning.streams.check_every = Duration::from_millis(300);
    let set = |config: &mut rejoinder::Config| {
        config.database_url = Some(url);
        config.user_session_timeout = Duration::from_secs(3);
    };
    let app = crate::support::server::password_app();
    let server = crate::support::server::House::new().serve_tuned(app, set, tuning).await;
    let thread = thread_of(&server, 2).await;
    let person = anna(&server).await;
    let mut stream = follow(&person, &thread, "").await;
    stream.until("ready").await;
    let rest = stream.rest().await;
    assert_eq!(reason(rest.last().unwrap()), "authorization_revoked");
}

/// Red when a deletion wakes nobody; the poll would tell it after seconds.
async fn a_deleted_thread_ends_its_streams(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 2).await;
    let person = anna(&server).await;
    let mut streams = [follow(&person, &thread, "").await, follow(&person, &thread, "").await];
    for stream in &mut streams {
        stream.until("ready").await;
    }
    let began = Instant::now();
    let deleted = person.request(Method::DELETE, &format!("/sessions/{thread}"));
    assert_eq!(Answer::of(deleted).await.status, StatusCode::OK);
    for stream in &mut streams {
        let rest = stream.rest().await;
        assert_eq!(reason(&rest[0]), "session_deleted", "{rest:?}");
        assert_eq!(rest.len(), 1);
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(Answer::of(events(&person, &thread, "")).await.status, StatusCode::NOT_FOUND);
}

/// I-44. Red when streams do not listen to the stop: requests that go on are waited for.
async fn a_stop_ends_all_streams_and_coming_back_loses_nothing(database: &Database) {
    let limits = StreamLimits { per_thread: 100, per_user: 100, ..StreamLimits::default() };
    let server = streaming(database, |streams| streams.limits = limits).await;
    let thread = thread_of(&server, 4).await;
    let person = anna(&server).await;
    let mut streams = Vec::new();
    for _ in 0..100 {
        let mut stream = follow(&person, &thread, "").await;
        stream.until("ready").await;
        streams.push(stream);
    }
    write(&server, &thread, 5..=6).await;
    let ends = streams.into_iter().map(|mut stream| {
        tokio::spawn(async move {
            let frames = stream.rest().await;
            (Instant::now(), frames)
        })
    });
    let reading: Vec<_> = ends.collect();
    drop(person);
    let began = Instant::now();
    let house = server.stop().await;
    let mut ends = Vec::new();
    for end in reading {
        let (at, frames) = end.await.unwrap();
        assert!(at.saturating_duration_since(began) < Duration::from_secs(2));
        let [.., checkpoint, close] = &frames[..] else { panic!("{frames:?}") };
        assert_eq!((checkpoint.name.as_str(), reason(close).as_str()), ("checkpoint", "server_shutdown"));
        // What was stored last may come after the restart.
        let proven = checkpoint.position().unwrap().sequence();
        assert_eq!(sequences(&frames), (5..=proven).collect::<Vec<_>>());
        ends.push((proven, checkpoint.id.clone().unwrap()));
    }
    let url = database.url().to_owned();
    let app = crate::support::server::password_app();
    let server = house.serve_with(app, |config| config.database_url = Some(url)).await;
    write(&server, &thread, 7..=7).await;
    let person = anna(&server).await;
    for (proven, last) in ends.into_iter().take(10) {
        let again = Sse::open(events(&person, &thread, "").header("last-event-id", last)).await.until("ready").await;
        assert_eq!(sequences(&again), (proven + 1..=7).collect::<Vec<_>>());
    }
}

/// The reader is told to come back, and does. Red when a database that is away is waited for without an end.
async fn a_database_that_stays_away_ends_the_stream(database: &Database) {
    let server = streaming(database, |streams| {
        (streams.away, streams.check_every) = (Duration::from_secs(1), Duration::from_millis(200));
    })
    .await;
    let thread = thread_of(&server, 3).await;
    let person = anna(&server).await;
    let mut stream = follow(&person, &thread, "").await;
    stream.until("ready").await;
    database.run("alter table rejoinder_cursors rename to hidden").await;
    let rest = stream.rest().await;
    let [.., checkpoint, close] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!((checkpoint.name.as_str(), reason(close).as_str()), ("checkpoint", "unavailable"));
    assert!(close.json()["retry_after_ms"].as_u64().unwrap() > 0);
    let answer = Answer::of(events(&person, &thread, "")).await;
    assert_eq!(
        (answer.status, &answer.json()["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &"service_unavailable".into())
    );
    database.run("alter table hidden rename to rejoinder_cursors").await;
    write(&server, &thread, 4..=4).await;
    let after = checkpoint.id.clone().unwrap();
    let again = follow(&person, &thread, &format!("?after={after}")).await.until("ready").await;
    assert_eq!(sequences(&again), [4]);
}

#[tokio::test]
async fn a_stream_gets_so_old_and_gives_signs_of_life() {
    let database = Database::sqlite().await.unwrap();
    let server = streaming(&database, |streams| {
        (streams.age, streams.heartbeat) = (Duration::from_millis(1_500), Duration::from_millis(400));
    })
    .await;
    let thread = thread_of(&server, 3).await;
    let person = anna(&server).await;
    let mut stream = follow(&person, &thread, "").await;
    let retry = stream.any().await.unwrap();
    assert_eq!(retry.name, "retry", "first of all");
    assert!((2_400..=3_600).contains(&retry.data.parse::<u32>().unwrap()), "{retry:?}");
    stream.until("ready").await;
    let mut frames = Vec::new();
    while let Some(frame) = stream.any().await {
        frames.push(frame);
    }
    let beats = frames.iter().filter(|frame| frame.name == ":").count();
    assert!((2..=3).contains(&beats), "{frames:?}");
    let [.., checkpoint, close] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((checkpoint.name.as_str(), reason(close).as_str()), ("checkpoint", "reauth"));
    assert_eq!(close.json()["retry_after_ms"], 0);
}

#[tokio::test]
async fn there_are_only_so_many_streams() {
    let database = Database::sqlite().await.unwrap();
    let server = serve(&database).await;
    let (thread, other) = (thread_of(&server, 2).await, thread_of(&server, 2).await);
    let person = anna(&server).await;
    let mut streams = Vec::new();
    for _ in 0..8 {
        let mut stream = follow(&person, &thread, "").await;
        stream.until("ready").await;
        streams.push(stream);
    }
    let refused = Answer::of(events(&person, &thread, "")).await;
    assert_eq!((refused.status, &refused.json()["code"]), (StatusCode::TOO_MANY_REQUESTS, &"too_many_streams".into()));
    assert_eq!(refused.header("retry-after"), "1");
    follow(&person, &other, "").await.until("ready").await;
    drop(streams.pop());
    // Its place is free when the server has noticed.
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match Sse::try_open(events(&person, &thread, "")).await {
            Ok(mut stream) => break drop(stream.until("ready").await),
            Err(_) => assert!(Instant::now() < deadline, "its place is never free"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A reason that comes while the stream is open is told on it, once.
#[tokio::test]
async fn a_history_that_gets_a_hole_says_so() {
    let database = Database::sqlite().await.unwrap();
    let server = serve(&database).await;
    let thread = thread_of(&server, 2).await;
    let person = anna(&server).await;
    let mut stream = follow(&person, &thread, "").await;
    let ready = stream.until("ready").await.pop().unwrap();
    assert_eq!(ready.json()["history_complete"], true);
    database.run("update rejoinder_cursors set incomplete_why = 'record_rejected'").await;
    say(&server, &thread, vec![note(&thread, 3)]).await;
    let frames = stream.until("notice").await;
    assert_eq!(sequences(&frames), [3]);
    let expected = json!({"code": "history_incomplete", "incomplete_reasons": ["record_rejected"]});
    assert_eq!(frames.last().unwrap().json(), expected);
    say(&server, &thread, vec![note(&thread, 4), start(&thread)]).await;
    assert_eq!(stream.next().await.unwrap().sequence(), 4, "once");
    let again = follow(&person, &thread, "").await.until("ready").await.pop().unwrap();
    assert_eq!(again.json()["history_complete"], false);
    assert_eq!(again.json()["incomplete_reasons"], json!(["record_rejected"]));
}
