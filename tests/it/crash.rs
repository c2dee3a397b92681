//! `kill -9` of the server: what it promised is there when it is back.

mod acks;
mod kills;

use std::time::{Duration, Instant};

use rejoinder::id::StepId;
use rejoinder::protocol::{ServerEvent, StepKind};
use rejoinder::record::Fact;
use rejoinder::store::{OpenOptions, Store};

use crate::support::database::{Database, on_both};
use crate::support::page::{Cut, Seen, outline, outline_of, sign_in};
use crate::support::program::{Launch, Program};

on_both!(
    a_text_that_streamed_is_there_up_to_the_last_second,
    a_page_that_was_only_greeted_is_greeted_again_once,
    a_message_that_comes_again_after_the_crash_is_answered_once,
);

/// Servers that come one after the other, in one data folder and on one database.
struct Place<'a> {
    database: &'a Database,
    data: tempfile::TempDir,
}

impl<'a> Place<'a> {
    fn on(database: &'a Database) -> Self {
        Self { database, data: tempfile::tempdir().unwrap() }
    }

    /// Starts the next server.
    async fn start(&self) -> Program {
        let launch = Launch::reference().env("RUST_LOG", "info,rejoinder::conversation=debug");
        launch.on(self.database).in_data(self.data.path()).start().await
    }
}

/// How much of a streaming text a crash may cost: a second, a tenth for gathering, and what a busy machine takes to commit.
const LAST_SECOND: Duration = Duration::from_millis(1_500);

/// Red when a streaming text is written down every two seconds instead of every second; when `settle_left` leaves the
/// message streaming, or is not called.
async fn a_text_that_streamed_is_there_up_to_the_last_second(database: &Database) {
    let place = Place::on(database);
    let server = place.start().await;
    let anna = sign_in(server.addr(), "anna").await;
    let mut page = anna.page();
    page.come(server.addr()).await;
    page.until_text("hello").await;
    let question = page.send("/stream 100000 5");
    // Late in a second: a text that is written down every two seconds would miss more than one.
    let for_long = |seen: &Seen| {
        let tokens = streaming(seen).map(|step| seen.tokens(&step)).unwrap_or_default();
        let first = tokens.first().map(|(at, _)| *at);
        tokens.last().is_some_and(|(at, _)| Some(*at) > first.map(|first| first + Duration::from_millis(3_800)))
    };
    page.until("tokens for almost four seconds", for_long).await;
    let killed = Instant::now();
    server.kill().await;
    page.until_cut().await;
    let answer = page.look(|seen| streaming(seen).unwrap());
    let came: Vec<(Instant, String)> =
        page.look(|seen| seen.tokens(&answer).into_iter().map(|(at, text)| (at, text.to_owned())).collect());

    let server = place.start().await;
    page.come(server.addr()).await;
    page.until("its thread", |seen| seen.count("resume_thread") == 1 && !seen.screen.is_loading()).await;
    let (text, is_streaming) = page.look(|seen| {
        let step = seen.step(&answer).unwrap_or_else(|| panic!("{}", seen.tell()));
        (step.output.clone(), step.streaming)
    });
    let kept = tokens_of(&text);
    let old = came.iter().filter(|(at, _)| killed.saturating_duration_since(*at) > LAST_SECOND).count();
    let lost = came.len().saturating_sub(kept);
    let oldest_lost = came.get(kept).map(|(at, _)| killed.saturating_duration_since(*at)).unwrap_or_default();
    eprintln!("{} tokens came, {kept} are kept: {lost} of the last {oldest_lost:?} are lost", came.len());
    assert!(kept >= old, "{kept} tokens kept, {old} came earlier than {LAST_SECOND:?} before the crash");
    assert!(!is_streaming);

    // It was resumed once, and the conversation goes on.
    let resumed = r#"{"on_chat_resume": 1, "on_message": 1}"#;
    assert_eq!(page.ask("/calls").await, resumed);
    assert_eq!(page.ask("again").await, "echo: again");
    let stored = anna.stored(server.addr(), &page).await;
    assert_eq!(page.look(|seen| outline(&seen.screen)), outline_of(stored));
    page.until("one question, one answer", |seen| seen.answers(&question) == [text.clone()]).await;
    server.kill().await;

    // What the store says of it.
    let store = database.open_with(OpenOptions::default()).await;
    let thread = page.thread().into();
    let stored = store.thread(&thread).await.unwrap().unwrap();
    assert!(stored.incomplete.contains("execution_lost"), "{:?}", stored.incomplete);
    let facts = facts(&*store, &thread).await;
    let interrupted =
        facts.iter().any(|fact| matches!(fact, Fact::Message { step, interrupted: true } if step.id == answer));
    assert!(interrupted, "{facts:?}");
    store.close().await;
    let run = page.look(|seen| seen.run(&question).unwrap().id.clone());
    let state = format!("select state from rejoinder_executions where execution_id = '{run}'");
    assert_eq!(database.text(&state).await.as_deref(), Some("lost"));
}

