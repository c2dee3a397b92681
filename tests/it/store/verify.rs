//! `rejoinder verify`: what was changed behind the server's back is found, and nothing else is.

use rejoinder::id::ThreadId;
use rejoinder::store::{Finding, verify};

use super::adoption::{QUESTION, THREAD, chainlit};
use crate::support::database::{Database, Kind, on_both};
use crate::support::records::{message, record, started, store};

on_both! {
    a_good_history_is_found_good,
    what_was_changed_is_found,
    old_rows_get_numbers_when_somebody_asks,
    what_came_without_a_number_gets_one_in_its_place,
}

async fn a_good_history_is_found_good(database: &Database) {
    chainlit(database, "").await;
    let db = database.open().await;
    let adopted = ThreadId::from(THREAD);
    let new = uuid::Uuid::new_v4().to_string();
    store(&*db, &adopted, vec![record("a", message(&adopted, &new, "new"))]).await;
    store(&*db, &adopted, vec![record("b", rejoinder::record::Fact::StepDeleted(QUESTION.into()))]).await;
    assert_eq!(verify(&*db, &adopted).await.unwrap(), [], "old rows are no findings");
    assert_eq!(verify(&*db, &"nobody's".into()).await.unwrap(), []);
    assert_eq!(db.recorded_threads(None, 10).await.unwrap(), [adopted]);
    assert_eq!(db.count_recorded_threads().await.unwrap(), 1);
}

/// Red when: hashes, marks, numbers, the cursor or the rows are not looked at.
async fn what_was_changed_is_found(database: &Database) {
    let db = database.open().await;
    let good = async |text: &str| {
        let thread = started(&*db).await;
        let of = |n: u32| record(format!("{n}-{thread}"), message(&thread, &format!("m{n}-{thread}"), text));
        store(&*db, &thread, (2..=150).map(of).collect()).await;
        assert_eq!(verify(&*db, &thread).await.unwrap(), []);
        thread
    };
    let of = |thread: &ThreadId, sql: &str| sql.replace("{t}", thread.as_str());
    let attributes = match database.kind {
        Kind::Sqlite => "json_set(attributes, '$.content', 'forged')",
        Kind::Postgres => "jsonb_set(attributes, '{content}', '\"forged\"')",
    };
    let zero = if database.kind == Kind::Sqlite { "x'0000000000000000'" } else { "'\\x0000000000000000'" };
    for (sql, expected) in [
        (
            format!("update rejoinder_records set attributes = {attributes} where record_id = '120-{{t}}'"),
            vec![Finding::Content(120)],
        ),
        (
            format!("update rejoinder_records set mark = {zero} where record_id = '7-{{t}}'"),
            vec![Finding::Mark(7), Finding::Mark(8)],
        ),
        (format!("update rejoinder_cursors set mark = {zero} where thread_id = '{{t}}'"), vec![Finding::Cursor]),
        (
            "update steps set output = 'forged' where id = 'm9-{t}'".to_owned(),
            vec![Finding::Row("step m9-{t}".to_owned())],
        ),
        (
            "update threads set name = 'forged' where id = '{t}'".to_owned(),
            vec![Finding::Row("the thread's row".to_owned())],
        ),
    ] {
        let thread = good("x").await;
        database.run(&of(&thread, &sql)).await;
        let expected: Vec<Finding> = expected
            .into_iter()
            .map(|finding| match finding {
                Finding::Row(what) => Finding::Row(of(&thread, &what)),
                finding => finding,
            })
            .collect();
        assert_eq!(verify(&*db, &thread).await.unwrap(), expected, "{sql}");
    }
    let thread = good("x").await;
    database.run(&of(&thread, "delete from rejoinder_records where record_id = '150-{t}'")).await;
    assert_eq!(verify(&*db, &thread).await.unwrap(), [Finding::Gap(150)]);
}

/// Decision 8. Red when: the epoch stays, old rows come last, or a row is numbered twice.
async fn old_rows_get_numbers_when_somebody_asks(database: &Database) {
    chainlit(database, "").await;
    let db = database.open().await;
    let thread = ThreadId::from(THREAD);
    let new = uuid::Uuid::new_v4().to_string();
    store(&*db, &thread, vec![record("a", message(&thread, &new, "new"))]).await;
    let before = db.cursor(&thread).await.unwrap().unwrap();
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    assert_eq!(db.number(&thread).await.unwrap(), 7, "the thread, four steps, an element, a vote");
    let after = db.cursor(&thread).await.unwrap().unwrap();
    assert_ne!(before.epoch, after.epoch);
    assert_eq!(after.latest, 8);
    let records = db.records(&thread, 0, None, 100).await.unwrap();
    assert_eq!(records.last().unwrap().id.as_str(), "a");
    assert_eq!(records[1].id.as_str(), QUESTION, "its id is the step's");
    assert_eq!(verify(&*db, &thread).await.unwrap(), []);
    let stored = db.thread(&thread).await.unwrap().unwrap();
    assert_eq!((stored.thread, stored.incomplete), (shown, Default::default()), "nothing is shown otherwise");
    assert_eq!(db.snapshot(&thread).await.unwrap().unwrap().legacy, 0);
    assert_eq!(db.number(&thread).await.unwrap(), 0);
    assert_eq!(db.cursor(&thread).await.unwrap().unwrap(), after, "nothing was without");
    assert_eq!(db.stored_threads(None, 10).await.unwrap(), [thread]);
    assert_eq!(db.number(&"nobody's".into()).await.unwrap(), 0);
}

async fn what_came_without_a_number_gets_one_in_its_place(database: &Database) {
    let of =
        |thread: &ThreadId, id: &str| record(format!("{id}-{thread}"), message(thread, &format!("{id}-{thread}"), id));
    let db = database.open().await;
    let thread = started(&*db).await;
    store(&*db, &thread, vec![of(&thread, "a")]).await;
    db.close().await;
    let off = rejoinder::store::OpenOptions { numbered: false, ..Default::default() };
    let db = database.open_with(off).await;
    store(&*db, &thread, vec![of(&thread, "b")]).await;
    db.close().await;
    let db = database.open().await;
    store(&*db, &thread, vec![of(&thread, "c")]).await;
    assert_eq!(db.number(&thread).await.unwrap(), 1);
    let records = db.records(&thread, 0, None, 100).await.unwrap();
    let ids: Vec<&str> = records.iter().map(|record| record.id.as_str().split('-').next().unwrap()).collect();
    assert_eq!(ids, ["start", "a", "b", "c"]);
    assert_eq!(verify(&*db, &thread).await.unwrap(), []);
    assert!(db.snapshot(&thread).await.unwrap().unwrap().incomplete.is_empty());
}
