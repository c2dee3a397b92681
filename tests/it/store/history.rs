//! What the records API reads: snapshots and pages, each of one moment (records.md 3.13).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::StepKind;
use rejoinder::record::{EndReason, Fact, Outcome, Position, RecordPlace};
use rejoinder::store::{OpenOptions, PAGE_BYTES, PageQuery, RecordPage, Store};
use serde_json::json;

use super::adoption::{THREAD, chainlit};
use crate::support::database::{Database, on_both};
use crate::support::records::{at, message, output, record, run_ended, run_started, start, started, step, store};

on_both! {
    i30_a_snapshot_is_one_moment,
    i31_a_page_is_not_moved_by_what_comes_later,
    i45_old_rows_come_first_and_are_never_claimed_complete,
    i46_incomplete_is_for_ever_and_says_why,
    i15_a_record_that_cannot_be_read_has_no_event,
    i21_what_is_quarantined_is_on_no_page,
    a_page_has_its_bytes,
    a_page_goes_backwards,
    a_snapshot_tells_what_runs_and_what_is_asked,
    a_mark_is_read_at_its_place,
}

fn forwards(from: Option<RecordPlace>, through: Option<u64>, limit: u32) -> PageQuery {
    PageQuery { from, through, backwards: false, limit }
}

fn after(sequence: u64) -> Option<RecordPlace> {
    Some(RecordPlace::Numbered(Position::Sequence(sequence)))
}

async fn page(db: &dyn Store, thread: &ThreadId, query: PageQuery) -> RecordPage {
    db.record_page(thread, &query).await.unwrap().unwrap()
}

/// All of a history, page by page.
async fn whole(db: &dyn Store, thread: &ThreadId, through: Option<u64>, backwards: bool) -> Vec<(Option<u64>, String)> {
    let mut from = None;
    let mut all = Vec::new();
    loop {
        let page = page(db, thread, PageQuery { from, through, backwards, limit: 2 }).await;
        assert!(page.records.len() <= 2);
        from = page.records.last().map(|placed| placed.place.clone());
        all.extend(page.records.into_iter().map(|placed| (placed.record.sequence, placed.record.id.to_string())));
        if !page.more {
            return all;
        }
    }
}

/// Red when the cursor and the records are read by two statements.
async fn i30_a_snapshot_is_one_moment(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let done = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (db, thread, done) = (db.clone(), thread.clone(), done.clone());
        async move {
            let mut n = 0;
            while !done.load(Ordering::Relaxed) {
                n += 1;
                store(&*db, &thread, vec![record(format!("m{n}"), message(&thread, &format!("m{n}"), "x"))]).await;
            }
        }
    });
    for _ in 0..100 {
        let snapshot = db.snapshot(&thread).await.unwrap().unwrap();
        assert!(snapshot.incomplete.is_empty(), "{:?}", snapshot.incomplete);
        let latest = snapshot.cursor.unwrap().latest;
        let before = latest.saturating_sub(50);
        let read = page(&*db, &thread, forwards(after(before.max(1)), None, 200)).await;
        let last = read.records.last().map_or(before.max(1), |placed| placed.record.sequence.unwrap());
        // A full page may end before the cursor.
        if !read.more {
            assert_eq!(read.cursor.unwrap().latest, last, "the page and its cursor are one moment");
        }
        assert!(last >= latest);
    }
    done.store(true, Ordering::Relaxed);
    writer.await.unwrap();
}

async fn i31_a_page_is_not_moved_by_what_comes_later(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let some = |ids: std::ops::Range<u32>| -> Vec<_> {
        ids.map(|n| record(format!("m{n}"), message(&thread, &format!("m{n}"), "x"))).collect()
    };
    store(&*db, &thread, some(0..7)).await;
    let first = page(&*db, &thread, forwards(None, None, 3)).await;
    let through = first.cursor.unwrap().latest;
    assert_eq!((through, first.more), (8, true));
    store(&*db, &thread, some(7..12)).await;
    let rest = page(&*db, &thread, forwards(after(3), Some(through), 200)).await;
    let numbers: Vec<u64> = rest.records.iter().map(|placed| placed.record.sequence.unwrap()).collect();
    assert_eq!((numbers, rest.more), ((4..=8).collect(), false));
    assert_eq!(rest.cursor.unwrap().latest, 13, "what is there now is told all the same");
}

