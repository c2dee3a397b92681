//! I-60: what people say, who they are and what they hold stays out of the log, at every level and by every way in.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use rejoinder::id::StepId;
use rejoinder::protocol::ServerEvent;
use reqwest::multipart::{Form, Part};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::database::{Database, on_both};
use crate::support::http::Answer;
use crate::support::page::{Cut, Page, Seen, Visitor};
use crate::support::program::{Launch, Program};
use crate::support::raw::Raw;
use crate::support::sse::Sse;
use crate::support::upload::form;

on_both!(nothing_that_people_say_is_logged);

/// Every text that a person sends has this in it, and a word that says where it went in.
const CANARY: &str = "canary";

/// Who signs in: a mail address.
const MAIL: &str = "canary-login@example.org";

/// Somebody at a page of a server that logs everything.
struct Scene {
    server: Program,
    client: Client,
    page: Page,
    /// What must not be in the log beside canaries: tokens and session ids, each with a name.
    secrets: BTreeMap<&'static str, String>,
}

impl Scene {
    async fn new(launch: Launch, database: &Database) -> Self {
        let server = launch.env("RUST_LOG", "trace").on(database).start().await;
        let client = Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let login = client.post(format!("{}/login", server.base())).form(&[("username", MAIL), ("password", "pw")]);
        let login = Answer::of(login).await;
        let cookies: Vec<String> =
            login.cookies().iter().map(|cookie| cookie.split(';').next().unwrap().to_owned()).collect();
        let token = cookies[0].split_once('=').unwrap().1.to_owned();
        let visitor = Visitor { name: MAIL.into(), cookie: cookies.join("; ") };
        let mut page = visitor.page();
        page.come(server.addr()).await;
        let secrets = BTreeMap::from([("session id", page.session.clone()), ("token", token)]);
        Self { server, client, page, secrets }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.server.base()));
        request.header("cookie", &self.page.visitor.cookie).header("user-agent", "canary-agent")
    }

    /// Sends a body; what is answered is nobody's business here, but for a failure of the server.
    async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        let answer = Answer::of(self.request(method.clone(), path).json(&body)).await;
        assert!(answer.status.as_u16() < 500, "{method} {path}: {}", answer.text);
        answer
    }

    async fn get(&self, path: &str) -> Answer {
        let answer = Answer::of(self.request(Method::GET, path)).await;
        // There is no page here to show.
        assert!(answer.status.as_u16() < 500 || answer.status == 503, "{path}: {}", answer.text);
        answer
    }

    /// Writes a message and waits for the end of its run.
    async fn say(&mut self, text: &str) -> StepId {
        let id = self.page.send(text);
        self.page.until_answered(&id).await;
        id
    }

    /// Kills the server and searches what it said: what leaked, each with a line.
    async fn search(self) -> BTreeMap<String, String> {
        let log = self.server.kill().await;
        for level in ["TRACE", "DEBUG", "INFO"] {
            assert!(log.contains(level), "the log has lines of level {level}");
        }
        let secret = |line: &str| {
            self.secrets.iter().find(|(_, secret)| line.contains(&secret.to_lowercase())).map(|(name, _)| *name)
        };
        let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
        let mut leaks: BTreeMap<String, String> = BTreeMap::new();
        for line in log.lines() {
            let line = line.to_lowercase();
            let word = match line.find(CANARY) {
                _ if line.contains(&hex) => "in hex".to_owned(),
                Some(at) => line[at..].split(|c: char| !(c.is_alphanumeric() || c == '-')).next().unwrap().to_owned(),
                None => match secret(&line) {
                    Some(name) => name.to_owned(),
                    None => continue,
                },
            };
            let cut: String = line.chars().take(400).collect();
            leaks.entry(word).or_insert(cut);
        }
        leaks
    }
}

