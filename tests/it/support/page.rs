//! A page as a frontend keeps it: one tab with its `sessionId`, a screen by the page's own rules, and a line that can be
//! broken in every way. It reads by itself; a test waits for what it wants to see.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use rejoinder::id::StepId;
use rejoinder::protocol::{ServerEvent, Step, StepKind, Thread};
use rejoinder::screen;
use serde_json::{Value, json};
use socket2::SockRef;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::Message;

use super::http::Answer;
use super::parse::server_event;
use super::raw::{Raw, SOON};

/// One tab.
pub struct Page {
    pub session: String,
    pub visitor: Visitor,
    pub profile: &'static str,
    seen: watch::Sender<Seen>,
    line: Option<Line>,
    /// Events that the client library keeps while there is no connection; sent right after CONNECT.
    unsent: Vec<String>,
}

/// Somebody who has signed in. The cookie outlives servers that share a secret.
#[derive(Clone)]
pub struct Visitor {
    pub name: String,
    pub cookie: String,
}

/// What a page has seen.
#[derive(Default)]
pub struct Seen {
    pub screen: screen::Page,
    /// `auth.threadId`: what the page will connect with the next time.
    pub thread: String,
    /// Everything that came over lines that counted, oldest first.
    pub events: Vec<Came>,
    /// Whether there is a connection.
    pub is_open: bool,
    /// The server said a Socket.IO DISCONNECT: a stock page does not come back by itself.
    pub is_dismissed: bool,
    /// How many events had come when a ping was last answered: what the server may know to have arrived.
    ponged: usize,
    /// How many of the page's events were acknowledged.
    acked: usize,
    /// The number under which the open question wants its answer.
    ack: Option<String>,
    /// The line that counts: what others say is not heard, as by a client that gave its old transport up.
    line: usize,
}

/// An event that came.
pub struct Came {
    pub at: Instant,
    pub line: usize,
    pub event: ServerEvent,
}

/// A transport that is open, with nothing said yet.
pub struct Transport(Raw);

struct Line {
    orders: mpsc::UnboundedSender<Order>,
    task: JoinHandle<()>,
}

enum Order {
    Say(String),
    Freeze,
    Thaw,
    Cut(Cut),
}

/// How a line ends.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// As when the peer's machine is gone: what was written and not read is thrown away on both sides.
    Reset,
    /// As when a tab is closed.
    Close,
}

/// Signs somebody in.
pub async fn sign_in(server: SocketAddr, name: &str) -> Visitor {
    let form = [("username", name), ("password", "pw")];
    let login = Answer::of(reqwest::Client::new().post(format!("http://{server}/login")).form(&form)).await;
    let cookies: Vec<String> = login.cookies();
    let cookie: Vec<&str> = cookies.iter().filter_map(|cookie| cookie.split(';').next()).collect();
    assert!(!cookie.is_empty(), "{}", login.text);
    Visitor { name: name.to_owned(), cookie: cookie.join("; ") }
}

impl Visitor {
    /// A new tab of theirs.
    pub fn page(&self) -> Page {
        self.page_on("")
    }

    /// A new tab that was opened on a thread.
    pub fn page_on(&self, thread: &str) -> Page {
        Page {
            session: uuid::Uuid::new_v4().to_string(),
            visitor: self.clone(),
            profile: "",
            seen: watch::Sender::new(Seen { thread: thread.to_owned(), ..Seen::default() }),
            line: None,
            unsent: Vec::new(),
        }
    }

    /// Opens a transport: here the server numbers the connection.
    pub async fn dial(&self, server: SocketAddr) -> Transport {
        let url = format!("ws://{server}/ws/socket.io/?EIO=4&transport=websocket");
        Transport(Raw::open_at(&url, &[("cookie", &self.cookie)]).await.unwrap())
    }

