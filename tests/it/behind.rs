//! A page that stands still while much is said, over real sockets and a real store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::User;
use rejoinder::{App, Chat, State, UserMessage};
use tokio::sync::{Semaphore, watch};

use crate::support::page::{Cut, outline, outline_of, sign_in};
use crate::support::server::{House, Running};

const MESSAGES: usize = 2_000;

/// Texts that stream, each of so many pieces: near the most that a message may hold, together more than 10 MiB.
const TEXTS: usize = 11;
const PIECES: usize = 15;
const PIECE: usize = 64 * 1024;

async fn sign(login: PasswordLogin) -> rejoinder::Result<Option<User>> {
    Ok(Some(User::new(login.username)))
}

/// Opens for the hook, and tells how far it is.
#[derive(Clone)]
struct Gate {
    may: Arc<Semaphore>,
    said: watch::Sender<bool>,
}

/// Says a lot when it may.
async fn talk(chat: Chat, _: UserMessage, State(gate): State<Gate>) -> rejoinder::Result {
    gate.may.acquire().await?.forget();
    for number in 0..MESSAGES {
        chat.say(format!("said {number}")).await?;
    }
    for text in 1..=TEXTS {
        let mut reply = chat.reply();
        for number in 0..PIECES {
            reply.push(&format!("[{number}]{}", "x".repeat(PIECE))).await?;
        }
        if text == TEXTS {
            gate.said.send_replace(true);
            gate.may.acquire().await?.forget();
            reply.push("the end").await?;
        }
        reply.finish().await?;
    }
    Ok(())
}

async fn unproven(server: &Running) -> usize {
    let text = server.visitor().get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix("rejoinder_unproven_bytes ")).unwrap();
    line.parse().unwrap()
}

/// I-8, I-12. The page is frozen before anything is said, and thaws, or comes back over another line, while the text still
/// grows. Red when what is kept for it grows with what is said; when anything is missing afterwards, or is there twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_stood_still_costs_bounded_memory_and_is_complete_afterwards() {
    for thaws in [true, false] {
        let gate = Gate { may: Arc::new(Semaphore::new(0)), said: watch::Sender::new(false) };
        let app = App::new().with_state(gate.clone()).on_password_login(sign).on_message(talk).build().unwrap();
        // However long it takes: a line that is closed meanwhile is the other case.
        let server = House::new().serve_with(app, |config| config.ping_timeout = Duration::from_secs(300)).await;
        let anna = sign_in(server.addr, "anna").await;
        let mut page = anna.page();
        page.come(server.addr).await;
        let id = page.send("go");
        page.until("its run", |seen| seen.run(&id).is_some()).await;
        page.freeze();
        gate.may.add_permits(1);
        let mut largest = 0;
        let mut said = gate.said.subscribe();
        let said = said.wait_for(|said| *said);
        tokio::pin!(said);
        let began = Instant::now();
        while said.as_mut().now_or_never().is_none() {
            largest = largest.max(unproven(&server).await);
            assert!(began.elapsed() < Duration::from_secs(240), "the hook has said it all");
        }
        // Twice the bound: what is unproven, and what waits for the line.
        eprintln!("at most {largest} bytes were kept");
        assert!(largest < 9 << 20, "{largest} bytes");
        if thaws {
            page.thaw();
        } else {
            page.cut(Cut::Reset).await;
            page.come(server.addr).await;
        }
        page.until("the thread", |seen| seen.count_ever("resume_thread") == 1).await;
        gate.may.add_permits(1);
        page.until_answered(&id).await;
        let shown = page.look(|seen| outline(&seen.screen));
        assert_eq!(shown.len(), MESSAGES + TEXTS + 2, "message, run, what it said");
        let stored = outline_of(anna.stored(server.addr, &page).await);
        assert!(shown == stored, "the page is not what is stored");
        assert!(page.texts().last().unwrap().ends_with("the end"));
        assert!(unproven(&server).await < 9 << 20);
        page.until_proven().await;
        assert_eq!(unproven(&server).await, 0);
    }
}

/// How much is said while one page stands still, and how slowly: a minute with `REJOINDER_LONG`.
#[derive(Clone, Copy)]
struct Speech {
    messages: usize,
    /// Between two messages; each is a text that streams in so many pieces, and one that does not.
    pause: Duration,
}

const TOKENS: usize = 50;

impl Speech {
    fn new() -> Self {
        let messages = if std::env::var("REJOINDER_LONG").is_ok() { 1_000 } else { 50 };
        Self { messages, pause: Duration::from_millis(60) }
    }
}

async fn speak_or_echo(chat: Chat, message: UserMessage, State(speech): State<Speech>) -> rejoinder::Result {
    if message.text() != "go" {
        chat.say(format!("echo: {}", message.text())).await?;
        return Ok(());
    }
    for number in 0..speech.messages {
        chat.say(format!("said {number}")).await?;
        let mut reply = chat.reply();
        for token in 0..TOKENS {
            reply.push(&format!("{token} ")).await?;
        }
        reply.finish().await?;
        tokio::time::sleep(speech.pause).await;
    }
    Ok(())
}

/// The slowest of a hundred, and the middle.
fn spread(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    format!("p50 {:?}, p99 {:?} of {} turns", at(0.5), at(0.99), times.len())
}

/// One page reads nothing while 2,000 messages and 50,000 tokens pass (with `REJOINDER_LONG`, in a minute). What others
/// wait for their answers is printed, with that page awake and with it frozen. Red when memory grows with what is said, or
/// the page is not complete once it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_page_slows_nobody_and_is_complete_afterwards() {
    let speech = Speech::new();
    let app = App::new().with_state(speech).on_password_login(sign).on_message(speak_or_echo).build().unwrap();
    let server = House::new().serve_with(app, |config| config.ping_timeout = Duration::from_secs(300)).await;
    let mut others = Vec::new();
    for name in ["bert", "carl", "dora", "emil"] {
        let mut page = sign_in(server.addr, name).await.page();
        page.come(server.addr).await;
        others.push(page);
    }
    let anna = sign_in(server.addr, "anna").await;
    let mut largest = 0;
    for is_frozen in [false, true] {
        let mut page = anna.page();
        page.come(server.addr).await;
        let id = page.send("go");
        page.until("its run", |seen| seen.run(&id).is_some()).await;
        if is_frozen {
            page.freeze();
        }
        let began = Instant::now();
        let mut waited = Vec::new();
        while began.elapsed() < speech.pause * u32::try_from(speech.messages).unwrap() {
            for other in &mut others {
                let asked = Instant::now();
                other.ask("how are you?").await;
                waited.push(asked.elapsed());
            }
            largest = largest.max(unproven(&server).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        eprintln!("one page {}: {}", if is_frozen { "frozen" } else { "awake" }, spread(waited));
        if is_frozen {
            page.thaw();
        }
        page.until_answered(&id).await;
        let stored = anna.stored(server.addr, &page).await;
        assert!(page.look(|seen| outline(&seen.screen)) == outline_of(stored), "the page is not what is stored");
        assert_eq!(page.texts().len(), 1 + 2 * speech.messages);
    }
    eprintln!("at most {largest} bytes were kept");
    assert!(largest < 9 << 20, "{largest} bytes");
}
