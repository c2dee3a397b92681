//! Whatever a client sends: its transport may be closed, and nothing else happens. No panic, no hook, one line of log.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::id::StepId;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::page::{Cut, Page, Seen, Visitor, outline, outline_of, sign_in};
use crate::support::program::{Launch, Program};

/// A server with its log, and a page that has spoken to it.
struct Scene {
    server: Program,
    anna: Visitor,
    page: Page,
}

impl Scene {
    async fn new() -> Self {
        let server = Launch::reference().start().await;
        let anna = sign_in(server.addr(), "anna").await;
        let mut page = anna.page();
        page.come(server.addr()).await;
        page.until_text("hello").await;
        assert_eq!(page.ask("before").await, "echo: before");
        Self { server, anna, page }
    }

    /// The page's session goes on, and its hooks were called for nothing else. Gives the log.
    async fn check(mut self, messages: u32) -> String {
        let expected = format!(r#"{{"on_chat_start": 1, "on_message": {}}}"#, messages + 1);
        assert_eq!(self.page.ask("/calls").await, expected);
        let stored = self.anna.stored(self.server.addr(), &self.page).await;
        assert_eq!(self.page.look(|seen| outline(&seen.screen)), outline_of(stored));
        self.end().await
    }

    /// The server still runs, and nothing panicked. Gives the log.
    async fn end(mut self) -> String {
        assert!(self.server.is_alive());
        let log = self.server.kill().await;
        for word in ["panic", "ERROR"] {
            assert!(!log.contains(word), "{log}");
        }
        log
    }
}

/// Red when the limit is not given to the engine; when the end of a transport ends the session.
#[tokio::test]
async fn a_packet_that_is_too_large_closes_its_transport_only() {
    let mut scene = Scene::new().await;
    let mut other = scene.anna.page();
    other.come(scene.server.addr()).await;
    other.until_text("hello").await;
    let frame = |size: usize| {
        let empty = "42[\"window_message\",\"\"]".len();
        format!("42[\"window_message\",\"{}\"]", "x".repeat(size - empty))
    };
    // The largest that is allowed passes.
    scene.page.say(frame(1_000_000));
    assert_eq!(scene.page.ask("still here").await, "echo: still here");
    scene.page.say(frame(1_000_001));
    scene.page.until_cut().await;
    scene.page.come(scene.server.addr()).await;
    assert_eq!(other.ask("me too").await, "echo: me too");
    scene.check(2).await;
}

/// Red when a packet that cannot be read ends the session, or the process.
#[tokio::test]
async fn a_broken_packet_closes_its_transport_at_most() {
    let mut scene = Scene::new().await;
    let packets = [
        "",
        "9",
        "x",
        "4",
        "49",
        "4x",
        "42",
        "42[",
        "42]",
        "42{}",
        "42[1]",
        "42[]",
        "42[null]",
        "42[[\"audio_start\"]]",
        "42\"audio_start\"",
        "42[\"client_message\"",
        "42[\"client_message\",{]",
        "42/other,[\"audio_start\"]",
        "42/other[\"audio_start\"]",
        "4299999999999999999999[\"audio_start\"]",
        "43",
        "43[]",
        "431",
        "431[",
        "4399999999999999999999[]",
        "43-1[]",
        "40",
        "40{",
        "40{}",
        "40/other,",
        "44{\"message\":\"no\"}",
        "45",
        "451-[\"audio_chunk\",{\"_placeholder\":true,\"num\":0}]",
        "4599999999-[\"audio_start\"]",
        "451-[",
        "46",
        "46[]",
        "47",
        "0",
        "0{}",
        "3",
        "5",
        "6",
        "2probe",
        "3probe",
        "42[\"audio_start\",\u{0}]",
        "\u{0}",
        "42[\"\u{0}\"]",
        "🙂",
        "42[\"🙂\"]",
    ];
    for packet in packets {
        let events = scene.page.look(|seen| seen.count_ever("task_end"));
        let acked = scene.page.look(Seen::acked);
        scene.page.say(packet.to_owned());
        // An orderly question behind it shows what it did: an answer, or a line that is gone.
        scene.page.say("427[\"fetch_favorites\"]".to_owned());
        scene
            .page
            .until(&format!("what {packet:?} does"), |seen| !seen.is_open || seen.is_dismissed || seen.acked() > acked)
            .await;
        if scene.page.look(|seen| !seen.is_open || seen.is_dismissed) {
            scene.page.come(scene.server.addr()).await;
            scene.page.until("its opening", |seen| seen.count_ever("task_end") > events).await;
        }
    }
    scene.check(1).await;
}

/// Red when a field is taken as it comes; when a refusal is logged more than once, or with what it held.
#[tokio::test]
async fn a_message_with_a_wrong_field_is_refused_and_nothing_else() {
    let mut scene = Scene::new().await;
    let good = scene.page.message(&StepId::random(), "canary");
    let with = |key: &str, value: Value| {
        let mut message = good.clone();
        message[key] = value;
        if key != "id" {
            message["id"] = json!(StepId::random());
        }
        json!([{"message": message, "fileReferences": []}])
    };
    let without = |key: &str| {
        let mut message = good.clone();
        message.as_object_mut().unwrap().remove(key);
        json!([{"message": message, "fileReferences": []}])
    };
    let mut bad = vec![
        json!([]),
        json!([null]),
        json!(["canary"]),
        json!([7]),
        json!([[]]),
        json!([{}]),
        json!([{"message": null}]),
        json!([{"message": "canary"}]),
        json!([{"message": [good]}]),
        json!([{"message": {}}]),
        json!([{"message": good, "fileReferences": "canary"}]),
        json!([{"message": good, "fileReferences": {}}]),
        json!([{"message": good, "fileReferences": [1]}]),
        json!([{"message": good, "fileReferences": [{"id": 1}]}]),
        without("id"),
        without("output"),
        without("createdAt"),
        with("id", json!("m1")),
        with("id", json!("00000000-0000-1000-8000-000000000000")),
        with("type", json!("run")),
        with("type", json!("no_such_type")),
        with("modes", json!({"llm": 1})),
        with("metadata", json!("canary")),
        with("modes", json!("canary")),
    ];
    for key in ["id", "output", "createdAt", "type", "name", "threadId", "parentId", "command", "language"] {
        bad.extend([json!(7), json!(true), json!(["canary"]), json!({"canary": 1})].map(|value| with(key, value)));
    }
    bad.extend([json!(7), json!(true), json!(["canary"])].map(|value| with("metadata", value)));
    for (count, args) in bad.iter().enumerate() {
        let errors = |seen: &Seen| seen.screen.texts().iter().filter(|text| is_refusal(text)).count();
        scene.page.emit("client_message", args.as_array().unwrap());
        scene
            .page
            .until(&format!("a word on {args}"), |seen| errors(seen) == count + 1 && !seen.screen.is_loading())
            .await;
    }
    // Events that nobody knows, and known ones with wrong arguments: nobody is told, and the log has a line.
    let unknown = [
        ("hijack", json!([])),
        ("disconnect", json!([])),
        ("connect", json!([])),
        ("new_message", json!([good])),
        ("edit_message", json!([])),
        ("edit_message", json!([{"message": 7}])),
        ("edit_message", json!([{"message": {"id": 7, "output": "canary"}}])),
        ("message_favorite", json!([{"message": {"id": []}}])),
        ("chat_settings_change", json!(["canary"])),
        ("chat_settings_edit", json!([7])),
    ];
    for (name, args) in &unknown {
        scene.page.emit(name, args.as_array().unwrap());
    }
    let ok = scene.page.ask("after").await;
    assert_eq!(ok, "echo: after");
    scene.page.cut(Cut::Close).await;
    // What was refused is told and not kept.
    let mut again = scene.anna.page_on(&scene.page.thread());
    again.come(scene.server.addr()).await;
    again.until("its thread", |seen| seen.count("resume_thread") == 1 && !seen.screen.is_loading()).await;
    assert_eq!(again.texts(), ["hello", "before", "echo: before", "after", "echo: after"]);
    assert_eq!(again.ask("/calls").await, r#"{"on_chat_resume": 1, "on_message": 1}"#);
    let log = scene.end().await;
    assert_eq!(log.matches("event refused").count(), bad.len() + unknown.len(), "one line each");
    assert!(!log.contains("canary"), "{log}");
}

/// Red when an event panics; when events of one page stop the server for others.
#[tokio::test]
async fn ten_thousand_random_events_leave_a_server_that_answers() {
    let scene = Scene::new().await;
    let seed = std::env::var("REJOINDER_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    eprintln!("REJOINDER_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let mut page = scene.anna.page();
    page.come(scene.server.addr()).await;
    let mut lines = 1;
    for number in 1..=10_000 {
        let packet = packet(&mut random, &page);
        let is_goodbye = packet.starts_with("42") && packet.contains("[\"clear_session\"");
        page.say(packet);
        if number % 200 == 0 {
            // Whoever sends faster than anybody can handle is cut off; the next line of the session goes on.
            let acked = page.look(Seen::acked);
            page.say("429[\"fetch_favorites\"]".to_owned());
            page.until("an answer or the end", |seen| !seen.is_open || seen.is_dismissed || seen.acked() > acked).await;
        }
        if is_goodbye || page.look(|seen| !seen.is_open || seen.is_dismissed) {
            lines += 1;
            page = scene.anna.page();
            page.come(scene.server.addr()).await;
        }
    }
    eprintln!("10000 events over {lines} lines");
    page = scene.anna.page();
    page.come(scene.server.addr()).await;
    assert_eq!(page.ask("alive?").await, "echo: alive?");
    scene.check(1).await;
}

/// An event by chance: its name and its arguments are often nearly right.
fn packet(random: &mut StdRng, page: &Page) -> String {
    const NAMES: [&str; 14] = [
        "connection_successful",
        "fetch_favorites",
        "client_message",
        "client_message",
        "edit_message",
        "message_favorite",
        "stop",
        "window_message",
        "audio_start",
        "audio_chunk",
        "audio_end",
        "chat_settings_change",
        "chat_settings_edit",
        "clear_session",
    ];
    // A session that was cleared hears nothing more, so that is rare.
    let known = if random.random_bool(0.002) { 14 } else { 13 };
    let name = if random.random_bool(0.9) { json!(NAMES[random.random_range(0..known)]) } else { value(random, 1) };
    let mut array = vec![name];
    if random.random_bool(0.4) {
        let mut message = page.message(&StepId::random(), "hm");
        let keys: Vec<String> = message.as_object().unwrap().keys().cloned().collect();
        for _ in 0..random.random_range(0..3) {
            message[&keys[random.random_range(0..keys.len())]] = value(random, 2);
        }
        array.push(json!({"message": message, "fileReferences": value(random, 2)}));
    }
    for _ in 0..random.random_range(0..3) {
        array.push(value(random, 3));
    }
    let ack = if random.random_bool(0.1) { random.random_range(0..100).to_string() } else { String::new() };
    let kind = if random.random_bool(0.95) { "42" } else { "43" };
    format!("{kind}{ack}{}", Value::Array(array))
}

fn value(random: &mut StdRng, depth: u32) -> Value {
    match random.random_range(0..if depth == 0 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => json!(random.random::<bool>()),
        2 => json!(random.random::<i64>()),
        3 => json!(random.random::<f64>() * 1e300),
        4 => json!("\u{0}\u{202e}\"\\"),
        5 => json!("x".repeat(random.random_range(0..300))),
        6 => json!(["id", "message", "resume", "", "00000000-0000-4000-8000-000000000000"][random.random_range(0..5)]),
        7 => (0..random.random_range(0..4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let keys = ["id", "message", "metadata", "favorite", "__proto__", ""];
            let pairs = (0..random.random_range(0..4))
                .map(|_| (keys[random.random_range(0..keys.len())].to_owned(), value(random, depth - 1)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
    }
}

/// Red when a request that is none ends the process.
#[tokio::test]
async fn http_that_is_none_is_refused() {
    let scene = Scene::new().await;
    let mut random = StdRng::seed_from_u64(7);
    let socket = "/ws/socket.io/?EIO=4&transport=polling";
    let mut garbage: Vec<Vec<u8>> = [
        "".to_owned(),
        "\r\n\r\n".to_owned(),
        "GET\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
        "get / http/1.1\r\n\r\n".to_owned(),
        "GET /\u{0} HTTP/1.1\r\nhost: here\r\n\r\n".to_owned(),
        "GET /%ff%00%zz HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /../../etc/passwd HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nhost: here\r\ncookie: \u{1}\r\n\r\n".to_owned(),
        format!("GET /{} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n", "a".repeat(100_000)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(10_000)),
        "POST /login HTTP/1.1\r\nhost: here\r\ncontent-length: -1\r\n\r\n".to_owned(),
        "POST /login HTTP/1.1\r\nhost: here\r\ncontent-length: 99999999999999999999\r\n\r\n".to_owned(),
        "POST /login HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_owned(),
        "POST /login HTTP/1.1\r\nhost: here\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd".to_owned(),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        format!("GET {socket}&sid=nobody HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n"),
        format!("POST {socket}&sid=../.. HTTP/1.1\r\nhost: here\r\ncontent-length: 1\r\nconnection: close\r\n\r\nx"),
        format!("PATCH {socket} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n"),
        "GET /ws/socket.io/?EIO=3&transport=polling HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /ws/socket.io/?EIO=4&transport=smoke HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n".to_owned(),
        "GET /ws/socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nhost: here\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 1\r\nsec-websocket-key: x\r\n\r\n".to_owned(),
    ]
    .map(String::into_bytes)
    .into();
    garbage.extend((0..200).map(|_| (0..random.random_range(1..2_000)).map(|_| random.random()).collect()));
    for bytes in garbage {
        let mut stream = TcpStream::connect(scene.server.addr()).await.unwrap();
        // The server may close before it has read everything.
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await;
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert!(read.is_ok(), "no end after {start:?}");
        let status = String::from_utf8_lossy(&answer).split(' ').nth(1).map(str::to_owned).unwrap_or_default();
        // There is no page here to show.
        assert!(!status.starts_with('5') || status == "503", "{status} for {start:?}");
    }
    scene.check(1).await;
}

/// The sentence that a person is told; it repeats nothing.
fn is_refusal(text: &str) -> bool {
    text.starts_with("The message could not be read: ")
}