    /// The thread of a page as it is stored, once all that the page was told is there: where the store takes more than a
    /// quarter of a second, the server shows before it has stored.
    pub async fn stored(&self, server: SocketAddr, page: &Page) -> Thread {
        let of = |step: &Step| (step.id.clone(), (step.output.clone(), step.streaming));
        let told: BTreeMap<StepId, (String, bool)> = page.look(|seen| {
            let told = seen.screen.steps().filter(|step| step.kind != StepKind::UserMessage);
            told.map(of).collect()
        });
        let deadline = Instant::now() + SOON;
        loop {
            let thread = self.thread(server, &page.thread()).await.expect("its thread is stored");
            let there: BTreeMap<StepId, (String, bool)> = thread.steps.iter().map(of).collect();
            if told.iter().all(|(id, output)| there.get(id) == Some(output)) || Instant::now() > deadline {
                return thread;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A stored thread as the server answers it; none when there is none.
    pub async fn thread(&self, server: SocketAddr, id: &str) -> Option<Thread> {
        let request = reqwest::Client::new().get(format!("http://{server}/project/thread/{id}"));
        let answer = Answer::of(request.header("cookie", &self.cookie)).await;
        (answer.status == 200).then(|| serde_json::from_value(answer.json()).unwrap())
    }
}

impl Page {
    /// Connects and is ready, as the stock client does it in one go.
    pub async fn come(&mut self, server: SocketAddr) {
        self.connect(server).await;
        self.ready();
    }

    /// Connects; returns when CONNECT was answered. A former line is given up, not closed.
    pub async fn connect(&mut self, server: SocketAddr) {
        let transport = self.visitor.dial(server).await;
        self.connect_over(transport).await.unwrap();
    }

    /// The same over a transport that was opened before. Gives the reason when the server refuses.
    pub async fn connect_over(&mut self, transport: Transport) -> Result<(), String> {
        let Transport(mut raw) = transport;
        drop(self.line.take());
        let auth = json!({"clientType": "webapp", "sessionId": self.session, "threadId": self.seen.borrow().thread,
            "userEnv": "{}", "chatProfile": self.profile});
        raw.say(&format!("40{auth}")).await;
        let answer = raw.packet().await.ok_or("closed")?;
        if !answer.starts_with("40{") {
            return Err(answer);
        }
        let mut line = 0;
        self.seen.send_modify(|seen| {
            seen.line += 1;
            (seen.is_open, seen.is_dismissed, seen.ack) = (true, false, None);
            line = seen.line;
        });
        let (orders, inbox) = mpsc::unbounded_channel();
        let task = tokio::spawn(read(raw, inbox, self.seen.clone(), line));
        self.line = Some(Line { orders, task });
        for packet in std::mem::take(&mut self.unsent) {
            self.say(packet);
        }
        Ok(())
    }

    /// Says that it is ready to be told things.
    pub fn ready(&mut self) {
        self.emit("connection_successful", &[]);
    }

    /// Sends an event; while there is no connection it waits for the next one.
    pub fn emit(&mut self, event: &str, args: &[Value]) {
        let mut array = vec![json!(event)];
        array.extend_from_slice(args);
        self.say(format!("42{}", Value::Array(array)));
    }

    /// Sends a packet; while there is no connection it waits for the next one.
    pub fn say(&mut self, packet: String) {
        match &self.line {
            Some(line) if self.seen.borrow().is_open => drop(line.orders.send(Order::Say(packet))),
            _ => self.unsent.push(packet),
        }
    }

    /// Writes a message: it is on the page at once. Gives its id.
    pub fn send(&mut self, text: &str) -> StepId {
        let id = StepId::random();
        self.send_as(&id, text);
        id
    }

    /// The same under an id that may have been used before.
    pub fn send_as(&mut self, id: &StepId, text: &str) {
        let mut step = Step::new(id.clone(), "".into(), StepKind::UserMessage, &self.visitor.name);
        step.output = text.to_owned();
        self.seen.send_modify(|seen| seen.screen.wrote(&step));
        self.emit("client_message", &[json!({"message": self.message(id, text), "fileReferences": []})]);
    }

    /// A message as the composer makes it.
    pub fn message(&self, id: &StepId, text: &str) -> Value {
        json!({"threadId": "", "id": id, "name": self.visitor.name, "type": "user_message", "output": text,
            "createdAt": "2026-01-01T10:00:00.000Z", "metadata": {"location": "http://here/"}})
    }

    /// Answers the open question; the answer is on the page at once.
    pub fn answer(&mut self, text: &str) -> StepId {
        let id = StepId::random();
        let mut step = Step::new(id.clone(), "".into(), StepKind::UserMessage, &self.visitor.name);
        step.output = text.to_owned();
        let mut ack = None;
        self.seen.send_modify(|seen| {
            seen.screen.wrote(&step);
            seen.screen.apply(&ServerEvent::ClearAsk);
            ack = seen.ack.take();
        });
        let ack = ack.expect("no question is open");
        self.say(format!("43{ack}{}", json!([self.message(&id, text)])));
        id
    }

    /// Answers the open question with what is no text: a button, a form, files.
    pub fn answer_with(&mut self, value: Value) {
        let mut ack = None;
        self.seen.send_modify(|seen| {
            seen.screen.apply(&ServerEvent::ClearAsk);
            ack = seen.ack.take();
        });
        let ack = ack.expect("no question is open");
        self.say(format!("43{ack}{}", json!([value])));
    }

    /// Ends the line. What the library had not sent is gone with it.
    pub async fn cut(&mut self, how: Cut) {
        if let Some(line) = self.line.take() {
            let _ = line.orders.send(Order::Cut(how));
            let _ = line.task.await;
        }
        self.seen.send_modify(|seen| seen.is_open = false);
    }

    /// Stops reading: nothing more is seen over this line, and no ping is answered.
    pub fn freeze(&mut self) {
        if let Some(line) = &self.line {
            let _ = line.orders.send(Order::Freeze);
        }
    }

    /// Goes on reading where it stopped.
    pub fn thaw(&mut self) {
        if let Some(line) = &self.line {
            let _ = line.orders.send(Order::Thaw);
        }
    }

    /// Looks at what was seen so far.
    pub fn look<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.borrow())
    }

    /// Waits until something was seen.
    pub async fn until(&self, what: &str, mut done: impl FnMut(&Seen) -> bool) {
        let mut receiver = self.seen.subscribe();
        let timely = tokio::time::timeout(SOON, receiver.wait_for(|seen| done(seen))).await.is_ok();
        assert!(timely, "never seen: {what}\n{}", self.look(Seen::tell));
    }

    /// Waits until a text stands on the page.
    pub async fn until_text(&self, text: &str) {
        self.until(text, |seen| seen.screen.texts().contains(&text)).await;
    }

    /// Waits until the run of a message is over.
    pub async fn until_answered(&self, message: &StepId) {
        let what = format!("the end of the run of {message}");
        self.until(&what, |seen| seen.is_answered(message) && !seen.screen.is_loading()).await;
    }

    /// Sends a message and gives the last text that its run said.
    pub async fn ask(&mut self, text: &str) -> String {
        let id = self.send(text);
        self.until_answered(&id).await;
        self.look(|seen| seen.answers(&id).last().cloned()).unwrap_or_else(|| panic!("no answer to {text}"))
    }

    /// Waits until the server knows that everything which was seen has arrived: a ping that came behind it was answered,
    /// and something that was said behind the answer was heard.
    pub async fn until_proven(&mut self) {
        self.until("a ping", |seen| seen.ponged == seen.events.len()).await;
        let acked = self.look(|seen| seen.acked);
        self.say(format!("42{acked}[\"fetch_favorites\"]"));
        self.until("an acknowledgement", |seen| seen.acked > acked).await;
    }

    /// Waits until the line is gone.
    pub async fn until_cut(&self) {
        self.until("the end of the line", |seen| !seen.is_open).await;
    }

    /// The thread it is on.
    pub fn thread(&self) -> String {
        self.look(|seen| seen.thread.clone())
    }

    /// The texts of its messages, from top to bottom.
    pub fn texts(&self) -> Vec<String> {
        self.look(|seen| seen.screen.texts().into_iter().map(str::to_owned).collect())
    }
}

impl Seen {
    /// The events of the line that counts now.
    pub fn now(&self) -> impl Iterator<Item = &ServerEvent> {
        self.events.iter().filter(|came| came.line == self.line).map(|came| &came.event)
    }

