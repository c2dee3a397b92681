//! A small world for sessions: an application that counts, a store in memory, pages whose lines die at any moment.
//! Everything runs on one thread with a clock that stands still while anybody works.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::app::Answers;
use rejoinder::chat::{Content, FileError, FileKeeper, FilePlace, FileReader, NewFile};
use rejoinder::clock::Clock;
use rejoinder::conversation::{Conversations, Settings, Shared, Show};
use rejoinder::hook::{HookRuntime, ResumedThread};
use rejoinder::id::{FileId, SessionId, StepId, ThreadId};
use rejoinder::journal::{Journal, JournalSettings};
use rejoinder::protocol::{ClientEvent, ClientMessage, ServerEvent, Step, StepKind, StoredFile, User};
use rejoinder::screen::{Bounds, Page};
use rejoinder::session::{Connect, ConnectionNumber, Foundation, Link, SessionSettings, Sessions};
use rejoinder::{App, AppBuilder, Chat, HookError, State, UserMessage};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::support::memory::Memory;
use crate::support::records;

/// What the application's hooks saw.
#[derive(Clone, Default)]
pub struct Ledger(Arc<Counts>);

#[derive(Default)]
pub struct Counts {
    pub greeted: AtomicU32,
    /// How much more is said at the start of a chat.
    pub hellos: AtomicU32,
    pub resume_calls: AtomicU32,
    pub resumed: AtomicU32,
    pub ended: AtomicU32,
    pub answered: Mutex<Vec<StepId>>,
    pub contexts: Mutex<Vec<Vec<StepId>>>,
    pub plan: Mutex<VecDeque<Resume>>,
}

impl std::ops::Deref for Ledger {
    type Target = Counts;

    fn deref(&self) -> &Counts {
        &self.0
    }
}

/// What the next call of the resume hook does.
#[derive(Clone, Copy, Debug)]
pub struct Resume {
    pub takes: Duration,
    pub says: bool,
    pub fails: bool,
}

async fn greet(chat: Chat, State(ledger): State<Ledger>) -> rejoinder::Result {
    ledger.greeted.fetch_add(1, Ordering::Relaxed);
    chat.say("hello").await?;
    for number in 0..ledger.hellos.load(Ordering::Relaxed) {
        chat.say(format!("hello {number}")).await?;
    }
    Ok(())
}

