//! Random histories of a line that breaks around a restore. Whatever happened, one quiet connection at the end shows
//! that the hook succeeded once and that nothing was lost and nothing doubled.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::id::StepId;
use rejoinder::protocol::Thread;

use crate::support::counted::{Counted, Resume};
use crate::support::page::{Cut, Page, Seen, Transport, Visitor, outline, outline_of, sign_in, turns};
use crate::support::server::House;

/// How many histories run at once.
const AT_ONCE: usize = 5;

/// Red when a restore is begun at each socket; when a thread counts as delivered once it was emitted; when messages are
/// not held while a restore is under way, or not said again behind the thread; when a hook that failed leaves the restore
/// done. `REJOINDER_SEED` brings a history back; as it is played in real time, not always to the same end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_breaks_at_random_loses_and_doubles_nothing() {
    let seed = std::env::var("REJOINDER_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    let histories: usize = if std::env::var("REJOINDER_LONG").is_ok() { 1_000 } else { 50 };
    let only = std::env::var("REJOINDER_HISTORY").ok().map(|number| number.parse::<usize>().unwrap());
    eprintln!("REJOINDER_SEED={seed}, {histories} histories");
    let mut random = StdRng::seed_from_u64(seed);
    let hooks = Counted::new();
    let server = House::new().serve(hooks.app()).await;
    let anna = sign_in(server.addr, "anna").await;
    let seeds: Vec<(usize, u64)> = (0..histories).map(|number| (number, random.random())).collect();
    let seeds: Vec<_> = seeds.into_iter().filter(|(number, _)| only.is_none_or(|only| *number == only)).collect();
    let mut total = Told::default();
    for some in seeds.chunks(AT_ONCE) {
        let played = some.iter().map(|(number, seed)| {
            let history = History::new(&hooks, &anna, server.addr, *number, *seed);
            tokio::spawn(history.play())
        });
        for told in futures_util::future::join_all(played).await {
            total.add(&told.unwrap());
        }
    }
    eprintln!("{total:?}");
}

struct History {
    hooks: Counted,
    anna: Visitor,
    server: SocketAddr,
    random: StdRng,
    number: usize,
    /// What happened, for a failure.
    log: Vec<String>,
    sent: Vec<(StepId, String)>,
    moved: usize,
}

/// What the histories were like.
#[derive(Debug, Default)]
struct Told {
    sockets: usize,
    failures: u32,
    sent: usize,
    /// Messages that went into a line that was dying, and never reached the server.
    unheard: usize,
    /// Histories in which a message stands above one that was stored before it and was on its way when it was written.
    moved: usize,
}

impl History {
    fn new(hooks: &Counted, anna: &Visitor, server: SocketAddr, number: usize, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        Self {
            hooks: hooks.clone(),
            anna: anna.clone(),
            server,
            random,
            number,
            log: Vec::new(),
            sent: Vec::new(),
            moved: 0,
        }
    }

    async fn play(mut self) -> Told {
        let thread = self.thread().await;
        let mut page = self.anna.page_on(&thread);
        let plan: Vec<Resume> = (0..3).map(|_| self.resume()).collect();
        let says = plan.iter().map(|resume| format!("{:?} {:?} fails {}", resume.takes, resume.says, resume.fails));
        self.log.extend(says);
        self.hooks.plan(&page.session, plan);
        let mut told = Told::default();
        // A transport that was opened and says CONNECT only when a later one has done so.
        let mut older: Option<Transport> = None;
        for _ in 0..self.random.random_range(3..12) {
            match self.random.random_range(0..10) {
                0..3 => {
                    self.log("comes");
                    told.sockets += 1;
                    page.come(self.server).await;
                }
                3 => {
                    self.log("connects and says nothing");
                    told.sockets += 1;
                    page.connect(self.server).await;
                }
                4 if older.is_none() => {
                    self.log("dials");
                    older = Some(self.anna.dial(self.server).await);
                }
                4 => {
                    self.log("gets in last with an older connection");
                    told.sockets += 1;
                    let transport = older.take().unwrap();
                    let mut late = self.anna.page_on(&thread);
                    late.session.clone_from(&page.session);
                    // The page's own socket may be gone: then this one is the session's for a while.
                    late.connect_over(transport).await.unwrap();
                    late.ready();
                    late.cut(Cut::Reset).await;
                }
                5 | 6 => {
                    let text = format!("{}.{}", self.number, self.sent.len());
                    self.log(&format!("writes {text}"));
                    self.sent.push((page.send(&text), text));
                }
                7 | 8 => {
                    let how = if self.random.random_bool(0.5) { Cut::Reset } else { Cut::Close };
                    self.log(&format!("{how:?}"));
                    page.cut(how).await;
                }
                _ => {
                    self.log("freezes");
                    page.freeze();
                }
            }
            if self.random.random_bool(0.6) {
                let pause = Duration::from_micros(self.random.random_range(0..40_000));
                self.log(&format!("{pause:?}"));
                tokio::time::sleep(pause).await;
            }
        }
        self.log("quiet");
        told.sockets += 1;
        page.come(self.server).await;
        self.settle(&mut page).await;
        told.sent = self.sent.len();
        told.unheard = self.check(&mut page, &thread).await;
        told.moved = self.moved;
        let hooks = self.hooks.of(&page.session);
        told.failures = hooks.resumes - hooks.resumed;
        page.emit("clear_session", &[]);
        told
    }