    /// How often an event of this name came over the line that counts now.
    pub fn count(&self, name: &str) -> usize {
        self.now().filter(|event| event.name() == name).count()
    }

    /// How many events that asked for it were acknowledged.
    pub fn acked(&self) -> usize {
        self.acked
    }

    /// How often it came over all lines.
    pub fn count_ever(&self, name: &str) -> usize {
        self.events.iter().filter(|came| came.event.name() == name).count()
    }

    /// The tokens of a step as they came, the first one in its `stream_start`.
    pub fn tokens<'a>(&'a self, step: &StepId) -> Vec<(Instant, &'a str)> {
        let token = |came: &'a Came| match &came.event {
            ServerEvent::StreamToken(token) if token.id == *step => Some((came.at, token.token.as_str())),
            ServerEvent::StreamStart(start) if start.id == *step => Some((came.at, start.output.as_str())),
            _ => None,
        };
        self.events.iter().filter_map(token).collect()
    }

    /// The step under an id.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.screen.step(id)
    }

    /// The run that answers a message.
    pub fn run(&self, message: &StepId) -> Option<&Step> {
        // From the end: it is mostly the last ones that are asked for.
        self.screen.steps().rev().find(|step| step.kind == StepKind::Run && step.parent_id.as_ref() == Some(message))
    }

    /// Whether the run of a message is over.
    pub fn is_answered(&self, message: &StepId) -> bool {
        self.run(message).is_some_and(|run| run.end.is_some())
    }

    /// What the run of a message said.
    pub fn answers(&self, message: &StepId) -> Vec<String> {
        let Some(run) = self.run(message).map(|run| run.id.clone()) else { return Vec::new() };
        let below = |step: &&Step| step.parent_id.as_ref() == Some(&run) && step.is_message();
        self.screen.steps().filter(below).map(|step| step.output.clone()).collect()
    }

    /// For a failure: what the page shows and what came last.
    pub fn tell(&self) -> String {
        let mut told = format!("open {}, thread {}, loading {}\n", self.is_open, self.thread, self.screen.is_loading());
        for line in outline(&self.screen) {
            let _ = writeln!(told, "  {line}");
        }
        let last = self.events.len().saturating_sub(25);
        for came in &self.events[last..] {
            let text = serde_json::to_string(&came.event).unwrap();
            let text: String = text.chars().take(160).collect();
            let _ = writeln!(told, "  line {}: {} {text}", came.line, came.event.name());
        }
        told
    }
}

