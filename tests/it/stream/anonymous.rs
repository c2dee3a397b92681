//! Without a login, who may follow a thread is who holds the live session on it: its id is all that protects a visitor.

use std::time::Duration;

use rejoinder::hook::UserMessage;
use rejoinder::id::ThreadId;
use rejoinder::record::Record;
use rejoinder::server::Tuning;
use rejoinder::store::Append;
use rejoinder::{App, Chat};
use reqwest::{RequestBuilder, StatusCode};

use super::world::note;
use crate::support::database::{Database, on_both};
use crate::support::http::Answer;
use crate::support::page::{Cut, Page, Visitor};
use crate::support::server::{House, Running};
use crate::support::sse::{Frame, Sse, sequences};

on_both!(whoever_holds_the_session_follows_and_nobody_else);

async fn echo(chat: Chat, message: UserMessage) -> rejoinder::Result {
    chat.say(format!("echo: {}", message.text())).await?;
    Ok(())
}

fn events(server: &Running, thread: &str, session: Option<&str>) -> RequestBuilder {
    let query = session.map(|session| format!("?session_id={session}")).unwrap_or_default();
    reqwest::Client::new().get(server.url(&format!("/sessions/{thread}/events{query}")))
}

/// What is answered instead of a stream.
async fn refused(request: RequestBuilder) -> Answer {
    Sse::try_open(request).await.err().expect("it is a stream")
}

async fn visitor(server: &Running) -> Page {
    let mut page = Visitor { name: "User".into(), cookie: String::new() }.page();
    page.come(server.addr).await;
    assert_eq!(page.ask("hi").await, "echo: hi");
    page
}

/// Stores a note as the server does.
async fn write(server: &Running, thread: &ThreadId, number: u64) {
    let records: Vec<Record> = vec![note(thread, number)];
    let append = Append { thread: thread.clone(), owner: None, records, hinge: None };
    server.journal.submit(append).await.await.unwrap().unwrap();
}

fn told(frames: &[Frame], number: u64) -> bool {
    frames.iter().any(|frame| frame.data.contains(&format!("note {number}")))
}

/// I-42, I-43. Red when a thread without an owner is anybody's; when any live session will do; when the right is checked at
/// the beginning only.
async fn whoever_holds_the_session_follows_and_nobody_else(database: &Database) {
    let url = database.url().to_owned();
    let mut tuning = Tuning::default();
    tuning.streams.check_every = Duration::from_millis(300);
    let app = App::new().on_message(echo).build().unwrap();
    let set = |config: &mut rejoinder::Config| config.database_url = Some(url);
    let server = House::new().serve_tuned(app, set, tuning).await;
    let (mut page, other) = (visitor(&server).await, visitor(&server).await);
    let (thread, session) = (page.thread(), page.session.clone());
    let id = ThreadId::from(thread.as_str());

    let missing = refused(events(&server, "nowhere", Some(&session))).await;
    for stranger in [None, Some(other.session.as_str()), Some("made-up"), Some("")] {
        let answer = refused(events(&server, &thread, stranger)).await;
        assert_eq!((answer.status, &answer.text), (StatusCode::NOT_FOUND, &missing.text), "{stranger:?}");
    }
    let mut stream = Sse::open(events(&server, &thread, Some(&session))).await;
    let frames = stream.until("ready").await;
    let latest = *sequences(&frames).last().unwrap();
    assert_eq!(sequences(&frames), (1..=latest).collect::<Vec<_>>());

    // A line that drops is no end: its session is waited for.
    page.cut(Cut::Reset).await;
    write(&server, &id, 50).await;
    assert!(told(&stream.events(1).await, 50));
    let again = events(&server, &thread, Some(&session)).header("last-event-id", latest.to_string());
    assert!(told(&Sse::open(again).await.until("ready").await, 50), "and it may come back meanwhile");
    page.come(server.addr).await;
    assert_eq!(page.ask("still here").await, "echo: still here");
    stream.until_event("execution.stopped").await;

    // The end of the session is the end of its stream, also while nothing happens.
    page.emit("clear_session", &[]);
    let frames = stream.rest().await;
    let close = frames.last().unwrap();
    assert_eq!((close.name.as_str(), close.json()["reason"].as_str()), ("close", Some("authorization_revoked")));
    write(&server, &id, 51).await;
    let answer = refused(events(&server, &thread, Some(&session))).await;
    assert_eq!((answer.status, &answer.text), (StatusCode::NOT_FOUND, &missing.text));
    // A new page that asks for the thread by its id goes on in it (chat-wire 2.3), and so may follow it.
    let mut late = Visitor { name: "User".into(), cookie: String::new() }.page_on(&thread);
    late.come(server.addr).await;
    assert_eq!(late.ask("again").await, "echo: again");
    assert_eq!(late.thread(), thread);
    assert!(told(&Sse::open(events(&server, &thread, Some(&late.session))).await.until("ready").await, 51));
}

/// I-43. What is stored after the end of the session is not told, however soon it comes. Red when a page is written before
/// the right to it is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_follows_the_end_of_the_session() {
    let app = App::new().on_message(echo).build().unwrap();
    let server = House::new().serve(app).await;
    let mut page = visitor(&server).await;
    let (thread, session) = (page.thread(), page.session.clone());
    let mut stream = Sse::open(events(&server, &thread, Some(&session))).await;
    stream.until("ready").await;
    page.emit("clear_session", &[]);
    // A new request sees that it has ended; the stream's own look is a minute away.
    while Sse::try_open(events(&server, &thread, Some(&session))).await.is_ok() {}
    write(&server, &ThreadId::from(thread.as_str()), 51).await;
    let frames = stream.rest().await;
    assert!(!told(&frames, 51), "{frames:?}");
    assert_eq!(frames.last().unwrap().json()["reason"], "authorization_revoked");
}
