//! Retry, conflict, bad input: records.md, I-8 to I-15.

use rejoinder::id::ThreadId;
use rejoinder::protocol::StepKind;
use rejoinder::record::{Fact, Record, ThreadUpdate};
use rejoinder::store::Stored;
use rejoinder::store::probe::Point;
use serde_json::json;

use super::order::{poison, refuse_poison};
use crate::support::database::{Database, Kind, on_both};
use crate::support::probe::{Break, probed};
use crate::support::records::{append, message, record, started, step, store};

on_both! {
    i8_a_retry_keeps_its_number,
    i8_a_retry_by_two_workers_at_once_keeps_one_number,
    i9_a_lost_answer_is_a_duplicate_later,
    i10_other_content_under_a_known_id_is_a_conflict,
    i11_an_id_in_two_threads_is_two_records,
    i12_a_bad_row_is_kept_aside,
    i12_a_record_that_is_too_big_is_kept_aside,
    i13_nul_is_replaced_alike,
    i14_an_outage_is_no_bad_row,
    i15_an_unreadable_record_breaks_nothing,
}

fn text(thread: &ThreadId, id: &str, text: &str) -> Record {
    record(id, message(thread, &format!("{id}-{thread}"), text))
}

/// Red when: a conflict on the id still moves the cursor.
async fn i8_a_retry_keeps_its_number(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    assert_eq!(store(&*db, &thread, vec![text(&thread, "a", "x")]).await, [Stored::Appended(Some(2))]);
    for _ in 0..2 {
        assert_eq!(store(&*db, &thread, vec![text(&thread, "a", "x")]).await, [Stored::Duplicate(Some(2))]);
    }
    let twice = vec![text(&thread, "b", "x"), text(&thread, "b", "x"), text(&thread, "b", "y")];
    let expected = [Stored::Appended(Some(3)), Stored::Duplicate(Some(3)), Stored::Conflict];
    assert_eq!(store(&*db, &thread, twice).await, expected, "equal ids inside one batch");
}

/// Held twice: by the lock, and by the key that sends the loser of a race to be stored piece by piece, where it finds the
/// winner's row. Red only without both.
async fn i8_a_retry_by_two_workers_at_once_keeps_one_number(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    for round in 0..40 {
        let deliver = || {
            let (db, thread) = (db.clone(), thread.clone());
            tokio::spawn(async move { store(&*db, &thread, vec![text(&thread, &format!("r{round}"), "x")]).await })
        };
        let (one, two) = (deliver(), deliver());
        let mut both = [one.await.unwrap().remove(0), two.await.unwrap().remove(0)];
        both.sort_by_key(|stored| matches!(stored, Stored::Duplicate(_)));
        assert_eq!(both, [Stored::Appended(Some(round + 2)), Stored::Duplicate(Some(round + 2))]);
    }
}

/// Red when: record ids are made at each attempt.
async fn i9_a_lost_answer_is_a_duplicate_later(database: &Database) {
    let db = database.open_with(probed(Break::at(Point::AfterCommit, |n| n == 1))).await;
    let thread = started(&*db).await;
    let batch = [append(&thread, vec![text(&thread, "a", "x")])];
    assert!(db.append(&batch).await.is_err(), "the answer is lost");
    assert_eq!(db.append(&batch).await.unwrap(), [Ok(vec![Stored::Duplicate(Some(2))])]);
    assert_eq!(db.records(&thread, 0, None, 10).await.unwrap().len(), 2);
}

async fn i10_other_content_under_a_known_id_is_a_conflict(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    store(&*db, &thread, vec![text(&thread, "known", "first")]).await;
    let batch = vec![text(&thread, "new1", "x"), text(&thread, "known", "other"), text(&thread, "new2", "x")];
    let expected = [Stored::Appended(Some(3)), Stored::Conflict, Stored::Appended(Some(4))];
    assert_eq!(store(&*db, &thread, batch).await, expected);
    assert_eq!(db.records(&thread, 1, Some(2), 1).await.unwrap()[0].attributes()["content"], "first");
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    assert!(shown.steps.iter().all(|step| step.output != "other"));
}

/// Red when: the thread is missing in a key or in a where-clause.
async fn i11_an_id_in_two_threads_is_two_records(database: &Database) {
    let db = database.open().await;
    let (a, b) = (started(&*db).await, started(&*db).await);
    assert_eq!(store(&*db, &a, vec![text(&a, "same", "of a")]).await, [Stored::Appended(Some(2))]);
    assert_eq!(store(&*db, &b, vec![text(&b, "same", "of b")]).await, [Stored::Appended(Some(2))]);
    for (thread, content) in [(&a, "of a"), (&b, "of b")] {
        let read = db.records(thread, 1, None, 10).await.unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].attributes()["content"], content);
    }
}

