//! A stored thread is opened once, however often the line breaks while it is.
//!
//! Where a test says "red when", the promise was broken in that way and the test failed.

use std::net::SocketAddr;
use std::sync::Arc;

use rejoinder::protocol::ServerEvent;
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::Semaphore;

use crate::support::counted::{Counted, Resume};
use crate::support::page::{Cut, Page, Seen, Visitor, outline, outline_of, sign_in};
use crate::support::server::{House, Running};

/// A server, somebody who signed in, and a thread of theirs: `hello`, `first`, `echo: first`.
struct Scene {
    server: Running,
    hooks: Counted,
    anna: Visitor,
    thread: String,
}

const STORED: [&str; 3] = ["hello", "first", "echo: first"];

impl Scene {
    async fn new() -> Self {
        Self::with_profile("").await
    }

    async fn with_profile(profile: &'static str) -> Self {
        let hooks = Counted::new();
        let server = House::new().serve(hooks.app()).await;
        let anna = sign_in(server.addr, "anna").await;
        let mut page = anna.page();
        page.profile = profile;
        page.come(server.addr).await;
        page.until_text("hello").await;
        page.ask("first").await;
        let thread = page.thread();
        page.emit("clear_session", &[]);
        page.cut(Cut::Close).await;
        Self { server, hooks, anna, thread }
    }

    fn addr(&self) -> SocketAddr {
        self.server.addr
    }

    /// A new tab on the thread.
    fn page(&self) -> Page {
        self.anna.page_on(&self.thread)
    }

    /// A new tab whose first resume waits for a gate.
    fn page_at_gate(&self) -> (Page, Arc<Semaphore>) {
        let page = self.page();
        let gate = Arc::new(Semaphore::new(0));
        self.hooks.plan(&page.session, [Resume { gate: Some(gate.clone()), ..Resume::default() }]);
        (page, gate)
    }

    /// Speaks through a page until all is quiet, and holds it against the store and the chat context.
    async fn check(&self, page: &mut Page) {
        let context: Vec<String> = serde_json::from_str(&page.ask("/context").await).unwrap();
        let stored = self.anna.stored(self.addr(), page).await;
        assert_eq!(page.look(|seen| outline(&seen.screen)), outline_of(stored));
        // The context is in order of time, the page's tree in order of runs.
        // Questions are for the person only.
        let spoken: Vec<_> = page.look(|seen| {
            seen.screen
                .steps()
                .filter(|step| step.is_message() && !step.wait_for_answer)
                .map(|step| step.output.clone())
                .collect()
        });
        let (mut context, mut texts) = (context, spoken);
        texts.pop();
        context.sort();
        texts.sort();
        assert_eq!(context, texts, "every message once, but for the answer");
    }
}

/// Marker and thread have come over the present line.
fn resumed(seen: &Seen) -> bool {
    let marker = |event: &ServerEvent| matches!(event, ServerEvent::FirstInteraction { interaction, .. } if interaction == "resume");
    seen.now().any(marker) && seen.count("resume_thread") > 0 && !seen.screen.is_loading()
}

/// Red when a restore begins at CONNECT.
#[tokio::test]
async fn a_socket_that_says_nothing_resumes_nothing() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    for how in [Cut::Reset, Cut::Close, Cut::Reset] {
        page.connect(scene.addr()).await;
        page.cut(how).await;
    }
    page.connect(scene.addr()).await;
    // Longer than the first one would have needed.
    let mut other = scene.page();
    other.come(scene.addr()).await;
    other.until("its thread", resumed).await;
    scene.check(&mut other).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 0);
    page.ready();
    page.until("its thread", resumed).await;
    assert_eq!(page.texts(), other.texts());
    scene.check(&mut page).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
    assert_eq!(scene.hooks.of(&page.session).starts, 0);
}

/// Red when every `connection_successful` begins a restore; when the opening does not take back `task_start`.
#[tokio::test]
async fn a_line_that_drops_during_the_hook_does_not_run_it_again() {
    let scene = Scene::new().await;
    // The line is back after the hook, or before it is over.
    for late in [true, false] {
        let (mut page, gate) = scene.page_at_gate();
        page.come(scene.addr()).await;
        page.until("work", |seen| seen.screen.is_loading()).await;
        scene.hooks.until(&page.session, |hooks| hooks.resumes == 1).await;
        page.cut(Cut::Reset).await;
        if late {
            gate.add_permits(1);
            scene.hooks.until(&page.session, |hooks| hooks.resumed == 1).await;
            // What the conversation does for another tab comes behind the end of the hook.
            let mut other = scene.page();
            other.come(scene.addr()).await;
            other.ask("second").await;
        }
        page.come(scene.addr()).await;
        gate.add_permits(1);
        page.until("its thread", resumed).await;
        scene.check(&mut page).await;
        assert_eq!(scene.hooks.of(&page.session).resumes, 1);
    }
}