/// Red when a path is logged as it was asked for; when a hook's words to a person are logged; when a library's own lines of
/// frames, packets and headers are let through.
async fn nothing_that_people_say_is_logged(database: &Database) {
    let mut scene = Scene::new(Launch::surface(), database).await;
    messages(&mut scene).await;
    questions(&mut scene).await;
    files(&mut scene).await;
    buttons_and_elements(&mut scene).await;
    threads(&mut scene).await;
    records(&mut scene).await;
    logins(&scene).await;
    paths(&scene).await;
    bad_packets(&mut scene).await;
    polling(&scene).await;
    bad_requests(&scene).await;
    let mut leaks = scene.search().await;
    let mut scene = Scene::new(Launch::reference(), database).await;
    hooks(&mut scene).await;
    resumes(&mut scene).await;
    leaks.extend(scene.search().await);
    assert_eq!(leaks, BTreeMap::new(), "{} leaks", leaks.len());
}

/// Whether the run of a message that the page did not show before is over.
fn has_run(seen: &Seen, message: &StepId) -> bool {
    let is_end = |event: &ServerEvent| match event {
        ServerEvent::UpdateMessage(step) => step.parent_id.as_ref() == Some(message) && step.end.is_some(),
        _ => false,
    };
    seen.now().any(is_end)
}

async fn messages(scene: &mut Scene) {
    let first = scene.say("canary-message").await;
    let page = &mut scene.page;
    let id = StepId::random();
    let mut whole = page.message(&id, "canary-whole");
    for (key, value) in [("command", "canary-command"), ("language", "canary-language"), ("parentId", "canary-parent")]
    {
        whole[key] = json!(value);
    }
    whole["metadata"] = json!({"location": "http://canary-location/", "canary-key": 1});
    whole["modes"] = json!({"canary-mode": "canary-choice"});
    page.emit("client_message", &[json!({"message": whole, "fileReferences": [{"id": "canary-file"}]})]);
    page.until("its run", |seen| has_run(seen, &id)).await;
    let system = StepId::random();
    let mut step = page.message(&system, "canary-system");
    step["type"] = json!("system_message");
    page.emit("client_message", &[json!({"message": step, "fileReferences": []})]);
    page.until("its run", |seen| has_run(seen, &system)).await;
    let favorite = json!({"message": {"id": id, "output": "canary-favorite", "metadata": {"favorite": true}}});
    page.emit("message_favorite", &[favorite]);
    page.emit("window_message", &[json!("host: canary-window")]);
    page.until_text("window: canary-window").await;
    scene.say("/settings").await;
    let page = &mut scene.page;
    page.emit("chat_settings_change", &[json!({"canary-setting": "canary-value"})]);
    page.until("its settings", |seen| seen.screen.texts().iter().any(|text| text.contains("canary-value"))).await;
    page.emit("chat_settings_edit", &[json!({"canary-edit": "canary-edited"})]);
    page.until("its edit", |seen| seen.screen.texts().iter().any(|text| text.contains("canary-edited"))).await;
    scene.say("/author canary-author").await;
    scene.say("/window canary-posted").await;
    let page = &mut scene.page;
    page.emit("edit_message", &[json!({"message": {"id": first, "output": "canary-changed"}})]);
    page.until_text("echo: canary-changed").await;
    page.until_answered(&first).await;
    scene.say(&"canary-long ".repeat(20_000)).await;
    scene.say("canary-nul\u{0}").await;
}

/// The number under which the open question of a page wants its answer.
async fn ask(scene: &mut Scene, text: &str) -> StepId {
    let id = scene.page.send(text);
    scene
        .page
        .until("a question", |seen| seen.now().last().is_some_and(|event| matches!(event, ServerEvent::Ask(_))))
        .await;
    id
}

