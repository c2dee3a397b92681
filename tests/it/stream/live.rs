//! Replay, `ready`, live: nothing is missed between the three, and nothing is said before it is stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoinder::http::Point;
use rejoinder::id::ThreadId;
use rejoinder::journal::JournalSettings;
use rejoinder::protocol::{Element, ElementKind, Feedback, StepKind};
use rejoinder::record::{EndReason, Fact, LostReason, Outcome, Record, Source, ThreadUpdate};
use rejoinder::server::Tuning;
use rejoinder::store::Stored;
use rejoinder::store::probe::{Point as Place, Probes};
use serde_json::{Map, Value, json};

use super::world::{Stop, anna, follow, note, say, serve, streaming, thread_of, tuned, write};
use crate::support::database::{Database, Kind, on_both};
use crate::support::probe::{Break, Gate};
use crate::support::records::{append, at, output, record, run_ended, run_started, step};
use crate::support::server::Running;
use crate::support::sse::{sequences, without_watermark};

on_both!(
    nothing_is_missed_between_replay_ready_and_live,
    live_is_replay_is_page,
    nothing_is_said_before_it_is_stored,
    nothing_is_said_that_is_not_stored,
    a_lost_wake_only_delays,
    ready_comes_on_a_thread_that_never_stops_growing,
    what_has_no_public_form_moves_the_position,
);

/// I-32. Red when `ready` is said for the cursor of then; when the first wait does not look first and takes the wakes of
/// before for heard. (Each of two things is enough against a gap before that: that wakes are followed before the page is
/// read, and that the first wait looks. Either alone taken out leaves this green.)
async fn nothing_is_missed_between_replay_ready_and_live(database: &Database) {
    for point in [Point::Following, Point::Replayed, Point::Waiting] {
        let stop = Stop::at(point);
        let server = streaming(database, |streams| streams.probe = Some(stop.clone())).await;
        let thread = thread_of(&server, 5).await;
        let person = anna(&server).await;
        let reading = async {
            let mut stream = follow(&person, &thread, "?after=2").await;
            let mut frames = stream.until("ready").await;
            frames.extend(stream.events(8 - frames.len() + 1 - 2).await);
            (stream, frames)
        };
        let writing = async {
            stop.arrival().await;
            write(&server, &thread, 6..=8).await;
            stop.stay_open();
        };
        let ((mut stream, frames), ()) = tokio::join!(reading, writing);
        assert_eq!(sequences(&frames), [3, 4, 5, 6, 7, 8], "{point:?}");
        let ready = frames.iter().find(|frame| frame.name == "ready").unwrap();
        let proven = ready.json()["watermark"].as_u64().unwrap();
        let before = frames.iter().take_while(|frame| frame.name != "ready").filter(|frame| frame.is_event()).count();
        assert_eq!(proven, 2 + before as u64, "ready proves what came before it, and no more: {point:?}");
        write(&server, &thread, 9..=9).await;
        assert_eq!(stream.events(1).await[0].sequence(), 9, "each once");
        drop(stream);
        server.stop().await;
    }
}

/// Every kind of record, in an order that is one.
fn all_kinds(thread: &ThreadId) -> Vec<Record> {
    let run = "run".into();
    let message = |id: &str, kind| {
        let mut step = step(thread, id, kind, 1);
        (step.output, step.end) = ("said é \u{2028} \"so\"".into(), Some(at(2)));
        step
    };
    let asked = Fact::Asked {
        step: message("question", StepKind::AssistantMessage),
        spec: json!({"type": "text", "timeout": 60}),
        timeout_at: at(60_000_000),
    };
    let vote = Feedback { id: Some("vote".into()), for_id: "answer".into(), thread_id: None, value: 1, comment: None };
    let settings = Map::from_iter([("temperature".to_owned(), json!(0.5))]);
    let facts = [
        ("m1", Fact::Message { step: message("answer", StepKind::AssistantMessage), interrupted: false }),
        ("m2", Fact::MessageUpdated(message("answer", StepKind::AssistantMessage))),
        ("t1", Fact::StepStarted(message("tool", StepKind::Tool))),
        ("t2", Fact::StepUpdated(message("tool", StepKind::Tool))),
        ("t3", Fact::StepEnded(message("tool", StepKind::Tool))),
        ("s1", Fact::StepStarted(message("llm", StepKind::Llm))),
        ("s2", Fact::StepEnded(message("llm", StepKind::Llm))),
        ("e1", Fact::Element(Element::new("element".into(), ElementKind::Image, "a.png"))),
        ("e2", Fact::ElementRemoved("element".into())),
        ("q1", asked),
        ("q2", Fact::AskEnded { ask: "question".into(), outcome: Outcome::Answered(json!({"output": "yes"})) }),
        ("v1", Fact::FeedbackSet(vote)),
        ("v2", Fact::FeedbackRemoved("vote".into())),
        ("c1", Fact::SettingsUpdated(settings.clone())),
        ("u1", Fact::ThreadUpdated(ThreadUpdate { metadata: settings, ..ThreadUpdate::default() })),
        ("d1", Fact::StepDeleted("llm".into())),
    ];
    let mut records = vec![run_started(thread, &run)];
    records.extend(facts.into_iter().map(|(id, fact)| output(&run, id, fact)));
    records.push(run_ended(thread, &run, EndReason::Completed));
    let failed = "failed".into();
    records.push(run_started(thread, &failed));
    let fact = Fact::RunFailed { step: step(thread, "failed", StepKind::Run, 3), message: "sorry".into() };
    records.push(output(&failed, "f1", fact));
    let lost = "lost".into();
    records.push(run_started(thread, &lost));
    let fact = Fact::RunLost { run: lost.clone(), lost_at: at(4), reason: LostReason::ProcessRestarted };
    records.push(Record { source: Source::Watchdog, ..output(&lost, "l1", fact) });
    records.push(note(thread, ERASED));
    records
}