    /// A thread with a few turns in it.
    async fn thread(&mut self) -> String {
        let mut author = self.anna.page();
        author.come(self.server).await;
        author.until_text("hello").await;
        for turn in 0..self.random.random_range(1..4) {
            author.ask(&format!("turn {turn} of {}", self.number)).await;
        }
        author.emit("clear_session", &[]);
        author.cut(Cut::Close).await;
        author.thread()
    }

    fn resume(&mut self) -> Resume {
        Resume {
            takes: Duration::from_micros(self.random.random_range(0..60_000)),
            says: self.random.random_bool(0.3).then_some("welcome back"),
            fails: self.random.random_bool(0.25),
            ..Resume::default()
        }
    }

    fn log(&mut self, what: &str) {
        self.log.push(what.to_owned());
    }

    /// Writes until the restore has come through: a message is an event that tries again.
    async fn settle(&mut self, page: &mut Page) {
        for _ in 0..4 {
            let text = format!("{}.{}", self.number, self.sent.len());
            let id = page.send(&text);
            self.sent.push((id.clone(), text));
            let failed = self.hooks.of(&page.session);
            let failed = failed.resumes - failed.resumed;
            let log = self.log.join("\n");
            let (hooks, session) = (self.hooks.clone(), page.session.clone());
            let done = |seen: &Seen| {
                let hooks = hooks.of(&session);
                seen.is_answered(&id) || (hooks.resumed == 0 && hooks.resumes > failed && is_failed(seen))
            };
            page.until(&format!("an answer after\n{log}"), done).await;
            if page.look(|seen| seen.is_answered(&id)) {
                return;
            }
        }
    }

    /// Holds the page against the store and the chat context. Gives the number of messages that were never heard.
    async fn check(&mut self, page: &mut Page, thread: &str) -> usize {
        let log = self.log.join("\n");
        let context: Vec<String> = serde_json::from_str(&page.ask("/context").await).unwrap();
        let stored = self.anna.stored(self.server, page).await;
        let tell = || format!("{log}\n{}", page.look(Seen::tell));
        assert_eq!(page.thread(), thread, "{}", tell());
        let hooks = self.hooks.of(&page.session);
        assert_eq!((hooks.resumed, hooks.starts), (1, 0), "{hooks:?}\n{}", tell());
        assert!(page.look(|seen| !seen.screen.is_loading()), "{}", tell());
        // What went into a dying line stands on the page, and nobody can know of it.
        let known: BTreeSet<StepId> = stored.steps.iter().map(|step| step.id.clone()).collect();
        let unheard: BTreeSet<&StepId> = self.sent.iter().map(|(id, _)| id).filter(|id| !known.contains(*id)).collect();
        let mut shown = turns(&page.look(|seen| outline(&seen.screen)));
        shown.retain(|turn| !unheard.iter().any(|id| turn.starts_with(id.as_str())));
        let stored_turns = turns(&outline_of(stored.clone()));
        self.moved = usize::from(shown != stored_turns);
        assert_eq!(sorted(shown.clone()), sorted(stored_turns.clone()), "\n{}", tell());
        // What was written at this page stands where it stood when it was written: maybe above something that was
        // stored before it, and was still on its way.
        let of_others = |turns: Vec<String>| {
            let ours = |turn: &String| self.sent.iter().any(|(id, _)| turn.starts_with(id.as_str()));
            turns.into_iter().filter(|turn| !ours(turn)).collect::<Vec<_>>()
        };
        assert_eq!(of_others(shown), of_others(stored_turns), "\n{}", tell());
        assert_eq!(sorted(context), sorted(spoken(&stored)), "\n{}", tell());
        // Each message that was heard was answered once.
        let heard = self.sent.iter().filter(|(id, _)| known.contains(id)).map(|(_, text)| text.clone());
        let heard: Vec<String> = heard.chain(["/context".to_owned()]).collect();
        assert_eq!(sorted(hooks.messages), sorted(heard), "{}", tell());
        unheard.len()
    }
}

/// The error of a restore that failed is the last thing on the page.
fn is_failed(seen: &Seen) -> bool {
    seen.screen.texts().contains(&"resume failed") && !seen.screen.is_loading()
}

/// The messages of a thread, but for the last, which is the answer that tells the context.
fn spoken(thread: &Thread) -> Vec<String> {
    let messages = thread.steps.iter().filter(|step| step.is_message());
    let mut texts: Vec<String> = messages.map(|step| step.output.clone()).collect();
    texts.pop();
    texts
}

/// Runs that work at the same time are interleaved in the context and not in the thread.
fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

impl Told {
    fn add(&mut self, other: &Self) {
        self.sockets += other.sockets;
        self.failures += other.failures;
        self.sent += other.sent;
        self.unheard += other.unheard;
        self.moved += other.moved;
    }
}