async fn questions(scene: &mut Scene) {
    let id = ask(scene, "/ask-action").await;
    let button = scene.page.look(|seen| {
        let action = seen.now().find_map(|event| match event {
            ServerEvent::Action(action) => Some(action.id.clone()),
            _ => None,
        });
        action.unwrap()
    });
    let payload = json!({"canary-n": "canary"});
    scene.page.answer_with(json!({"id": button, "name": "press", "label": "canary-label", "payload": payload}));
    scene.page.until_answered(&id).await;
    let id = ask(scene, "/ask-element").await;
    scene.page.answer_with(json!({"submitted": true, "canary-field": "canary-filled"}));
    scene.page.until_answered(&id).await;
    // An answer of the wrong shape leaves the question open.
    let id = ask(scene, "/ask-element").await;
    scene.page.answer_with(json!("canary-shape"));
    scene.page.say("43999[\"canary-ack\"]".into());
    scene.page.emit("stop", &[]);
    scene.page.until("its end", |seen| seen.is_answered(&id)).await;
    let id = scene.page.send("/call-fn 20 canary-argument");
    scene.page.until("a call", |seen| seen.count("call_fn") > 0).await;
    scene.page.emit("stop", &[]);
    scene.page.until("its end", |seen| seen.is_answered(&id)).await;
}

async fn files(scene: &mut Scene) {
    let session = scene.page.session.clone();
    let upload = async |scene: &Scene, query: String, form: Form| {
        let request = scene.request(Method::POST, &format!("/project/file?{query}")).multipart(form);
        Answer::of(request).await
    };
    let kept = form("canary-name.txt", "text/plain", "canary-content");
    let kept = upload(scene, format!("session_id={session}"), kept).await.json()["id"].as_str().unwrap().to_owned();
    for (name, mime) in [("canary-../bad", "text/plain"), ("canary-mime", "canary-kind/canary-sub")] {
        upload(scene, format!("session_id={session}"), form(name, mime, "canary-bytes")).await;
    }
    upload(scene, "session_id=canary-session".into(), form("canary-x", "text/plain", "x")).await;
    upload(scene, format!("session_id={session}&ask_parent_id=canary-ask"), form("canary-x", "text/plain", "x")).await;
    let field = Form::new().part("canary-part", Part::text("canary-text"));
    upload(scene, format!("session_id={session}"), field).await;
    let cut = scene
        .request(Method::POST, &format!("/project/file?session_id={session}"))
        .header("content-type", "multipart/form-data; boundary=canary-boundary")
        .body(
            "--canary-boundary\r\ncontent-disposition: form-data; name=\"file\"; filename=\"canary-cut\"\r\n\r\ncanary",
        );
    Answer::of(cut).await;
    scene.get(&format!("/project/file/{kept}?session_id={session}")).await;
    scene.get("/project/file/canary-id?session_id=canary-session").await;
    let id = StepId::random();
    let message = scene.page.message(&id, "canary-with-file");
    let sent = json!({"message": message, "fileReferences": [{"id": kept}]});
    scene.page.emit("client_message", &[sent]);
    scene.page.until("its run", |seen| has_run(seen, &id)).await;
}

async fn buttons_and_elements(scene: &mut Scene) {
    scene.say("/actions").await;
    scene.say("/element custom").await;
    let session = scene.page.session.clone();
    for name in ["press", "fail", "canary-action"] {
        let action = json!({"id": "canary-button", "name": name, "payload": {"n": "canary-payload"},
            "label": "canary-label", "tooltip": "canary-tip"});
        scene.send(Method::POST, "/project/action", json!({"action": action, "sessionId": session})).await;
        scene.send(Method::POST, "/project/action", json!({"action": action, "sessionId": "canary-session"})).await;
    }
    scene.send(Method::POST, "/project/action", json!({"action": "canary-shape"})).await;
    let element = scene.page.look(|seen| {
        let element = seen.now().find_map(|event| match event {
            ServerEvent::Element(element) => Some(element.id.clone()),
            _ => None,
        });
        element.unwrap()
    });
    for (id, kind) in [(element.as_str(), "custom"), ("canary-element", "custom"), (element.as_str(), "canary-kind")] {
        let element = json!({"id": id, "type": kind, "name": "canary-component", "props": {"canary-prop": "canary"}});
        let body = json!({"element": element, "sessionId": session});
        scene.send(Method::PUT, "/project/element", body.clone()).await;
        scene.send(Method::DELETE, "/project/element", body).await;
    }
    scene.send(Method::PUT, "/project/element", json!({"element": {"props": ["canary-props"]}})).await;
}