async fn i45_old_rows_come_first_and_are_never_claimed_complete(database: &Database) {
    chainlit(database, "").await;
    let db = database.open().await;
    let thread = ThreadId::from(THREAD);
    let before = db.snapshot(&thread).await.unwrap().unwrap();
    assert_eq!((before.cursor.clone(), before.legacy), (None, 4));
    assert!(before.incomplete.contains("legacy_rows"));
    // A mark makes a cursor row, and claims nothing.
    db.mark_incomplete(std::slice::from_ref(&thread), "pending_overflow").await.unwrap();
    let marked = db.snapshot(&thread).await.unwrap().unwrap();
    assert_eq!((marked.cursor, marked.legacy), (None, 4));
    assert_eq!(marked.incomplete, ["legacy_rows", "pending_overflow"].map(str::to_owned).into());

    let new = StepId::random();
    let again = StepId::random();
    let records = vec![
        record("a", message(&thread, new.as_str(), "one")),
        record("b", message(&thread, again.as_str(), "two")),
        record("c", Fact::StepDeleted(new)),
    ];
    store(&*db, &thread, records).await;
    let snapshot = db.snapshot(&thread).await.unwrap().unwrap();
    assert_eq!((snapshot.cursor.unwrap().latest, snapshot.legacy), (3, 4));
    assert!(snapshot.incomplete.contains("legacy_rows"));

    let all = whole(&*db, &thread, None, false).await;
    let numbers: Vec<Option<u64>> = all.iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!(numbers, [None, None, None, None, Some(1), Some(2), Some(3)]);
    let mut turned = whole(&*db, &thread, None, true).await;
    turned.reverse();
    assert_eq!(turned, all, "backwards is the same, turned");

    let old = page(&*db, &thread, forwards(None, None, 200)).await;
    let question = &old.records[0].record;
    assert_eq!(Some(question.id.as_str()), question.entity.as_deref(), "its id is the step's");
    assert_eq!((question.record_type.as_str(), question.source.as_str()), ("message", "user"));
    let event = serde_json::to_value(question.event(&thread, 3).unwrap()).unwrap();
    assert_eq!((&event["type"], &event["payload"]["content"]), (&json!("message.completed"), &json!("Hi")));
    assert_eq!(event["sequence"], json!(null));
    assert_eq!(page(&*db, &thread, forwards(after(1), None, 200)).await.records.len(), 2, "behind the old rows");
    assert_eq!(page(&*db, &thread, forwards(after(0), None, 200)).await.records.len(), 7, "from the beginning");
}

async fn i46_incomplete_is_for_ever_and_says_why(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let mut expected = std::collections::BTreeSet::new();
    for reason in ["record_rejected", "pending_overflow", "execution_lost", "unsequenced_rows", "legacy_rows"] {
        let threads = [thread.clone(), ThreadId::from("nobody's")];
        db.mark_incomplete(&threads, reason).await.unwrap();
        db.mark_incomplete(&threads, reason).await.unwrap();
        expected.insert(reason.to_owned());
        assert_eq!(db.snapshot(&thread).await.unwrap().unwrap().incomplete, expected);
    }
    store(&*db, &thread, vec![record("m", message(&thread, "m", "later"))]).await;
    db.close().await;
    let db = database.open().await;
    let snapshot = db.snapshot(&thread).await.unwrap().unwrap();
    assert_eq!((snapshot.incomplete, snapshot.cursor.unwrap().latest), (expected, 2));
    assert_eq!(db.cursor(&ThreadId::from("nobody's")).await.unwrap(), None, "what is not there has no row");
}

async fn i15_a_record_that_cannot_be_read_has_no_event(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let good = |id: &str| record(id, message(&thread, id, "good"));
    store(&*db, &thread, vec![good("a"), good("b"), good("c")]).await;
    database.run("update rejoinder_records set attributes = '[1]' where record_id = 'b'").await;
    let read = page(&*db, &thread, forwards(after(1), None, 200)).await;
    let events: Vec<Option<u64>> =
        read.records.iter().map(|placed| placed.record.event(&thread, 4).and_then(|event| event.sequence())).collect();
    assert_eq!(events, [Some(2), None, Some(4)]);
    assert_eq!(read.cursor.unwrap().latest, 4, "the watermark moves on");
}

async fn i21_what_is_quarantined_is_on_no_page(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let run = StepId::from("run");
    let mut ended = run_ended(&thread, &run, EndReason::UserStop);
    ended.source = rejoinder::record::Source::User;
    store(&*db, &thread, vec![run_started(&thread, &run), ended]).await;
    let before = db.snapshot(&thread).await.unwrap().unwrap();
    for _ in 0..2 {
        store(&*db, &thread, vec![output(&run, "late", message(&thread, "late", "too late"))]).await;
    }
    assert_eq!(database.count("rejoinder_records where quarantined_at is not null").await, 1);
    let snapshot = db.snapshot(&thread).await.unwrap().unwrap();
    assert_eq!((snapshot.cursor, snapshot.incomplete, snapshot.legacy), (before.cursor, before.incomplete, 0));
    assert_eq!(whole(&*db, &thread, None, false).await.len(), 3);
    let forced = database.try_run("update rejoinder_records set sequence = 9 where quarantined_at is not null").await;
    assert!(forced.is_err(), "the schema forbids it");
}