/// The number of a note whose content is gone before anybody reads it.
const ERASED: u64 = 99;

fn erase(kind: Kind, thread: &ThreadId) -> String {
    let id = format!("{thread}-{ERASED}");
    match kind {
        Kind::Sqlite => format!(
            "create trigger erase after insert on rejoinder_records when new.record_id = '{id}' begin
                update rejoinder_records set attributes = '{{}}', erased_at = 1796000000000000
                    where record_id = new.record_id; end"
        ),
        Kind::Postgres => format!(
            "create function erase() returns trigger language plpgsql as
                $$ begin new.attributes := '{{}}'; new.erased_at := to_timestamp(1796000000); return new; end $$;
            create trigger erase before insert on rejoinder_records for each row
                when (new.record_id = '{id}') execute function erase()"
        ),
    }
}

/// I-34. Red when a page, or what is live, writes its events in another way (a `Value` sorts their keys).
async fn live_is_replay_is_page(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 1).await;
    database.run(&erase(database.kind, &thread)).await;
    let person = anna(&server).await;
    let mut live = follow(&person, &thread, "?after=1").await;
    live.until("ready").await;
    let records = all_kinds(&thread);
    let count = records.len();
    for record in records {
        let stored = say(&server, &thread, vec![record.clone()]).await;
        assert!(matches!(stored[..], [Stored::Appended(Some(_))]), "{record:?}: {stored:?}");
    }
    let live: Vec<String> = live.events(count).await.iter().map(|frame| frame.without_watermark()).collect();
    let mut replayed = follow(&person, &thread, "?after=1").await.until("ready").await;
    replayed.pop();
    let replayed: Vec<String> = replayed.iter().map(|frame| frame.without_watermark()).collect();
    assert_eq!(live, replayed);
    let page = person.get(&format!("/sessions/{thread}/records?after=1&limit=200")).await;
    let in_page: Vec<&str> = page.text.split("\"event\":").skip(1).map(object).collect();
    let in_page: Vec<String> = in_page.into_iter().map(without_watermark).collect();
    assert_eq!(live, in_page, "the same bytes");
    let kinds: std::collections::BTreeSet<String> = live
        .iter()
        .map(|event| serde_json::from_str::<Value>(event).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds.len(), 20, "every type there is: {kinds:?}");
}

/// The object that a text begins with.
fn object(text: &str) -> &str {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next().unwrap().unwrap();
    &text[..values.byte_offset()]
}

/// I-16. Red when the journal wakes before its commit.
async fn nothing_is_said_before_it_is_stored(database: &Database) {
    let gate = Gate::at(Place::BeforeCommit);
    let server = tuned(database, Tuning { probes: Probes(Some(gate.clone())), ..Tuning::default() }).await;
    let person = anna(&server).await;
    let (thread, ()) = tokio::join!(thread_of(&server, 1), async {
        gate.arrival().await;
        gate.let_through();
    });
    let mut stream = follow(&person, &thread, "").await;
    stream.until("ready").await;
    let receipt = server.journal.submit(append(&thread, vec![note(&thread, 2)])).await;
    gate.arrival().await;
    let early = stream.any_within(Duration::from_millis(300)).await;
    assert_eq!(early, None, "it is not committed");
    gate.stay_open();
    assert!(receipt.await.is_ok());
    assert_eq!(stream.events(1).await[0].sequence(), 2);
}