/// Red when a thread counts as delivered once it was emitted: `Screen::apply` that keeps no thread.
#[tokio::test]
async fn a_thread_that_went_into_a_dead_line_comes_again_without_the_hook() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    page.connect(scene.addr()).await;
    page.freeze();
    page.ready();
    scene.hooks.until(&page.session, |hooks| hooks.resumed == 1).await;
    page.cut(Cut::Reset).await;
    // Twice: the second line is dead as well.
    page.connect(scene.addr()).await;
    page.freeze();
    page.ready();
    page.cut(Cut::Reset).await;
    assert_eq!(page.look(|seen| seen.events.len()), 0);

    page.come(scene.addr()).await;
    page.until("its thread", resumed).await;
    assert_eq!(page.texts(), STORED);
    scene.check(&mut page).await;
    page.until_proven().await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
    // It has arrived: never again.
    page.cut(Cut::Reset).await;
    page.come(scene.addr()).await;
    scene.check(&mut page).await;
    assert_eq!(page.look(|seen| seen.count("resume_thread")), 0);
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
}

/// Red as the one before; also when a socket that was replaced keeps the thread for itself.
#[tokio::test]
async fn a_socket_that_is_replaced_while_it_is_told_leaves_the_thread_to_the_next() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    page.connect(scene.addr()).await;
    page.freeze();
    page.ready();
    scene.hooks.until(&page.session, |hooks| hooks.resumed == 1).await;
    // The former line stays open.
    page.come(scene.addr()).await;
    page.until("its thread", resumed).await;
    scene.check(&mut page).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
}

/// Red when each socket restores for itself.
#[tokio::test]
async fn five_sockets_one_after_the_other_resume_once() {
    let scene = Scene::new().await;
    let (mut page, gate) = scene.page_at_gate();
    for _ in 0..5 {
        // The former line stays open.
        page.come(scene.addr()).await;
        page.until("its opening", |seen| seen.count("clear_call_fn") > 0).await;
    }
    gate.add_permits(5);
    // The marker has come, and was proven, over one of the former lines.
    page.until("its thread", |seen| seen.count("resume_thread") == 1 && !seen.screen.is_loading()).await;
    assert_eq!(page.texts(), STORED);
    scene.check(&mut page).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
}

/// Red when a socket that was replaced is not sent away. The sockets are those of five pages that share a session id.
#[tokio::test]
async fn five_sockets_at_once_resume_once() {
    let scene = Scene::new().await;
    let (first, gate) = scene.page_at_gate();
    let mut pages: Vec<Page> = (0..4).map(|_| scene.page()).collect();
    pages.iter_mut().for_each(|page| page.session.clone_from(&first.session));
    pages.push(first);
    futures_util::future::join_all(pages.iter_mut().map(|page| page.come(scene.addr()))).await;
    gate.add_permits(5);
    let session = pages[0].session.clone();
    scene.hooks.until(&session, |hooks| hooks.resumed == 1).await;
    for page in &pages {
        page.until("its thread or its dismissal", |seen| resumed(seen) || seen.is_dismissed).await;
    }
    let mut newest: Vec<&mut Page> = pages.iter_mut().filter(|page| page.look(|seen| !seen.is_dismissed)).collect();
    assert_eq!(newest.len(), 1, "one socket is the session's");
    scene.check(newest[0]).await;
    assert_eq!(scene.hooks.of(&session).resumes, 1);
}

/// Red when connections are numbered at CONNECT: the older one then takes the session.
#[tokio::test]
async fn an_older_socket_that_gets_in_last_is_sent_away() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    let older = scene.anna.dial(scene.addr()).await;
    page.come(scene.addr()).await;
    page.until("its thread", resumed).await;
    let mut late = scene.page();
    late.session.clone_from(&page.session);
    late.connect_over(older).await.unwrap();
    late.ready();
    late.until("its dismissal", |seen| seen.is_dismissed).await;
    assert_eq!(late.look(|seen| seen.events.len()), 0);
    scene.check(&mut page).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
}

