//! Databases that Chainlit made open as they are, and Chainlit can read them again: promise 19 and chat-wire 8.

use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{ShowInput, StepKind, Timestamp};
use rejoinder::record::{Fact, ThreadUpdate};
use rejoinder::store::{OpenOptions, StoreError, Stored, open};
use serde_json::{Value, json};

use crate::support::database::{Database, Kind, on_both};
use crate::support::records::{ANNA, append, message, record, run_started, start, started, step, store};

on_both! {
    p19_old_rows_are_read_and_flagged_and_never_numbered,
    a_database_from_the_documentation_lacks_columns_and_gets_them,
    chainlit_reads_what_was_written,
    tables_that_are_missing_are_made,
    p19_rows_that_changed_without_records_are_noticed,
    a_thread_that_another_program_removed_is_gone,
    the_other_layout_is_refused,
    another_project_is_refused,
    a_newer_addition_is_welcome,
    opening_again_changes_nothing,
    ids_in_another_spelling_are_other_ids,
}

pub const THREAD: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b01";
const USER: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b02";
pub const QUESTION: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b03";
const RUN: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b04";
const ANSWER: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b05";
const ORPHAN: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b06";
const GONE: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b07";
const ELEMENT: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b08";
pub(super) const VOTE: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b09";
const NEWER_VOTE: &str = "7d3ac8a7-0e0c-4b42-9f7e-0d2a1f6c0b0a";

/// The tables as Chainlit's documentation has them, `{uuid}` and so on filled in for the database.
const TABLES: &str = r#"
create table users (id {uuid} primary key, identifier text not null unique, metadata {json} not null, "createdAt" text);
create table threads (id {uuid} primary key, "createdAt" text, name text, "userId" {uuid}, "userIdentifier" text,
    tags {tags}, metadata {json}, foreign key ("userId") references users (id) on delete cascade);
create table steps (id {uuid} primary key, name text not null, type text not null, "threadId" {uuid} not null,
    "parentId" {uuid}, streaming boolean not null, "waitForAnswer" boolean, "isError" boolean, metadata {json},
    tags {tags}, input text, output text, "createdAt" text, command text, start text, "end" text,
    generation {json}, "showInput" text, language text, indent int, "defaultOpen" boolean, modes {json}{more},
    foreign key ("threadId") references threads (id) on delete cascade);
create table elements (id {uuid} primary key, "threadId" {uuid}, type text, url text, "chainlitKey" text,
    name text not null, display text, "objectKey" text, size text, page int, language text, "forId" {uuid}, mime text,
    props {json}, foreign key ("threadId") references threads (id) on delete cascade);
create table feedbacks (id {uuid} primary key, "forId" {uuid} not null, "threadId" {uuid} not null,
    value int not null, comment text, foreign key ("threadId") references threads (id) on delete cascade);
"#;

/// An old table demanded it, and only there.
const DISABLE_FEEDBACK: &str = r#", "disableFeedback" boolean not null"#;

fn tables(kind: Kind, more: &str) -> String {
    let (uuid, json, tags) = match kind {
        Kind::Sqlite => ("text", "text", "text"),
        Kind::Postgres => ("uuid", "jsonb", "text[]"),
    };
    TABLES.replace("{uuid}", uuid).replace("{json}", json).replace("{tags}", tags).replace("{more}", more)
}