/// Red when: a permanent error of one row fails, or drops, the batch.
async fn i12_a_bad_row_is_kept_aside(database: &Database) {
    let db = database.open().await;
    refuse_poison(database).await;
    let thread = started(&*db).await;
    let batch = vec![text(&thread, "a", "x"), poison(&thread, "bad"), text(&thread, "b", "x")];
    let stored = store(&*db, &thread, batch).await;
    assert!(matches!(stored[..], [Stored::Appended(Some(2)), Stored::Rejected(_), Stored::Appended(Some(3))]));
    let reason = "select incomplete_why from rejoinder_cursors";
    assert_eq!(database.text(reason).await.as_deref(), Some("record_rejected"));
    let body = database.text("select body from rejoinder_rejects where record_id = 'bad'").await.unwrap();
    assert!(body.contains("poison"));
    // It stays so, and a later good record changes nothing about it.
    store(&*db, &thread, vec![text(&thread, "c", "x")]).await;
    assert_eq!(database.text(reason).await.as_deref(), Some("record_rejected"));
    assert_eq!(database.count("steps where name = 'poison'").await, 0);
}

async fn i12_a_record_that_is_too_big_is_kept_aside(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let million = "x".repeat(1 << 20);
    assert_eq!(store(&*db, &thread, vec![text(&thread, "mib", &million)]).await, [Stored::Appended(Some(2))]);
    let huge = "x".repeat(5 << 20);
    let batch = vec![text(&thread, "huge", &huge), text(&thread, "after", "x")];
    let stored = store(&*db, &thread, batch).await;
    assert_eq!(stored, [Stored::Rejected("record_too_big"), Stored::Appended(Some(3))]);
    let kept = database.text("select cast(length(body) as text) from rejoinder_rejects").await.unwrap();
    assert_eq!(kept, "65536");
    let shown = db.thread(&thread).await.unwrap().unwrap();
    assert_eq!(shown.thread.steps[0].output.len(), million.len(), "a text is never shortened");
    assert!(shown.incomplete.contains("record_rejected"));
}

/// Red when: one database gets the text as it came (PostgreSQL refuses it with 22P05 or 22021).
async fn i13_nul_is_replaced_alike(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let mut said = step(&thread, "said", StepKind::AssistantMessage, 1);
    (said.output, said.name) = ("a\0b".into(), "n\0".into());
    said.metadata.insert("k\0".into(), json!(["v\0", { "deep\0": "\0" }]));
    let mut tool = step(&thread, "tool", StepKind::Tool, 2);
    (tool.input, tool.output) = ("in\0".into(), "out\0".into());
    let batch = vec![
        record("said", Fact::Message { step: said.clone(), interrupted: false }),
        record("tool", Fact::StepEnded(tool)),
        record("name", Fact::ThreadUpdated(ThreadUpdate { name: Some("t\0".into()), ..ThreadUpdate::default() })),
    ];
    let stored = store(&*db, &thread, batch).await;
    assert_eq!(stored, [2, 3, 4].map(|n| Stored::Appended(Some(n))));
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    assert_eq!(shown.name.as_deref(), Some("t\u{fffd}"));
    assert_eq!((shown.steps[0].output.as_str(), shown.steps[0].name.as_str()), ("a\u{fffd}b", "n\u{fffd}"));
    let metadata = json!({ "k\u{fffd}": ["v\u{fffd}", { "deep\u{fffd}": "\u{fffd}" }] });
    assert_eq!(serde_json::Value::Object(shown.steps[0].metadata.clone()), metadata);
    assert_eq!((shown.steps[1].input.as_str(), shown.steps[1].output.as_str()), ("in\u{fffd}", "out\u{fffd}"));
    let again = record("said", Fact::Message { step: said, interrupted: false });
    assert_eq!(store(&*db, &thread, vec![again]).await, [Stored::Duplicate(Some(2))], "cleaned before it is hashed");
}

/// The table of codes is tested beside the code; here a connection is cut in the middle of a batch.
async fn i14_an_outage_is_no_bad_row(database: &Database) {
    let db = database.open_with(probed(Break::at(Point::AfterInsert, |n| n == 1))).await;
    let thread = started(&*db).await;
    let batch = [append(&thread, (0..20).map(|i| text(&thread, &format!("r{i}"), "x")).collect())];
    assert!(db.append(&batch).await.is_err());
    assert_eq!(database.count("rejoinder_rejects").await, 0);
    assert_eq!(database.count("rejoinder_records").await, 1, "nothing is decided");
    let stored = db.append(&batch).await.unwrap().remove(0).unwrap();
    assert_eq!(stored, (2..22).map(|n| Stored::Appended(Some(n))).collect::<Vec<_>>());
}

/// Red when: reading a page fails on a row that has no valid form.
async fn i15_an_unreadable_record_breaks_nothing(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    store(&*db, &thread, vec![text(&thread, "good", "x"), text(&thread, "odd", "x"), text(&thread, "late", "x")]).await;
    let odd = if database.kind == Kind::Sqlite { "'[1'" } else { "'[1]'" };
    database.run(&format!("update rejoinder_records set attributes = {odd} where record_id = 'odd'")).await;
    database.run("update rejoinder_records set record_type = 'of tomorrow' where record_id = 'late'").await;
    let read = db.records(&thread, 1, None, 10).await.unwrap();
    assert_eq!(read.iter().map(|record| record.fact().is_ok()).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(read[2].sequence, Some(4), "the watermark still moves");
    assert_eq!(db.cursor(&thread).await.unwrap().unwrap().latest, 4);
    assert_eq!(db.thread(&thread).await.unwrap().unwrap().thread.steps.len(), 3);
}