async fn threads(scene: &mut Scene) {
    let thread = scene.page.thread();
    let run = scene.page.look(|seen| seen.screen.steps().next().unwrap().id.clone());
    let votes = [
        json!({"forId": run, "threadId": thread, "value": 1, "comment": "canary-comment"}),
        json!({"forId": "canary-for", "value": 1, "comment": "canary-comment"}),
        json!({"forId": run, "value": "canary-vote"}),
    ];
    for vote in votes {
        scene.send(Method::PUT, "/feedback", json!({"feedback": vote, "sessionId": scene.page.session})).await;
    }
    scene.send(Method::DELETE, "/feedback", json!({"feedbackId": "canary-feedback"})).await;
    for name in [json!("canary-thread-name"), json!(["canary-name"])] {
        scene.send(Method::PUT, "/project/thread", json!({"threadId": thread, "name": name})).await;
    }
    for (first, search) in [(json!(10), json!("canary-search")), (json!("canary-first"), json!({"canary": 1}))] {
        let body = json!({"pagination": {"first": first, "cursor": "canary-cursor"}, "filter": {"search": search}});
        scene.send(Method::POST, "/project/threads", body).await;
    }
    scene.send(Method::PUT, "/project/thread/share", json!({"threadId": thread, "isShared": true})).await;
    scene.send(Method::PUT, "/project/thread/share", json!({"threadId": "canary-thread", "isShared": "canary"})).await;
    scene.send(Method::DELETE, "/project/thread", json!({"threadId": "canary-deleted"})).await;
    scene.get(&format!("/project/thread/{thread}")).await;
    scene.get(&format!("/project/thread/{thread}/element/canary-element")).await;
    scene.get("/project/share/canary-thread").await;
    let session = json!({"session_id": "canary-cookie"});
    scene.send(Method::POST, "/set-session-cookie", session).await;
    scene.get("/project/settings?language=canary-language&chat_profile=canary-profile").await;
    scene.get("/project/translations?language=canary-language").await;
    scene.send(Method::POST, "/mcp", json!({"name": "canary-mcp"})).await;
}

async fn records(scene: &mut Scene) {
    let thread = scene.page.thread();
    let session = scene.page.session.clone();
    for query in
        ["", "/records?limit=200", "/records?after=canary-after", "/records?order=canary-order", "/events?after=canary"]
    {
        scene.get(&format!("/sessions/{thread}{query}")).await;
    }
    let mut stream =
        Sse::open(scene.request(Method::GET, &format!("/sessions/{thread}/events?session_id={session}"))).await;
    stream.until("ready").await;
    let reset =
        scene.request(Method::GET, &format!("/sessions/{thread}/events")).header("last-event-id", "canary-event-id");
    Sse::open(reset).await.until("reset").await;
    for key in ["canary-key", ""] {
        let cancel = scene.request(Method::POST, &format!("/sessions/{thread}/cancel")).header("idempotency-key", key);
        Answer::of(cancel.json(&json!({"expected_execution_id": "canary-run"}))).await;
    }
    let cancel = scene.request(Method::POST, &format!("/sessions/{thread}/cancel")).header("idempotency-key", "k");
    Answer::of(cancel.body("canary-body")).await;
    scene.say("canary-followed").await;
    stream.until_event("execution.stopped").await;
    scene.get("/sessions/canary-session").await;
    scene.get("/sessions/canary%20session/records").await;
}