async fn a_page_has_its_bytes(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let text = "x".repeat(700 << 10);
    for n in 0..5 {
        store(&*db, &thread, vec![record(format!("m{n}"), message(&thread, &format!("m{n}"), &text))]).await;
    }
    let mut sizes = Vec::new();
    let mut from = None;
    loop {
        let page = page(&*db, &thread, forwards(from, None, 200)).await;
        let bytes: usize = page.records.iter().map(|placed| placed.record.attributes.len()).sum();
        assert!(bytes <= PAGE_BYTES || page.records.len() == 1, "{bytes}");
        sizes.push(page.records.len());
        from = page.records.last().map(|placed| placed.place.clone());
        if !page.more {
            break;
        }
    }
    assert_eq!(sizes.iter().sum::<usize>(), 6, "{sizes:?}");
    assert!(sizes.len() >= 4, "a text stands in its record twice: {sizes:?}");
}

async fn a_page_goes_backwards(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    for n in 2..=9 {
        store(&*db, &thread, vec![record(format!("m{n}"), message(&thread, &format!("m{n}"), "x"))]).await;
    }
    let query = PageQuery { from: after(7), through: Some(8), backwards: true, limit: 3 };
    let read = page(&*db, &thread, query).await;
    let numbers: Vec<u64> = read.records.iter().map(|placed| placed.record.sequence.unwrap()).collect();
    assert_eq!((numbers, read.more), (vec![6, 5, 4], true));
    let all = whole(&*db, &thread, Some(8), true).await;
    assert_eq!(
        all.iter().map(|(sequence, _)| sequence.unwrap()).collect::<Vec<_>>(),
        (1..=8).rev().collect::<Vec<_>>()
    );
    assert_eq!(db.record_page(&"nobody's".into(), &forwards(None, None, 1)).await.unwrap(), None);
    assert_eq!(db.snapshot(&"nobody's".into()).await.unwrap(), None);
}

async fn a_snapshot_tells_what_runs_and_what_is_asked(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let later = rejoinder::clock::Clock::system().now().as_micros() + 3_600_000_000;
    let asked = |id: &str, run: &StepId, timeout: i64| {
        let fact = Fact::Asked {
            step: step(&thread, id, StepKind::AssistantMessage, 1),
            spec: json!({ "type": "text", "timeout": 60 }),
            timeout_at: rejoinder::protocol::Timestamp::from_micros(timeout),
        };
        output(run, format!("ask-{id}"), fact)
    };
    let (one, two) = (StepId::from("run1"), StepId::from("run2"));
    let begun = |run: &StepId, micros: i64| {
        let mut record = run_started(&thread, run);
        record.produced_at = at(micros);
        record
    };
    let answered = Fact::AskEnded { ask: "answered".into(), outcome: Outcome::TimedOut };
    let records = vec![
        begun(&one, 1),
        begun(&two, 2),
        asked("open", &one, later),
        asked("answered", &one, later),
        asked("expired", &two, 1),
        record("answer", answered),
        run_ended(&thread, &two, EndReason::Completed),
    ];
    store(&*db, &thread, records).await;
    let snapshot = db.snapshot(&thread).await.unwrap().unwrap();
    let running: Vec<&str> = snapshot.running.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(running, ["run1"]);
    let newest = snapshot.newest.unwrap();
    assert_eq!((newest.id.as_str(), newest.state.as_str()), ("run2", "stopped"));
    assert_eq!((newest.settled_by.as_deref(), newest.reason.as_deref()), (Some("runner"), Some("completed")));
    assert_eq!(newest.started(), at(2));
    assert!(newest.settled().is_some());
    let [open] = &snapshot.interactions[..] else { panic!("{:?}", snapshot.interactions) };
    assert_eq!((open.id.as_str(), open.kind.as_deref(), open.sequence), ("open", Some("text"), 4));

    store(&*db, &thread, vec![run_ended(&thread, &one, EndReason::Completed)]).await;
    let snapshot = db.snapshot(&thread).await.unwrap().unwrap();
    assert!(snapshot.running.is_empty() && snapshot.interactions.is_empty(), "a question ends with its run");
}

async fn a_mark_is_read_at_its_place(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    store(&*db, &thread, vec![record("a", message(&thread, "a", "x"))]).await;
    let records = db.records(&thread, 0, None, 10).await.unwrap();
    for record in &records {
        let at = db.mark_at(&thread, record.sequence.unwrap()).await.unwrap();
        assert_eq!(at.mark.map(|mark| mark.to_lowercase()), record.mark);
        assert_eq!(at.cursor.unwrap().latest, 2);
    }
    assert_eq!(db.mark_at(&thread, 3).await.unwrap().mark, None);
    assert_eq!(db.mark_at(&"nobody's".into(), 1).await.unwrap().cursor, None);
    db.close().await;
    let off = database.open_with(OpenOptions { numbered: false, ..OpenOptions::default() }).await;
    store(&*off, &thread, vec![record("b", message(&thread, "b", "x"))]).await;
    let snapshot = off.snapshot(&thread).await.unwrap().unwrap();
    assert_eq!((snapshot.cursor.unwrap().latest, snapshot.legacy), (2, 1), "what came without a number is an old row");
    assert!(snapshot.incomplete.contains("unsequenced_rows"));
    assert_eq!(start(&thread).fact.record_type(), "thread_start");
}