/// I-16: also when the commit fails; then the same records again are stored and said once.
async fn nothing_is_said_that_is_not_stored(database: &Database) {
    let cut = Break::at(Place::BeforeCommit, |number| (1..4).contains(&number));
    let server = tuned(database, Tuning { probes: Probes(Some(cut)), ..Tuning::default() }).await;
    let person = anna(&server).await;
    let thread = thread_of(&server, 0).await;
    let mut stream = follow(&person, &thread, "").await;
    stream.until("ready").await;
    let began = Instant::now();
    write(&server, &thread, 2..=2).await;
    assert!(began.elapsed() > Duration::from_millis(150), "it was tried again");
    write(&server, &thread, 3..=3).await;
    assert_eq!(sequences(&stream.events(2).await), [2, 3]);
}

/// I-35. Red when the poll is taken out.
async fn a_lost_wake_only_delays(database: &Database) {
    let journal = JournalSettings { wakes: false, ..JournalSettings::default() };
    let server = tuned(database, Tuning { journal, ..Tuning::default() }).await;
    let person = anna(&server).await;
    let thread = thread_of(&server, 3).await;
    let mut stream = follow(&person, &thread, "?after=3").await;
    stream.until("ready").await;
    write(&server, &thread, 4..=5).await;
    let written = Instant::now();
    assert_eq!(sequences(&stream.events(2).await), [4, 5]);
    assert!(written.elapsed() <= Duration::from_secs(7), "{:?}", written.elapsed());
    assert!(server.journal.missed_wakes() > 0);
}

/// I-38. Red when the replay goes on to the cursor of each page.
async fn ready_comes_on_a_thread_that_never_stops_growing(database: &Database) {
    let server = Arc::new(serve(database).await);
    let thread = thread_of(&server, 1_000).await;
    let (writer, of) = (server.clone(), thread.clone());
    let writing = tokio::spawn(async move { keep_writing(&writer, &of).await });
    let person = anna(&server).await;
    let began = Instant::now();
    let mut stream = follow(&person, &thread, "").await;
    let frames = stream.until("ready").await;
    let took = began.elapsed();
    writing.abort();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let proven = frames.last().unwrap().json()["watermark"].as_u64().unwrap();
    assert_eq!(sequences(&frames), (1..=proven).collect::<Vec<_>>());
    let more = stream.events(50).await;
    assert_eq!(sequences(&more), (proven + 1..=proven + 50).collect::<Vec<_>>());
}

async fn keep_writing(server: &Running, thread: &ThreadId) {
    for number in 0.. {
        let notes = (0..50).map(|index| note(thread, 10_000 + number * 50 + index)).collect();
        say(server, thread, notes).await;
    }
}

/// I-15, I-39: a checkpoint says how far the reader is, and one can come back with it. Red when the position moves with
/// events only.
async fn what_has_no_public_form_moves_the_position(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 2).await;
    // Records that no version of the server knows.
    database.run(spoil(database.kind)).await;
    let person = anna(&server).await;
    let mut stream = follow(&person, &thread, "").await;
    stream.until("ready").await;
    let odd = |number: u64| record(format!("odd-{number}"), Fact::SettingsUpdated(Map::new()));
    let began = Instant::now();
    for number in 3..=22 {
        say(&server, &thread, vec![odd(number)]).await;
    }
    let mut checkpoints = Vec::new();
    loop {
        let frame = stream.next().await.unwrap();
        assert_eq!(frame.name, "checkpoint", "{frame:?}");
        let position = frame.position().unwrap();
        checkpoints.push(frame);
        if position.sequence() == 22 {
            break;
        }
    }
    let most = began.elapsed().as_secs() + 2;
    assert!(checkpoints.len() as u64 <= most, "one a second: {checkpoints:?}");
    write(&server, &thread, 23..=23).await;
    assert_eq!(stream.events(1).await[0].sequence(), 23);
    let after = checkpoints.last().unwrap().id.clone().unwrap();
    let again = follow(&person, &thread, &format!("?after={after}")).await.until("ready").await;
    assert_eq!(sequences(&again), [23]);
    let all = follow(&person, &thread, "").await.until("ready").await;
    assert_eq!(sequences(&all), [1, 2, 23], "what cannot be shown breaks nothing");
}

fn spoil(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => {
            "create trigger odd after insert on rejoinder_records when new.record_id like 'odd-%' begin
                update rejoinder_records set record_type = 'of tomorrow' where record_id = new.record_id; end"
        }
        Kind::Postgres => {
            "create function odd() returns trigger language plpgsql as
                $$ begin new.record_type := 'of tomorrow'; return new; end $$;
            create trigger odd before insert on rejoinder_records for each row
                when (new.record_id like 'odd-%') execute function odd()"
        }
    }
}