async fn logins(scene: &Scene) {
    let tries = [("canary-somebody@example.org", "canary-password"), ("", "canary-password"), (MAIL, "")];
    for (username, password) in tries {
        let form = [("username", username), ("password", password)];
        Answer::of(scene.client.post(format!("{}/login", scene.server.base())).form(&form)).await;
    }
    scene.send(Method::POST, "/login", json!({"username": "canary-json"})).await;
    let tokens = ["canary-token".to_owned(), unsigned(), scene.secrets["token"].clone()];
    for token in tokens {
        for scheme in ["Bearer", "canary-scheme"] {
            let authorization = format!("{scheme} {token}");
            Answer::of(
                scene.client.post(format!("{}/auth/jwt", scene.server.base())).header("authorization", &authorization),
            )
            .await;
            Answer::of(
                scene.client.get(format!("{}/user", scene.server.base())).header("authorization", &authorization),
            )
            .await;
        }
        let cookie = format!("access_token={token}; canary-cookie=canary");
        Answer::of(scene.client.get(format!("{}/user", scene.server.base())).header("cookie", cookie)).await;
    }
    let headers = scene.client.post(format!("{}/auth/header", scene.server.base())).header("x-canary", "canary-header");
    Answer::of(headers).await;
    scene.get("/auth/oauth/canary-provider?code=canary-code&state=canary-state").await;
}

/// A token that anybody can make, of somebody with a canary for a name.
fn unsigned() -> String {
    let part = |value: Value| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.x", part(json!({"alg": "HS256", "typ": "JWT"})), part(json!({"identifier": "canary-claim"})))
}

async fn paths(scene: &Scene) {
    for path in [
        "/canary-path",
        "/avatars/canary-avatar",
        "/avatars/canary-avatar@example.org",
        "/public/canary-public",
        "/assets/canary-asset",
        "/copilot/canary-copilot",
        "/observe/canary-thread",
        "/project/thread/canary-thread",
        "/project/thread/canary-thread/element/canary-element/content",
        "/thread/canary-page?canary-query=canary",
        "/%63anary-encoded",
        "/ws/canary-socket",
    ] {
        scene.get(path).await;
    }
    scene.send(Method::PATCH, "/project/canary-patch", json!("canary-body")).await;
    let preflight = scene.request(Method::OPTIONS, "/login").header("origin", "http://canary-origin");
    Answer::of(preflight.header("access-control-request-method", "canary")).await;
}

async fn bad_packets(scene: &mut Scene) {
    let message = scene.page.message(&StepId::random(), "canary-bad");
    let events = [
        ("canary-event", json!(["canary-argument"])),
        ("client_message", json!(["canary-argument"])),
        ("client_message", json!([{"message": {"id": "canary-id", "output": ["canary-output"]}}])),
        ("client_message", json!([{"message": message, "fileReferences": ["canary-reference"]}])),
        ("edit_message", json!([{"message": {"id": "canary-id", "output": 7}}])),
        ("message_favorite", json!(["canary-favorite"])),
        ("chat_settings_change", json!(["canary-setting"])),
        ("audio_chunk", json!([{"mimeType": "canary-mime", "data": "canary-data"}])),
    ];
    for (name, args) in &events {
        scene.page.emit(name, args.as_array().unwrap());
    }
    scene.say("canary-after").await;
    for packet in [
        "42[\"canary-broken\"",
        "42/canary-namespace,[\"canary-event\"]",
        "451-[\"canary-binary\",{\"_placeholder\":true,\"num\":0}]",
        "4canary-type",
        "canary-packet",
        "40{\"canary-connect\":1}",
    ] {
        scene.page.say(packet.to_owned());
        let acked = scene.page.look(Seen::acked);
        scene.page.say("427[\"fetch_favorites\"]".to_owned());
        let done = |seen: &Seen| !seen.is_open || seen.is_dismissed || seen.acked() > acked;
        scene.page.until(packet, done).await;
        if scene.page.look(|seen| !seen.is_open || seen.is_dismissed) {
            scene.page.come(scene.server.addr()).await;
        }
    }
    // Connections that are refused, or say who they are in an odd way.
    let url = format!("ws://{}/ws/socket.io/?EIO=4&transport=websocket&canary-query=canary", scene.server.addr());
    for auth in [
        json!({"sessionId": ["canary-session"]}),
        json!("canary-auth"),
        json!({"sessionId": "canary-session-id", "threadId": "canary-thread", "userEnv": "{\"canary-env\": \"canary\"}",
            "chatProfile": "canary-profile", "clientType": "canary-client"}),
        json!({"sessionId": "canary-session-id", "userEnv": "canary-env"}),
    ] {
        for cookie in [scene.page.visitor.cookie.as_str(), "access_token=canary-token"] {
            let mut raw = Raw::open_at(&url, &[("cookie", cookie), ("origin", "http://canary-origin")]).await.unwrap();
            raw.say(&format!("40{auth}")).await;
            raw.packet().await;
            raw.try_say("42[\"connection_successful\"]").await;
            raw.try_say("42[\"client_message\",\"canary-early\"]").await;
        }
    }
    scene.say("canary-once-more").await;
}