/// Red when the row of a live tab is not written, or the new process sends no empty thread for it: then `hello` stands on
/// the page twice.
async fn a_page_that_was_only_greeted_is_greeted_again_once(database: &Database) {
    let place = Place::on(database);
    let server = place.start().await;
    let anna = sign_in(server.addr(), "anna").await;
    let mut page = anna.page();
    page.come(server.addr()).await;
    page.until_text("hello").await;
    // The row of the tab is written behind, at most a fifth of a second later: wait until it is there.
    until_rows(database, "rejoinder_sessions", 1).await;
    server.kill().await;
    page.until_cut().await;
    assert_eq!(page.texts(), ["hello"]);

    let server = place.start().await;
    page.come(server.addr()).await;
    page.until("a greeting", |seen| seen.count("resume_thread") == 1 && greeted(seen)).await;
    let first: Vec<&str> = page.look(|seen| seen.now().map(ServerEvent::name).collect());
    assert_eq!(&first[..4], ["task_end", "clear_ask", "clear_call_fn", "resume_thread"], "{first:?}");
    assert_eq!(page.texts(), ["hello"]);

    // Once: neither the next line nor the first message greets it again.
    page.cut(Cut::Reset).await;
    page.come(server.addr()).await;
    assert_eq!(page.ask("hi").await, "echo: hi");
    assert_eq!(page.texts(), ["hello", "hi", "echo: hi"]);
    assert_eq!(page.ask("/calls").await, r#"{"on_chat_start": 1, "on_message": 2}"#);
    let stored = anna.stored(server.addr(), &page).await;
    assert_eq!(page.look(|seen| outline(&seen.screen)), outline_of(stored));
}

/// Red when `is_known` and the store's `once` are taken out.
async fn a_message_that_comes_again_after_the_crash_is_answered_once(database: &Database) {
    let place = Place::on(database);
    let server = place.start().await;
    let anna = sign_in(server.addr(), "anna").await;
    let mut page = anna.page();
    page.come(server.addr()).await;
    page.until_text("hello").await;
    let answered = page.send("first");
    page.until_answered(&answered).await;
    let working = page.send("/sleep 100000");
    page.until("its run", |seen| seen.run(&working).is_some()).await;
    server.kill().await;
    page.until_cut().await;

    let server = place.start().await;
    // Both before the page is ready, and so before its thread is restored; then once more when all is quiet.
    page.connect(server.addr()).await;
    page.send_as(&answered, "first");
    page.send_as(&working, "/sleep 100000");
    page.ready();
    page.until("its thread", |seen| seen.count("resume_thread") == 1).await;
    page.send_as(&working, "/sleep 100000");
    assert_eq!(page.ask("/calls").await, r#"{"on_chat_resume": 1, "on_message": 1}"#);
    let expected = ["hello", "first", "echo: first", "/sleep 100000", "/calls"];
    assert_eq!(page.texts()[..5], expected);
    let stored = anna.stored(server.addr(), &page).await;
    assert_eq!(page.look(|seen| outline(&seen.screen)), outline_of(stored));
    server.kill().await;
    for message in [answered, working] {
        let runs = format!("rejoinder_executions where trigger_id = '{message}'");
        assert_eq!(database.count(&runs).await, 1);
    }
}

/// Waits until a table of a running server has so many rows.
async fn until_rows(database: &Database, table: &str, rows: i64) {
    let deadline = Instant::now() + crate::support::raw::SOON;
    while database.count(table).await < rows {
        assert!(Instant::now() < deadline, "{table} has never had {rows} rows");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Every numbered fact of a thread, which must be 1, 2, 3, ….
async fn facts(store: &dyn Store, thread: &rejoinder::id::ThreadId) -> Vec<Fact> {
    let records = store.records(thread, 0, None, 1_000_000).await.unwrap();
    let sequences: Vec<u64> = records.iter().filter_map(|record| record.sequence).collect();
    assert_eq!(sequences, (1..=records.len() as u64).collect::<Vec<_>>());
    records.iter().map(|record| record.fact().unwrap()).collect()
}

/// The message that is streaming.
fn streaming(seen: &Seen) -> Option<StepId> {
    seen.screen
        .steps()
        .find(|step| step.streaming && step.kind == StepKind::AssistantMessage)
        .map(|step| step.id.clone())
}

/// How many tokens a text has, which must be `t0 t1 t2 …` without a hole.
fn tokens_of(text: &str) -> usize {
    let count = text.split_whitespace().count();
    let whole: String = (0..count).map(|index| format!("t{index} ")).collect();
    assert_eq!(text, whole, "not a prefix of what was streamed");
    count
}

fn greeted(seen: &Seen) -> bool {
    let run = seen.screen.steps().find(|step| step.kind == StepKind::Run);
    run.is_some_and(|run| run.end.is_some()) && !seen.screen.is_loading()
}