/// Red when every socket of the session looks for the thread anew.
#[tokio::test]
async fn a_thread_that_is_missing_is_said_once_also_when_it_comes_to_life() {
    let scene = Scene::new().await;
    let unknown = uuid::Uuid::new_v4().to_string();
    let mut other = scene.anna.page_on(&unknown);
    other.come(scene.addr()).await;
    other.until_text("hello").await;

    let mut page = scene.anna.page_on(&unknown);
    // Not before it has arrived.
    page.connect(scene.addr()).await;
    page.freeze();
    page.ready();
    scene.hooks.until(&page.session, |hooks| hooks.starts == 1).await;
    page.cut(Cut::Reset).await;
    for time in 0..5 {
        page.come(scene.addr()).await;
        let told = |seen: &Seen| seen.count_ever("resume_thread_error") == 1 && seen.screen.texts() == ["hello"];
        page.until("what is missing", told).await;
        page.until_proven().await;
        if time == 2 {
            // From here on there is such a thread.
            other.ask("I am here").await;
            assert_eq!(other.thread(), unknown);
        }
        page.cut(Cut::Reset).await;
    }
    page.come(scene.addr()).await;
    assert_eq!(page.ask("mine").await, "echo: mine");
    assert_ne!(page.thread(), unknown);
    assert_eq!(page.texts(), ["hello", "mine", "echo: mine"]);
    scene.check(&mut page).await;
    let hooks = scene.hooks.of(&page.session);
    assert_eq!((hooks.starts, hooks.resumes), (1, 0));
    assert_eq!(page.look(|seen| seen.count_ever("resume_thread_error")), 1);
}

/// Red when a reconnect restores again.
#[tokio::test]
async fn a_reconnect_after_the_resume_changes_neither_context_nor_screen() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    page.come(scene.addr()).await;
    page.until("its thread", resumed).await;
    let mut before: Vec<String> = serde_json::from_str(&page.ask("/context").await).unwrap();
    assert_eq!(before, ["hello", "first", "echo: first", "/context"]);
    let screen = page.look(|seen| outline(&seen.screen));
    before.push(page.texts().pop().unwrap());
    page.until_proven().await;
    for how in [Cut::Reset, Cut::Close, Cut::Reset] {
        page.cut(how).await;
        page.come(scene.addr()).await;
        page.until("its opening", |seen| seen.count("clear_call_fn") > 0).await;
        assert_eq!(page.look(|seen| outline(&seen.screen)), screen);
        assert_eq!(page.look(|seen| seen.count("resume_thread")), 0);
    }
    before.push("/context".to_owned());
    let after: Vec<String> = serde_json::from_str(&page.ask("/context").await).unwrap();
    assert_eq!(after, before);
    scene.check(&mut page).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
}

/// The page of a thread that was made under another profile takes that profile, says goodbye to its socket and connects
/// again. Red when a socket that comes back after a goodbye restores again; when the message that is written at once is not
/// said again behind the thread.
#[tokio::test]
async fn a_page_that_switches_to_the_profile_of_its_thread_is_not_resumed_again() {
    let scene = Scene::with_profile("Poet").await;
    let mut page = scene.page();
    page.come(scene.addr()).await;
    page.until("its thread", resumed).await;
    let profile = page.look(|seen| {
        let thread = seen.now().find_map(|event| match event {
            ServerEvent::ResumeThread(thread) => Some(thread.clone()),
            _ => None,
        });
        thread.unwrap().metadata["chat_profile"].clone()
    });
    assert_eq!(profile, "Poet");
    page.say("41".to_owned());
    page.cut(Cut::Close).await;
    page.profile = "Poet";
    page.come(scene.addr()).await;
    scene.check(&mut page).await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 1);
    assert_eq!(scene.hooks.of(&page.session).starts, 0);
}

/// Red when a question is not asked again at the next socket; when each socket restores for itself.
#[tokio::test]
async fn a_question_inside_the_hook_is_answered_over_the_next_line() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    scene.hooks.plan(&page.session, [Resume { asks: true, ..Resume::default() }]);
    page.come(scene.addr()).await;
    page.until("the question", |seen| seen.screen.question().is_some()).await;
    page.cut(Cut::Reset).await;
    page.come(scene.addr()).await;
    page.until("the question", |seen| seen.screen.question().is_some() && seen.count("ask") == 1).await;
    assert_eq!(page.texts(), ["hello", "first", "echo: first", "still there?"]);
    page.answer("yes");
    page.until_text("you said: yes").await;
    page.until("the end of the hook", |seen| !seen.screen.is_loading()).await;
    assert_eq!(page.texts(), ["hello", "first", "echo: first", "still there?", "yes", "you said: yes"]);
    scene.check(&mut page).await;
    let hooks = scene.hooks.of(&page.session);
    assert_eq!((hooks.resumes, hooks.resumed), (1, 1));
}

