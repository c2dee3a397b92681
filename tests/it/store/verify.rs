//! `rejoinder verify`: what was changed behind the server's back is found, and nothing else is.

use rejoinder::id::ThreadId;
use rejoinder::store::{Finding, verify};

use super::adoption::{QUESTION, THREAD, chainlit};
use crate::support::database::{Database, Kind, on_both};
use crate::support::records::{message, record, started, store};

on_both! {
    a_good_history_is_found_good,
    what_was_changed_is_found,
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