/// A conversation in the formats of Chainlit 2.12.0: an orphan, null outputs, times without a zone, two votes.
pub async fn chainlit(database: &Database, more: &str) {
    database.run(&tables(database.kind, more)).await;
    let no_feedback = if !more.contains("disableFeedback") { ("", "") } else { (r#", "disableFeedback""#, ", false") };
    let steps = [
        (QUESTION, "null", "user_message", "'Hi'", "2026-11-29T22:35:39.129157Z", "'none'"),
        (RUN, "null", "run", "null", "2026-11-29T22:35:39.200000", "null"),
        (ANSWER, &format!("'{RUN}'"), "assistant_message", "'Hello!'", "2026-11-29T22:35:40Z", "null"),
        (ORPHAN, &format!("'{GONE}'"), "tool", "'3 hits'", "2026-11-29T22:35:41Z", "'json'"),
    ];
    let mut sql = format!(
        r#"
        insert into users (id, identifier, metadata, "createdAt")
            values ('{USER}', 'anna', '{{"role": "admin"}}', '2026-11-29T21:00:00.000000Z');
        insert into threads (id, "createdAt", name, "userId", "userIdentifier", metadata)
            values ('{THREAD}', '2026-11-29T22:35:39.000000Z', 'Hi', '{USER}', 'anna', '{{"chat_profile": "p"}}');
        "#
    );
    for (id, parent, kind, output, created, show) in steps {
        sql += &format!(
            r#"
            insert into steps (id, name, type, "threadId", "parentId", streaming, "isError", metadata, output, input,
                "createdAt", start, "end", generation, "showInput"{})
            values ('{id}', 'n', '{kind}', '{THREAD}', {parent}, false, false, '{{}}', {output}, '{{"q": 1}}',
                '{created}', '{created}', '{created}', 'null', {show}{});
            "#,
            no_feedback.0, no_feedback.1
        );
    }
    sql += &format!(
        r#"
        insert into elements (id, "threadId", type, name, display, "objectKey", "forId", props)
            values ('{ELEMENT}', '{THREAD}', 'image', 'cat.png', 'inline', 'u/e/cat.png', '{ANSWER}', null);
        insert into feedbacks (id, "forId", "threadId", value, comment)
            values ('{VOTE}', '{RUN}', '{THREAD}', 0, 'bad'), ('{NEWER_VOTE}', '{RUN}', '{THREAD}', 1, null);
        "#
    );
    database.run(&sql).await;
}

async fn p19_old_rows_are_read_and_flagged_and_never_numbered(database: &Database) {
    chainlit(database, ", \"autoCollapse\" boolean").await;
    let db = database.open().await;
    let id = ThreadId::from(THREAD);
    let shown = db.thread(&id).await.unwrap().unwrap();
    assert_eq!(shown.cursor, None);
    assert_eq!(shown.incomplete, ["legacy_rows".to_owned()].into());
    assert_eq!(db.thread_head(&id).await.unwrap().unwrap().incomplete, shown.incomplete);
    assert_eq!(shown.thread.metadata["chat_profile"], "p");
    let ids: Vec<&str> = shown.thread.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, [QUESTION, RUN, ANSWER, ORPHAN]);
    let [question, run, answer, orphan] = &shown.thread.steps[..] else { panic!() };
    assert_eq!((question.output.as_str(), question.kind.clone()), ("Hi", StepKind::UserMessage));
    assert_eq!((run.output.as_str(), run.generation.clone()), ("", None), "null output and JSON null are nothing");
    assert_eq!(run.created_at, Timestamp::parse("2026-11-29T22:35:39.2Z"), "a time without a zone is UTC");
    assert_eq!(answer.parent_id, Some(RUN.into()));
    assert_eq!(orphan.parent_id, None, "an orphan is hung to the root");
    assert_eq!((orphan.input.as_str(), &orphan.show_input), ("{\"q\": 1}", &ShowInput::default()));
    assert_eq!(run.feedback.as_ref().map(|vote| vote.value), Some(1), "of two votes the newest");
    let url = format!("/project/thread/{THREAD}/element/{ELEMENT}/content");
    assert_eq!(shown.thread.elements[0].url.as_deref(), Some(url.as_str()));
    assert_eq!(shown.thread.elements[0].props, None);
    let user = db.user(ANNA).await.unwrap().unwrap();
    assert_eq!((user.id, user.metadata["role"].clone()), (Some(USER.into()), json!("admin")));

    // New records start at 1, the old rows stay without numbers and flagged.
    let new = StepId::random();
    let records = vec![record("a", message(&id, new.as_str(), "and now?")), record("b", Fact::StepDeleted(RUN.into()))];
    assert_eq!(store(&*db, &id, records).await, [Stored::Appended(Some(1)), Stored::Appended(Some(2))]);
    let shown = db.thread(&id).await.unwrap().unwrap();
    assert_eq!(shown.incomplete, ["legacy_rows".to_owned()].into());
    assert_eq!(shown.thread.steps.len(), 3, "the run and its answer are gone: {:?}", shown.thread.steps);
    assert_eq!(shown.thread.elements, []);
    let theirs = append(&id, vec![record("c", message(&id, &StepId::random().to_string(), "x"))]);
    let theirs = rejoinder::store::Append { owner: Some("bert".into()), ..theirs };
    assert_eq!(db.append(&[theirs]).await.unwrap(), [Err(rejoinder::store::Refused::NotYours)]);
    assert!(db.delete_thread(&id).await.unwrap());
    assert_eq!(database.count("steps").await, 0);
}

async fn a_database_from_the_documentation_lacks_columns_and_gets_them(database: &Database) {
    chainlit(database, DISABLE_FEEDBACK).await;
    let db = database.open().await;
    let id = ThreadId::from(THREAD);
    let mut tool = step(&id, StepId::random().as_str(), StepKind::Tool, 1);
    tool.auto_collapse = true;
    tool.tags = Some(vec!["x".into(), "y".into()]);
    let update = ThreadUpdate { tags: Some(vec!["t".into()]), ..ThreadUpdate::default() };
    let records = vec![record("a", Fact::StepEnded(tool.clone())), record("b", Fact::ThreadUpdated(update))];
    assert_eq!(store(&*db, &id, records).await, [Stored::Appended(Some(1)), Stored::Appended(Some(2))]);
    let shown = db.thread(&id).await.unwrap().unwrap().thread;
    let read = shown.steps.iter().find(|step| step.id == tool.id).unwrap();
    assert!(read.auto_collapse);
    assert_eq!((&read.tags, shown.tags), (&tool.tags, Some(vec!["t".to_owned()])));
    assert_eq!(database.count(r#"steps where "disableFeedback""#).await, 0);
}

/// The columns as Chainlit 2.12.0 reads them (chat-wire 8.2, 8.3).
async fn chainlit_reads_what_was_written(database: &Database) {
    database.run(&tables(database.kind, "")).await;
    let db = database.open().await;
    let id = ThreadId::random();
    db.save_user(&rejoinder::protocol::User::new(ANNA).with("role", "guest")).await.unwrap();
    let run = StepId::random();
    let answer = StepId::random();
    let mut tool = step(&id, StepId::random().as_str(), StepKind::Tool, 1);
    (tool.show_input, tool.tags) = (ShowInput::Switch(true), Some(vec!["a".into()]));
    let records = vec![
        start(&id),
        run_started(&id, &run),
        record("m", message(&id, answer.as_str(), "hello")),
        record("t", Fact::StepEnded(tool)),
    ];
    store(&*db, &id, records).await;
    let text = async |sql: &str| database.text(sql).await;
    assert_eq!(text(r#"select "userIdentifier" from threads"#).await.as_deref(), Some(ANNA));
    let created = text(r#"select "createdAt" from steps where type = 'run'"#).await.unwrap();
    assert!(created.ends_with('Z'), "{created}");
    for (sql, expected) in [
        (r#"select "showInput" from steps where type = 'tool'"#, Some("true")),
        (r#"select "showInput" from steps where type = 'assistant_message'"#, None),
        (r#"select cast(metadata as text) from steps where type = 'tool'"#, Some("{}")),
        (r#"select output from steps where type = 'assistant_message'"#, Some("hello")),
        (r#"select name from threads"#, Some("hello")),
    ] {
        assert_eq!(text(sql).await.as_deref(), expected, "{sql}");
    }
    let user = text(r#"select cast("userId" as text) from threads"#).await;
    assert_eq!(user, text("select cast(id as text) from users").await, "the list of Chainlit joins by it");
    assert_eq!(
        text("select cast(metadata as text) from users").await.map(|json| json.replace(' ', "")).as_deref(),
        Some(r#"{"role":"guest"}"#)
    );
    let tags = text(r#"select cast(tags as text) from steps where type = 'tool'"#).await.unwrap();
    assert_eq!(tags, if database.kind == Kind::Sqlite { r#"["a"]"# } else { "{a}" });
}

async fn tables_that_are_missing_are_made(database: &Database) {
    let sql = tables(database.kind, "");
    let without = sql.split("create table elements").next().unwrap();
    database.run(without).await;
    let db = database.open().await;
    let id = started(&*db).await;
    let vote =
        rejoinder::protocol::Feedback { id: None, for_id: StepId::random(), thread_id: None, value: 1, comment: None };
    let records = vec![record(StepId::random().to_string(), Fact::FeedbackSet(vote))];
    assert_eq!(store(&*db, &id, records).await, [Stored::Appended(Some(2))]);
}

/// Red when: the fingerprint is taken from the table instead of from what records did.
async fn p19_rows_that_changed_without_records_are_noticed(database: &Database) {
    let db = database.open().await;
    let (added, removed, same) = (started(&*db).await, started(&*db).await, started(&*db).await);
    for thread in [&added, &removed, &same] {
        store(&*db, thread, vec![record("m", message(thread, &format!("m-{thread}"), "x"))]).await;
    }
    let insert = format!(
        r#"insert into steps (id, name, type, "threadId", streaming, "createdAt")
            values ('later', 'n', 'run', '{added}', false, '2030-01-01T00:00:00Z')"#
    );
    database.run(&insert).await;
    database.run(&format!(r#"delete from steps where "threadId" = '{removed}'"#)).await;
    let foreign = ["foreign_rows".to_owned()].into();
    for thread in [&added, &removed] {
        assert_eq!(db.thread(thread).await.unwrap().unwrap().incomplete, foreign, "at once, when it is read");
    }
    db.close().await;
    for _ in 0..2 {
        let db = database.open().await;
        for thread in [&added, &removed] {
            assert_eq!(db.thread_head(thread).await.unwrap().unwrap().incomplete, foreign);
        }
        assert!(db.thread_head(&same).await.unwrap().unwrap().incomplete.is_empty());
        store(&*db, &added, vec![record("more", message(&added, "more", "x"))]).await;
        assert_eq!(db.thread(&added).await.unwrap().unwrap().incomplete, foreign, "for good, and only once");
        db.close().await;
    }
}

async fn a_thread_that_another_program_removed_is_gone(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    store(&*db, &thread, vec![record("m", message(&thread, "m", "secret"))]).await;
    database.run("delete from steps").await;
    database.run("delete from threads").await;
    assert_eq!(db.thread(&thread).await.unwrap(), None);
    let again = [append(&thread, vec![start(&thread)])];
    assert_eq!(db.append(&again).await.unwrap(), [Err(rejoinder::store::Refused::NoThread)]);
    db.close().await;
    let db = database.open().await;
    assert_eq!(database.count("rejoinder_records").await, 0, "what was deleted there is deleted here");
    assert_eq!(db.append(&again).await.unwrap(), [Err(rejoinder::store::Refused::Deleted)]);
}

async fn refused(database: &Database, options: OpenOptions) -> String {
    match open(database.url(), options).await {
        Err(StoreError::Refused(sentence)) => sentence,
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("opened"),
    }
}

async fn the_other_layout_is_refused(database: &Database) {
    database.run(r#"create table "Thread" (id text primary key); create table "Step" (id text primary key)"#).await;
    let sentence = refused(database, OpenOptions::default()).await;
    assert!(sentence.contains("official layout"), "{sentence}");
    // Nothing was made.
    let tables = match database.kind {
        Kind::Sqlite => "sqlite_schema where type = 'table'",
        Kind::Postgres => "information_schema.tables where table_schema = 'public'",
    };
    assert_eq!(database.count(tables).await, 2);
}

async fn another_project_is_refused(database: &Database) {
    database.open_with(OpenOptions { project: "one".into(), ..OpenOptions::default() }).await.close().await;
    let sentence = refused(database, OpenOptions { project: "two".into(), ..OpenOptions::default() }).await;
    assert!(sentence.contains("\"one\""), "{sentence}");
}

async fn a_newer_addition_is_welcome(database: &Database) {
    database.open().await.close().await;
    let (yes, no, now) = match database.kind {
        Kind::Sqlite => ("1", "0", "0"),
        Kind::Postgres => ("true", "false", "now()"),
    };
    let insert = "insert into rejoinder_migrations (version, name, additive, applied_at)";
    database.run(&format!("{insert} values (98, 'add', {yes}, {now}); alter table steps add column future text")).await;
    let db = database.open().await;
    let thread = started(&*db).await;
    assert_eq!(store(&*db, &thread, vec![record("m", message(&thread, "m", "x"))]).await, [Stored::Appended(Some(2))]);
    db.close().await;
    database.run(&format!("{insert} values (99, 'change', {no}, {now})")).await;
    let sentence = refused(database, OpenOptions::default()).await;
    assert!(sentence.contains("newer version"), "{sentence}");
}

async fn opening_again_changes_nothing(database: &Database) {
    chainlit(database, "").await;
    let db = database.open().await;
    let before = db.thread(&THREAD.into()).await.unwrap();
    db.close().await;
    let migrations = database.count("rejoinder_migrations").await;
    assert!(migrations > 0);
    let db = database.open().await;
    assert_eq!(db.thread(&THREAD.into()).await.unwrap(), before);
    assert_eq!(database.count("rejoinder_migrations").await, migrations);
}

async fn ids_in_another_spelling_are_other_ids(database: &Database) {
    chainlit(database, "").await;
    let db = database.open().await;
    for id in [THREAD.to_uppercase(), format!("{{{THREAD}}}"), "not a uuid".into()] {
        let id = ThreadId::from(id);
        assert_eq!(db.thread(&id).await.unwrap(), None, "{id}");
        assert_eq!(db.thread_head(&id).await.unwrap(), None, "{id}");
        assert!(!db.delete_thread(&id).await.unwrap());
    }
    if database.kind == Kind::Postgres {
        // A uuid column cannot hold it: it is put aside, and its neighbours are stored.
        let id = ThreadId::from(THREAD);
        let (good, odd) = (StepId::random(), StepId::random().as_str().to_uppercase());
        let records = vec![
            record("odd", message(&id, &odd, "x")),
            record("none", message(&id, "m1", "x")),
            record("good", message(&id, good.as_str(), "x")),
        ];
        let stored = store(&*db, &id, records).await;
        assert!(matches!(stored[..], [Stored::Rejected(_), Stored::Rejected(_), Stored::Appended(Some(1))]));
        let shown = db.thread(&id).await.unwrap().unwrap();
        assert!(shown.incomplete.contains("record_rejected"));
        assert_eq!(Value::from(shown.thread.steps.len()), json!(5));
    }
}