/// What a page shows, a line a step: where it stands, what it is, what it says.
pub fn outline(page: &screen::Page) -> Vec<String> {
    page.tree()
        .into_iter()
        .map(|(depth, step)| {
            let streams = if step.streaming { " (streaming)" } else { "" };
            format!("{}{} {} {}{streams}", "  ".repeat(depth), step.id, step.kind.as_str(), step.output)
        })
        .collect()
}

/// What a page would show of a stored thread.
pub fn outline_of(thread: Thread) -> Vec<String> {
    let mut page = screen::Page::default();
    page.apply(&ServerEvent::ResumeThread(std::sync::Arc::new(thread)));
    outline(&page)
}

/// An outline, cut where something stands at the root.
pub fn turns(outline: &[String]) -> Vec<String> {
    let mut turns: Vec<String> = Vec::new();
    for line in outline {
        match turns.last_mut() {
            Some(turn) if line.starts_with(' ') => {
                turn.push('\n');
                turn.push_str(line);
            }
            _ => turns.push(line.clone()),
        }
    }
    turns
}

/// Reads one line until it ends or is given up.
async fn read(raw: Raw, mut orders: mpsc::UnboundedReceiver<Order>, seen: watch::Sender<Seen>, line: usize) {
    let mut stream = raw.stream;
    let mut frozen = false;
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(Order::Say(packet)) => {
                    if stream.send(Message::text(packet)).await.is_err() {
                        break;
                    }
                }
                Some(Order::Freeze) => frozen = true,
                Some(Order::Thaw) => frozen = false,
                Some(Order::Cut(Cut::Close)) => {
                    let _ = stream.close(None).await;
                    break;
                }
                Some(Order::Cut(Cut::Reset)) => {
                    if let MaybeTlsStream::Plain(tcp) = stream.get_ref() {
                        SockRef::from(tcp).set_linger(Some(Duration::ZERO)).unwrap();
                    }
                    break;
                }
                None => {
                    // Given up: silent, but not closed. The server notices by itself.
                    tokio::time::sleep(SOON).await;
                    break;
                }
            },
            message = stream.next(), if !frozen => match message {
                Some(Ok(Message::Text(text))) if text.as_str() == "2" => {
                    if stream.send(Message::text("3")).await.is_err() {
                        break;
                    }
                    seen.send_modify(|seen| seen.ponged = seen.events.len());
                }
                // The server closes the transport.
                Some(Ok(Message::Text(text))) if text.as_str() == "1" => break,
                Some(Ok(Message::Text(text))) => take(&seen, line, text.as_str()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    seen.send_if_modified(|seen| {
        let ours = seen.line == line;
        seen.is_open &= !ours;
        ours
    });
}

/// Takes a packet as a page does.
fn take(seen: &watch::Sender<Seen>, line: usize, packet: &str) {
    if packet == "41" {
        seen.send_modify(|seen| seen.is_dismissed |= seen.line == line);
        return;
    }
    // Another namespace is refused: that is not this page's.
    if packet.starts_with("44/") {
        return;
    }
    if packet.starts_with("43") {
        seen.send_modify(|seen| seen.acked += 1);
        return;
    }
    let Some(packet) = packet.strip_prefix("42") else { panic!("the server sent {packet}") };
    let digits = packet.bytes().take_while(u8::is_ascii_digit).count();
    let (ack, packet) = packet.split_at(digits);
    let mut array: Vec<Value> = serde_json::from_str(packet).unwrap();
    assert_eq!(array.len(), 2, "every event has one argument: {packet}");
    let argument = array.remove(1);
    let event = server_event(array[0].as_str().unwrap(), argument);
    seen.send_modify(|seen| {
        if seen.line != line {
            return;
        }
        match &event {
            ServerEvent::FirstInteraction { thread_id, .. } => seen.thread = thread_id.as_str().to_owned(),
            ServerEvent::ResumeThread(thread) => seen.thread = thread.id.as_str().to_owned(),
            ServerEvent::Ask(_) => seen.ack = Some(ack.to_owned()),
            _ => {}
        }
        seen.screen.apply(&event);
        seen.events.push(Came { at: Instant::now(), line, event });
    });
}
