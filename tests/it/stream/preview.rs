//! Texts that stream, on the stream of events: whole or absent, and gone when the message is there (decision 6).

use std::collections::HashMap;
use std::sync::Arc;

use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::User;
use rejoinder::{App, Chat, State, UserMessage};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::world::follow;
use crate::support::page::sign_in;
use crate::support::records::ANNA;
use crate::support::server::{House, Running};
use crate::support::sse::Frame;

/// Lets the hook say one token more.
#[derive(Clone)]
struct Tokens(Arc<Semaphore>);

fn app(tokens: &Tokens) -> App {
    App::new().with_state(tokens.clone()).on_password_login(anybody).on_message(stream).build().unwrap()
}

async fn anybody(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

/// Streams what it was told, word by word.
async fn stream(chat: Chat, message: UserMessage, State(tokens): State<Tokens>) -> rejoinder::Result {
    let mut reply = chat.reply();
    match message.text().parse::<usize>() {
        Ok(count) => {
            for index in 0..count {
                reply.push(format!("t{index} ")).await?;
            }
        }
        Err(_) => {
            for word in message.text().split_inclusive(' ') {
                tokens.0.acquire().await?.forget();
                reply.push(word).await?;
            }
            tokens.0.acquire().await?.forget();
        }
    }
    reply.finish().await?;
    Ok(())
}

/// What a reader makes of the frames, by the rules of the client (records.md 3.11).
#[derive(Default)]
struct Texts {
    texts: HashMap<String, (u64, String)>,
    resets: usize,
}

impl Texts {
    fn take(&mut self, frame: &Frame) {
        let frame_of = frame.json();
        let entity = frame_of["entity_id"].as_str().unwrap_or_default().to_owned();
        match frame.name.as_str() {
            "preview" => {
                assert_eq!(
                    (&frame_of["version"], &frame_of["kind"], &frame_of["type"]),
                    (&1.into(), &"frame".into(), &"token".into())
                );
                let index = frame_of["frame_index"].as_u64().unwrap();
                let offset = frame_of["offset"].as_u64().unwrap();
                if index == 0 {
                    self.texts.remove(&entity);
                }
                let (next, text) = self.texts.entry(entity).or_default();
                assert_eq!((index, offset), (*next, text.encode_utf16().count() as u64), "a gap: {frame:?}");
                *next += 1;
                text.push_str(frame_of["payload"]["text"].as_str().unwrap());
            }
            "preview_reset" => {
                self.resets += 1;
                self.texts.remove(&entity);
            }
            _ => {}
        }
    }

    fn only(&self) -> &str {
        let texts: Vec<&str> = self.texts.values().map(|(_, text)| text.as_str()).collect();
        let [text] = texts[..] else { panic!("{texts:?}") };
        text
    }
}

fn content(event: &Frame) -> Option<String> {
    let event: Value = event.json();
    (event["type"] == "message.completed" && event["payload"]["role"] == "assistant")
        .then(|| event["payload"]["content"].as_str().unwrap().to_owned())
}

async fn server() -> (Running, Tokens) {
    let tokens = Tokens(Arc::new(Semaphore::new(0)));
    (House::new().serve(app(&tokens)).await, tokens)
}

/// Red when a reader is not told the text so far; when what it is told overlaps; when offsets count bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_joins_a_text_that_streams_gets_it_whole() {
    let (server, tokens) = server().await;
    let visitor = sign_in(server.addr, ANNA).await;
    let mut page = visitor.page();
    page.come(server.addr).await;
    tokens.0.add_permits(2);
    let first = page.send("hi");
    page.until_answered(&first).await;
    let thread = page.thread().as_str().into();
    let person = server.person(ANNA).await;

    let mut early = follow(&person, &thread, "").await;
    early.until("ready").await;
    let mut quiet = follow(&person, &thread, "?previews=0").await;
    quiet.until("ready").await;
    page.send("Grüße 😀 an alle");
    let mut seen = Texts::default();
    for expected in ["Grüße ", "Grüße 😀 "] {
        tokens.0.add_permits(1);
        while seen.texts.is_empty() || seen.only() != expected {
            seen.take(&early.next().await.unwrap());
        }
    }
    let mut late = follow(&person, &thread, "").await;
    let mut joined = Texts::default();
    let frames = late.until("preview").await;
    joined.take(frames.last().unwrap());
    assert_eq!(joined.only(), "Grüße 😀 ", "whole, from its beginning");
    assert_eq!(frames.iter().filter(|frame| frame.name == "ready").count(), 1, "after the replay");
    tokens.0.add_permits(2);
    for (stream, texts) in [(&mut early, &mut seen), (&mut late, &mut joined)] {
        while texts.only() != "Grüße 😀 an alle" {
            texts.take(&stream.next().await.unwrap());
        }
        assert_eq!(texts.resets, 0);
    }
    tokens.0.add_permits(1);
    for stream in [&mut early, &mut late, &mut quiet] {
        loop {
            let frame = stream.next().await.unwrap();
            assert!(frame.is_event() || frame.name == "checkpoint", "the message is there: {frame:?}");
            if frame.is_event() && content(&frame).is_some() {
                assert_eq!(content(&frame).unwrap(), "Grüße 😀 an alle");
                break;
            }
        }
    }
}

/// I-37, for previews: whoever does not keep up is told so, never shown a hole, and holds up nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_that_streams_too_fast_is_whole_or_absent() {
    let (server, tokens) = server().await;
    let visitor = sign_in(server.addr, ANNA).await;
    let mut page = visitor.page();
    page.come(server.addr).await;
    tokens.0.add_permits(2);
    let first = page.send("hi");
    page.until_answered(&first).await;
    let thread = page.thread().as_str().into();
    let person = server.person(ANNA).await;
    let mut stream = follow(&person, &thread, "").await;
    stream.until("ready").await;
    page.send("20000");
    let whole: String = (0..20_000).map(|index| format!("t{index} ")).collect();
    let mut texts = Texts::default();
    loop {
        let frame = stream.next().await.unwrap();
        if frame.is_event() && content(&frame).is_some() {
            assert_eq!(content(&frame).unwrap(), whole);
            break;
        }
        texts.take(&frame);
        assert!(texts.texts.values().all(|(_, text)| whole.starts_with(text.as_str())));
    }
    eprintln!("{} resets", texts.resets);
}