async fn resume(chat: Chat, _thread: ResumedThread, State(ledger): State<Ledger>) -> rejoinder::Result {
    ledger.resume_calls.fetch_add(1, Ordering::Relaxed);
    let plan = ledger.plan.lock().unwrap().pop_front();
    let plan = plan.unwrap_or(Resume { takes: Duration::ZERO, says: false, fails: false });
    if plan.says {
        chat.say("welcome back").await?;
    }
    tokio::time::sleep(plan.takes).await;
    if plan.fails {
        return Err(HookError::tell("resume failed"));
    }
    ledger.resumed.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

pub async fn answer(chat: Chat, message: UserMessage, State(ledger): State<Ledger>) -> rejoinder::Result {
    ledger.answered.lock().unwrap().push(message.id.clone());
    let context = chat.history().await?.into_iter().map(|said| said.id).collect();
    ledger.contexts.lock().unwrap().push(context);
    let mut reply = chat.reply();
    for word in ["you ", "said ", message.text()] {
        reply.push(word).await?;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    reply.finish().await?;
    Ok(())
}

async fn end(State(ledger): State<Ledger>) {
    ledger.ended.fetch_add(1, Ordering::Relaxed);
}

/// Everything beneath the sockets.
pub struct World {
    pub store: Arc<Memory>,
    pub sessions: Arc<Sessions>,
    pub conversations: Arc<Conversations>,
    pub ledger: Ledger,
    pub chance: Arc<Mutex<StdRng>>,
    pub stop: CancellationToken,
    pub clock: Clock,
    connections: AtomicU64,
}

/// How many bytes of a thread may wait for the store.
pub const ROOM: usize = 64 << 10;

pub const ANNA: &str = records::ANNA;

impl World {
    pub fn new(seed: u64, show: Show) -> Arc<Self> {
        Self::with(seed, show, |app| app.on_message(answer))
    }

    /// A world whose application has further hooks.
    pub fn with(seed: u64, show: Show, more: impl FnOnce(AppBuilder) -> AppBuilder) -> Arc<Self> {
        Self::bounded(seed, show, Bounds::default(), more)
    }

    /// A world in which little is kept for pages that may have missed it.
    pub fn bounded(seed: u64, show: Show, bounds: Bounds, more: impl FnOnce(AppBuilder) -> AppBuilder) -> Arc<Self> {
        let ledger = Ledger::default();
        let app = App::new().with_state(ledger.clone());
        let app = more(app.on_chat_start(greet).on_chat_resume(resume).on_chat_end(end)).build().unwrap();
        let store = Arc::new(Memory::new(seed));
        let hooks = HookRuntime::current();
        let mut config = rejoinder::Config::default();
        config.features.audio.enabled = true;
        let answers = Answers::new(app.clone(), hooks.clone(), Arc::new(config));
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        // Little room, so that conversations have to wait for a slow store.
        let room = JournalSettings { thread_bytes: ROOM, ..JournalSettings::default() };
        let journal = Journal::start_with(store.clone(), &tracker, CancellationToken::new(), room);
        let clock = Clock::ticking_from(records::at(1_000_000));
        let conversations = Conversations::new(Shared {
            app,
            journal: journal.clone(),
            files: Arc::new(FewFiles::default()),
            hooks,
            clock: clock.clone(),
            settings: Arc::new(Settings {
                show,
                show_errors: true,
                grace: Duration::from_secs(1),
                greets: true,
                answers: true,
                resumes: true,
                hears_settings: true,
                hears_edits: false,
            }),
            tracker: tracker.clone(),
            stop: stop.clone(),
        });
        let sessions = Sessions::new(Foundation {
            conversations: conversations.clone(),
            store: store.clone(),
            journal,
            former: HashSet::new(),
            settings: SessionSettings {
                faults: Default::default(),
                timeout: Duration::from_secs(300),
                resumes: true,
                bounds,
                root: String::new(),
                tells_lines: false,
                hears_window: false,
            },
            answers,
            tracker,
            clock: Clock::system(),
        });
        Arc::new(Self {
            store,
            sessions,
            conversations,
            ledger,
            chance: Arc::new(Mutex::new(StdRng::seed_from_u64(seed ^ 0x5eed))),
            stop,
            clock,
            connections: AtomicU64::new(1),
        })
    }

    /// A stored thread of Anna's with so many messages.
    pub fn thread(&self, messages: usize) -> ThreadId {
        let thread = ThreadId::random();
        let mut list = vec![records::start(&thread)];
        for index in 0..messages {
            let mut step = records::step(&thread, &format!("old-{index}"), StepKind::AssistantMessage, index as i64);
            step.output = format!("old {index}");
            let fact = rejoinder::record::Fact::Message { step, interrupted: false };
            list.push(records::record(format!("r-{index}"), fact));
        }
        self.store.put(&thread, list);
        thread
    }

    pub fn number(&self) -> ConnectionNumber {
        ConnectionNumber(self.connections.fetch_add(1, Ordering::Relaxed))
    }

    pub fn roll(&self, most: u64) -> u64 {
        self.chance.lock().unwrap().random_range(0..most)
    }

    pub async fn pause(&self, most_millis: u64) {
        let micros = self.roll(most_millis * 1000 + 1);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }

    /// Until everything that was begun is over.
    pub async fn settle(&self) {
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
}

/// A tab: what its page shows, whatever sockets it has.
pub struct Browser {
    pub world: Arc<World>,
    pub session: SessionId,
    pub wanted: Option<ThreadId>,
    pub page: Mutex<Page>,
    /// Events by name, in the order in which the page got them.
    pub heard: Mutex<Vec<ServerEvent>>,
    /// Messages that were sent and never reached the server.
    pub lost: Mutex<HashSet<StepId>>,
    /// Messages that reached the server.
    pub sent: Mutex<Vec<StepId>>,
    /// The socket that the page listens to: the last it opened. What still comes over an older one is not heard.
    current: AtomicU64,
}

impl Browser {
    pub fn new(world: &Arc<World>, wanted: Option<ThreadId>) -> Arc<Self> {
        Arc::new(Self {
            world: world.clone(),
            session: SessionId::from(StepId::random().as_str()),
            wanted,
            page: Mutex::default(),
            heard: Mutex::default(),
            lost: Mutex::default(),
            sent: Mutex::default(),
            current: AtomicU64::new(0),
        })
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.heard.lock().unwrap().iter().map(ServerEvent::name).collect()
    }

    pub fn count(&self, name: &str) -> usize {
        self.names().iter().filter(|heard| **heard == name).count()
    }

    /// A socket that has been let in.
    pub async fn connect_as(self: &Arc<Self>, number: ConnectionNumber) -> Arc<Line> {
        self.current.fetch_max(number.0, Ordering::Relaxed);
        let link = self
            .world
            .sessions
            .connect(Connect {
                number,
                session: self.session.clone(),
                thread: self.wanted.clone(),
                user: Some(User::new(ANNA)),
                client_type: "webapp".into(),
                user_env: serde_json::Map::new(),
                chat_profile: None,
                language: "en-US".into(),
                headers: Vec::new(),
            })
            .await
            .unwrap();
        Line::open(self.clone(), link, number)
    }

    pub async fn connect(self: &Arc<Self>) -> Arc<Line> {
        let number = self.world.number();
        self.connect_as(number).await
    }

    /// A socket whose page said that it is ready.
    pub async fn open(self: &Arc<Self>) -> Arc<Line> {
        let line = self.connect().await;
        line.ready();
        line
    }
}

/// One line between a page and its session. It takes time both ways and may die with things under way.
pub struct Line {
    browser: Arc<Browser>,
    link: Mutex<Option<Arc<Link>>>,
    dead: CancellationToken,
    frozen: std::sync::atomic::AtomicBool,
    thawed: Notify,
    number: ConnectionNumber,
    up: mpsc::UnboundedSender<Up>,
    /// What wants to be acknowledged: its name, and the number it came under.
    asked: Mutex<Vec<(&'static str, u64)>>,
    /// The last that the page has got over this line.
    seen: AtomicU64,
}

/// What a page sends, in order: the proof that it has seen something never overtakes what was typed before.
enum Up {
    Message(Box<ClientMessage>),
    Proof(u64),
}

impl Line {
    fn open(browser: Arc<Browser>, link: Link, number: ConnectionNumber) -> Arc<Self> {
        let link = Arc::new(link);
        let (up, sent) = mpsc::unbounded_channel();
        let line = Arc::new(Self {
            browser,
            link: Mutex::new(Some(link.clone())),
            dead: CancellationToken::new(),
            frozen: false.into(),
            thawed: Notify::new(),
            number,
            up,
            asked: Mutex::default(),
            seen: AtomicU64::new(0),
        });
        tokio::spawn(line.clone().carry_up(sent));
        tokio::spawn(line.clone().pump(Arc::downgrade(&link)));
        line
    }

    /// Carries events to the page, and proofs back, until the line dies or is replaced.
    async fn pump(self: Arc<Self>, link: std::sync::Weak<Link>) {
        let world = self.browser.world.clone();
        loop {
            let Some(held) = link.upgrade() else { return };
            let most = 1 + world.roll(8) as usize;
            let batch = tokio::select! {
                () = self.dead.cancelled() => return,
                batch = held.next(most) => batch,
            };
            drop(held);
            let Some(batch) = batch else { return };
            for entry in batch {
                // Under way. What dies here is gone, and the server knows nothing of it.
                world.pause(3).await;
                while self.frozen.load(Ordering::Relaxed) && !self.dead.is_cancelled() {
                    tokio::select! { () = self.thawed.notified() => {}, () = self.dead.cancelled() => {} }
                }
                if self.dead.is_cancelled() || self.browser.current.load(Ordering::Relaxed) != self.number.0 {
                    return;
                }
                self.browser.page.lock().unwrap().apply(&entry.event);
                self.seen.store(entry.number, Ordering::Relaxed);
                if entry.event.wants_ack() {
                    self.asked.lock().unwrap().push((entry.event.name(), entry.number));
                }
                self.browser.heard.lock().unwrap().push(entry.event.clone());
                // Only the last of a few is proven, as a marker does.
                if world.roll(3) == 0 {
                    let _ = self.up.send(Up::Proof(entry.number));
                }
            }
        }
    }

    /// Carries what the page sends to the session, in order.
    async fn carry_up(self: Arc<Self>, mut sent: mpsc::UnboundedReceiver<Up>) {
        let browser = self.browser.clone();
        while let Some(up) = sent.recv().await {
            browser.world.pause(5).await;
            let link = self.link.lock().unwrap().clone().filter(|_| !self.dead.is_cancelled());
            match (up, link) {
                (Up::Proof(number), Some(link)) => link.proven(number),
                (Up::Message(message), Some(link)) if !link.is_replaced() => {
                    browser.sent.lock().unwrap().push(message.id.clone());
                    link.receive(Ok(ClientEvent::Message(*message))).unwrap();
                }
                (Up::Message(message), _) => drop(browser.lost.lock().unwrap().insert(message.id)),
                (Up::Proof(_), None) => {}
            }
        }
    }

    pub fn ready(&self) {
        self.tell(Ok(ClientEvent::ConnectionSuccessful));
    }

    pub fn stop(&self) {
        self.tell(Ok(ClientEvent::Stop));
    }

    pub fn clear(&self) {
        self.tell(Ok(ClientEvent::ClearSession));
    }

    /// The page acknowledges the last event of this name that it got over this line.
    pub fn acknowledge(&self, name: &str, value: serde_json::Value) {
        let number =
            self.asked.lock().unwrap().iter().rev().find(|(asked, _)| *asked == name).map(|(_, number)| *number);
        if let (Some(number), Some(link)) = (number, &*self.link.lock().unwrap()) {
            link.answered(number, value);
        }
    }

    /// Everything that the page has got over this line is proven.
    pub fn prove_all(&self) {
        if let Some(link) = &*self.link.lock().unwrap() {
            link.proven(self.seen.load(Ordering::Relaxed));
        }
    }

    pub fn tell(&self, event: Result<ClientEvent, rejoinder::protocol::BadEvent>) {
        if let Some(link) = &*self.link.lock().unwrap()
            && !self.dead.is_cancelled()
        {
            link.receive(event).unwrap();
        }
    }

    /// Somebody types: the page shows it at once, the server gets it a little later, or never.
    pub fn say(self: &Arc<Self>, text: &str) -> StepId {
        self.say_as(StepId::random(), text)
    }

    /// The same, under an id of the page's choice.
    pub fn say_as(self: &Arc<Self>, id: StepId, text: &str) -> StepId {
        let mut step = Step::new(id.clone(), "".into(), StepKind::UserMessage, ANNA);
        step.output = text.into();
        self.browser.page.lock().unwrap().wrote(&step);
        let message = ClientMessage {
            id: id.clone(),
            name: Some(ANNA.into()),
            kind: StepKind::UserMessage,
            output: text.into(),
            parent_id: None,
            command: None,
            modes: None,
            metadata: serde_json::Map::new(),
            language: None,
            files: Vec::new(),
        };
        let _ = self.up.send(Up::Message(Box::new(message)));
        id
    }

    /// Nothing comes through any more. The server does not know yet.
    pub fn cut(&self) {
        self.dead.cancel();
    }

    /// The server finds out that the line is dead.
    pub fn noticed(&self) {
        self.dead.cancel();
        drop(self.link.lock().unwrap().take());
    }

    /// The page stops reading; the line itself stays.
    pub fn freeze(&self) {
        self.frozen.store(true, Ordering::Relaxed);
    }
}

/// A few files, in memory.
#[derive(Debug, Default)]
struct FewFiles(Mutex<HashMap<FileId, Vec<u8>>>);

#[async_trait::async_trait]
impl FileKeeper for FewFiles {
    async fn keep(&self, _: &FilePlace, new: NewFile) -> Result<StoredFile, FileError> {
        let Content::Bytes(bytes) = new.content else { return Err(FileError::NotFound) };
        let id = FileId::random();
        self.0.lock().unwrap().insert(id.clone(), bytes.to_vec());
        Ok(StoredFile { id, name: new.name, mime: new.mime, size: bytes.len() as u64 })
    }

    async fn read(&self, id: &FileId) -> Result<FileReader, FileError> {
        let bytes = self.0.lock().unwrap().get(id).cloned().ok_or(FileError::NotFound)?;
        Ok(Box::pin(std::io::Cursor::new(bytes)))
    }
}