async fn polling(scene: &Scene) {
    let socket = "/ws/socket.io/?EIO=4&transport=polling&canary-query=canary";
    let opening = scene.get(socket).await.text;
    let sid: Value = serde_json::from_str(&opening[1..]).unwrap();
    let socket = format!("{socket}&sid={}", sid["sid"].as_str().unwrap());
    let auth = json!({"sessionId": "canary-polled-session", "threadId": "", "userEnv": "{}", "chatProfile": ""});
    let post = async |body: String| Answer::of(scene.request(Method::POST, &socket).body(body)).await;
    post(format!("40{auth}")).await;
    scene.get(&socket).await;
    post("42[\"connection_successful\"]".into()).await;
    let message = scene.page.message(&StepId::random(), "canary-polled");
    post(format!("42{}", json!(["client_message", {"message": message, "fileReferences": []}]))).await;
    let mut came = String::new();
    while !came.contains("echo: canary-polled") {
        came = scene.get(&socket).await.text;
    }
    post("42[\"canary-broken".into()).await;
    scene.get("/ws/socket.io/?EIO=4&transport=canary").await;
    scene.get("/ws/socket.io/?EIO=4&transport=polling&sid=canary-sid").await;
}

async fn bad_requests(scene: &Scene) {
    for route in ["/project/threads", "/project/action", "/feedback", "/project/thread", "/project/element", "/login"] {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let request = scene.request(method, route).header("content-type", "application/json");
            Answer::of(request.body("{\"canary-json\": \"canary\"")).await;
        }
    }
    for bytes in [
        "GET /canary-raw HTTP/9.9\r\n\r\n",
        "canary-verb / HTTP/1.1\r\nhost: canary-host\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: x\r\ncanary-header: \u{1}canary\r\n\r\n",
        "POST /login HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\ncanary-chunk\r\n",
        "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: canary\r\n\r\n",
        "canary-nothing\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(scene.server.addr()).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
}

async fn hooks(scene: &mut Scene) {
    scene.page.until_text("hello").await;
    scene.say("/error canary-told").await;
    scene.page.until_text("canary-told").await;
    scene.say("/sleep canary-number").await;
    scene.say("/set canary-key canary-value").await;
    scene.say("/tool canary-tool").await;
    scene.say("/stream 20 0").await;
    let id = ask(scene, "/ask").await;
    scene.page.answer("canary-answer");
    scene.page.until_answered(&id).await;
    let ids: BTreeSet<StepId> = scene.page.look(|seen| seen.screen.steps().map(|step| step.id.clone()).collect());
    assert!(ids.len() > 10);
}

/// A line that breaks while something streams, a thread that is resumed, and one that is not there.
async fn resumes(scene: &mut Scene) {
    let id = scene.page.send("/stream 300 1 canary-streamed");
    scene.page.until("its run", |seen| seen.run(&id).is_some()).await;
    scene.page.cut(Cut::Reset).await;
    scene.page.come(scene.server.addr()).await;
    scene.page.until_answered(&id).await;
    let addr = scene.server.addr();
    for thread in [scene.page.thread(), "canary-nowhere".to_owned()] {
        let mut other = scene.page.visitor.page_on(&thread);
        other.come(addr).await;
        other.until("an opening", |seen| seen.count("resume_thread") + seen.count("resume_thread_error") > 0).await;
        other.emit("clear_session", &[]);
        other.until("a new beginning", |_| true).await;
        scene.secrets.insert("other session id", other.session.clone());
    }
    scene.say("canary-last").await;
}