/// Red when messages are not held while a restore is under way.
#[tokio::test]
async fn a_message_before_the_restore_is_answered_after_it_and_stays() {
    let scene = Scene::new().await;
    let (mut page, gate) = scene.page_at_gate();
    page.connect(scene.addr()).await;
    let before = page.send("before");
    page.ready();
    scene.hooks.until(&page.session, |hooks| hooks.resumes == 1).await;
    let during = page.send("during");
    page.cut(Cut::Close).await;
    page.come(scene.addr()).await;
    page.until("its opening", |seen| seen.count("clear_call_fn") > 0).await;
    assert_eq!(scene.hooks.of(&page.session).messages, [""; 0]);
    gate.add_permits(1);
    page.until_answered(&before).await;
    page.until_answered(&during).await;
    assert_eq!(page.texts(), ["hello", "first", "echo: first", "before", "echo: before", "during", "echo: during"]);
    scene.check(&mut page).await;
    let mut answered = scene.hooks.of(&page.session).messages;
    answered.sort();
    assert_eq!(answered, ["/context", "before", "during"]);
}

/// Red when a failure leaves the restore done; when the next event does not try again.
#[tokio::test]
async fn a_hook_that_fails_is_told_and_tried_again_at_the_next_socket_or_event() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    let failing = Resume { fails: true, says: Some("I am about to fail"), ..Resume::default() };
    scene.hooks.plan(&page.session, [failing.clone(), failing.clone(), failing]);
    page.come(scene.addr()).await;
    page.until_text("resume failed").await;
    let failed = ["hello", "first", "echo: first", "resume failed"];
    page.until("the stored thread and the error", |seen| seen.screen.texts() == failed).await;
    // The next socket.
    page.cut(Cut::Reset).await;
    page.come(scene.addr()).await;
    let says = |event: &ServerEvent| matches!(event, ServerEvent::NewMessage(step) if step.output.starts_with("I am"));
    let fails = |seen: &Seen| {
        let behind = seen.now().skip_while(|event| !says(event));
        behind.filter(|event| event.name() == "resume_thread").count() == 1 && seen.screen.texts() == failed
    };
    page.until("the stored thread and the error", fails).await;
    page.until_proven().await;
    assert_eq!(scene.hooks.of(&page.session).resumes, 2);
    // The next events: one fails as well and waits, the other brings it through.
    let third = page.send("third");
    scene.hooks.until(&page.session, |hooks| hooks.resumes == 3).await;
    assert_eq!(scene.hooks.of(&page.session).messages, [""; 0]);
    let fourth = page.send("fourth");
    page.until_answered(&third).await;
    page.until_answered(&fourth).await;
    let expected = ["hello", "first", "echo: first", "third", "echo: third", "fourth", "echo: fourth"];
    assert_eq!(page.texts(), expected);
    scene.check(&mut page).await;
    let hooks = scene.hooks.of(&page.session);
    assert_eq!((hooks.resumes, hooks.resumed, hooks.starts), (4, 1, 0));
}

/// A page that is ready may write before the thread comes that it is still owed. Red when it is decided only when the
/// message is stored whether the thread may have wiped it: here the thread is proven long before.
#[tokio::test]
async fn a_message_written_just_before_the_thread_came_stays_on_the_page() {
    let scene = Scene::new().await;
    let mut page = scene.page();
    page.connect(scene.addr()).await;
    page.freeze();
    page.ready();
    scene.hooks.until(&page.session, |hooks| hooks.resumed == 1).await;
    page.cut(Cut::Reset).await;
    // The store is slow.
    let database = scene.server.database();
    let mut writer = SqliteConnection::connect(&format!("sqlite://{}", database.display())).await.unwrap();
    sqlx::raw_sql("begin immediate").execute(&mut writer).await.unwrap();
    page.come(scene.addr()).await;
    let written = page.send("in between");
    page.until("its thread", |seen| seen.count("resume_thread") == 1).await;
    // The server does not wait for the store any longer: it is decided whether the message is said again.
    page.until("work", |seen| seen.screen.is_loading()).await;
    sqlx::raw_sql("rollback").execute(&mut writer).await.unwrap();
    page.until_answered(&written).await;
    assert_eq!(page.texts(), ["hello", "first", "echo: first", "in between", "echo: in between"]);
    scene.check(&mut page).await;
}
