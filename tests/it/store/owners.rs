//! Who may write what: promises 10, 18 and 22.

use rejoinder::id::{ElementId, StepId, ThreadId};
use rejoinder::protocol::{Element, ElementKind, Feedback, StepKind};
use rejoinder::record::{Fact, Record};
use rejoinder::store::probe::Point;
use rejoinder::store::{Append, Refused, Stored};

use crate::support::database::{Database, Kind, on_both};
use crate::support::probe::{Gate, probed};
use crate::support::records::{ANNA, append, message, record, run_started, start, start_for, started, step, store};

on_both! {
    p22_a_thread_is_written_by_its_owner_only,
    p22_a_row_that_appears_in_between_is_not_taken_over,
    p22_anonymous_threads_are_nobodys_else,
    p18_a_deleted_thread_stays_deleted,
    p18_a_deletion_waits_for_what_is_being_written,
    p10_what_hangs_on_a_record_is_stored_only_with_it,
    a_client_cannot_take_the_step_of_another_thread,
    ids_taken_inside_one_batch_are_foreign_as_well,
    only_a_start_makes_a_thread,
    a_second_start_names_a_nameless_thread,
}

fn text(thread: &ThreadId, id: &str) -> Record {
    record(id, message(thread, &format!("{id}-{thread}"), "x"))
}

fn by(owner: Option<&str>, thread: &ThreadId, records: Vec<Record>) -> Append {
    Append { owner: owner.map(str::to_owned), ..append(thread, records) }
}

/// Red when: the owner is checked before the transaction, or not at all.
async fn p22_a_thread_is_written_by_its_owner_only(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    for owner in [Some("bert"), None] {
        let mut start = start_for(&thread, owner);
        start.id = "another start".into();
        for records in [vec![text(&thread, "x")], vec![start, text(&thread, "x")]] {
            assert_eq!(db.append(&[by(owner, &thread, records)]).await.unwrap(), [Err(Refused::NotYours)]);
        }
    }
    // A start for somebody else than the writer.
    let other = ThreadId::random();
    let batch = [by(Some("bert"), &other, vec![start_for(&other, Some(ANNA))])];
    assert_eq!(db.append(&batch).await.unwrap(), [Err(Refused::NotYours)]);
    assert_eq!(db.records(&thread, 1, None, 10).await.unwrap(), []);
    assert_eq!(database.count("rejoinder_cursors").await, 1, "a refusal leaves no trace");
}

/// Another program inserts the row after we have read that there is none. Red when (PostgreSQL): the insert of the
/// thread does not ask how many rows it made.
async fn p22_a_row_that_appears_in_between_is_not_taken_over(database: &Database) {
    let gate = Gate::at(Point::AfterLock);
    let db = database.open_with(probed(gate.clone())).await;
    let thread = ThreadId::random();
    let insert = format!(r#"insert into threads (id, "userIdentifier") values ('{thread}', 'bert')"#);
    let attempt = tokio::spawn({
        let (db, thread) = (db.clone(), thread.clone());
        async move { db.append(&[append(&thread, vec![start(&thread), text(&thread, "a")])]).await }
    });
    gate.arrival().await;
    if database.kind == Kind::Sqlite {
        // Here nobody can come in between: the other program waits, and finds the thread taken.
        gate.stay_open();
        assert_eq!(attempt.await.unwrap().unwrap(), [Ok(vec![Stored::Appended(Some(1)), Stored::Appended(Some(2))])]);
        assert!(database.try_run(&insert).await.is_err());
    } else {
        database.run(&insert).await;
        gate.stay_open();
        assert_eq!(attempt.await.unwrap().unwrap(), [Err(Refused::NotYours)]);
        let owner = database.text(r#"select "userIdentifier" from threads"#).await;
        assert_eq!(owner.as_deref(), Some("bert"));
        assert_eq!(database.count("rejoinder_records").await + database.count("steps").await, 0);
    }
}

async fn p22_anonymous_threads_are_nobodys_else(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let batch = [by(None, &thread, vec![start_for(&thread, None), text(&thread, "a")])];
    assert_eq!(db.append(&batch).await.unwrap(), [Ok(vec![Stored::Appended(Some(1)), Stored::Appended(Some(2))])]);
    assert_eq!(
        db.append(&[by(Some(ANNA), &thread, vec![text(&thread, "b")])]).await.unwrap(),
        [Err(Refused::NotYours)]
    );
    assert_eq!(
        db.append(&[by(None, &thread, vec![text(&thread, "b")])]).await.unwrap(),
        [Ok(vec![Stored::Appended(Some(3))])]
    );
    assert_eq!(db.thread_head(&thread).await.unwrap().unwrap().owner, None);
}

/// Red when: the tombstone is not read under the lock, or the deletion misses a table.
async fn p18_a_deleted_thread_stays_deleted(database: &Database) {
    let db = database.open().await;
    let (thread, other) = (started(&*db).await, started(&*db).await);
    let run = StepId::random();
    let mut element = Element::new(ElementId::random(), ElementKind::Text, "note");
    element.for_id = Some(run.clone());
    let vote = Feedback { id: None, for_id: run.clone(), thread_id: None, value: 1, comment: None };
    let records = vec![
        run_started(&thread, &run),
        record("e", Fact::Element(element)),
        record("00000000-0000-4000-8000-0000000000f0", Fact::FeedbackSet(vote)),
    ];
    store(&*db, &thread, records).await;
    store(&*db, &other, vec![text(&other, "stays")]).await;

    assert!(db.delete_thread(&thread).await.unwrap());
    assert!(!db.delete_thread(&thread).await.unwrap());
    assert!(!db.delete_thread(&ThreadId::random()).await.unwrap());
    assert_eq!(db.thread(&thread).await.unwrap(), None);
    assert_eq!(db.thread_head(&thread).await.unwrap(), None);
    assert_eq!(db.cursor(&thread).await.unwrap(), None);
    let late = [append(&thread, vec![start(&thread), text(&thread, "late")]), append(&other, vec![text(&other, "b")])];
    assert_eq!(db.append(&late).await.unwrap(), [Err(Refused::Deleted), Ok(vec![Stored::Appended(Some(3))])]);
    for table in ["elements", "feedbacks", "rejoinder_executions"] {
        assert_eq!(database.count(table).await, 0, "{table}");
    }
    for table in ["threads", "rejoinder_cursors", "rejoinder_tombstones"] {
        assert_eq!(database.count(table).await, 1, "{table}");
    }
    assert_eq!(database.count("rejoinder_records").await, 3);
    assert_eq!(database.count("steps").await, 2);
}

/// Red when (PostgreSQL): the deletion does not take the cursor's lock.
async fn p18_a_deletion_waits_for_what_is_being_written(database: &Database) {
    let gate = Gate::at(Point::BeforeCommit);
    let db = database.open_with(probed(gate.clone())).await;
    if database.kind == Kind::Postgres {
        // An old database may have no such key, which would do our work.
        database.run(r#"alter table steps drop constraint "steps_threadId_fkey""#).await;
    }
    gate.let_through();
    let thread = started(&*db).await;
    gate.arrival().await;
    let write = tokio::spawn({
        let (db, thread) = (db.clone(), thread.clone());
        async move { store(&*db, &thread, vec![text(&thread, "a")]).await }
    });
    gate.arrival().await;
    let delete = tokio::spawn({
        let (db, thread) = (db.clone(), thread.clone());
        async move { db.delete_thread(&thread).await.unwrap() }
    });
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    gate.stay_open();
    assert_eq!(write.await.unwrap(), [Stored::Appended(Some(2))]);
    assert!(delete.await.unwrap());
    for table in ["steps", "threads", "rejoinder_records", "rejoinder_cursors"] {
        assert_eq!(database.count(table).await, 0, "{table}");
    }
}

/// Red when: the fate of the record that the others hang on is not looked at; or what an append stored whose answer was
/// lost is taken for not stored when it comes again.
async fn p10_what_hangs_on_a_record_is_stored_only_with_it(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let turn = |run: &str| Append {
        hinge: Some(0),
        ..append(&thread, vec![text(&thread, "hello"), run_started(&thread, &run.into())])
    };
    // Twice in one batch, as from two tabs, and again later.
    let outcomes = db.append(&[turn("run1"), turn("run2")]).await.unwrap();
    assert_eq!(outcomes[0], Ok(vec![Stored::Appended(Some(2)), Stored::Appended(Some(3))]));
    assert_eq!(outcomes[1], Ok(vec![Stored::Duplicate(Some(2)), Stored::Skipped]));
    let later = db.append(&[turn("run3")]).await.unwrap();
    assert_eq!(later, [Ok(vec![Stored::Duplicate(Some(2)), Stored::Skipped])]);
    assert_eq!(database.count("rejoinder_executions").await, 1, "a message starts one run");

    let other = started(&*db).await;
    let mut stolen = text(&other, "steal");
    stolen.fact = message(&other, &format!("hello-{thread}"), "x");
    let run4 = run_started(&other, &"run4".into());
    let append = |records, hinge| Append { hinge: Some(hinge), ..append(&other, records) };
    let outcomes = db.append(&[append(vec![stolen.clone(), run4.clone()], 0)]).await.unwrap();
    assert_eq!(outcomes, [Ok(vec![Stored::ForeignId, Stored::Skipped])]);
    // As in the append that begins a thread: what comes before the message is stored all the same.
    let outcomes = db.append(&[append(vec![text(&other, "first"), stolen, run4], 1)]).await.unwrap();
    assert_eq!(outcomes, [Ok(vec![Stored::Appended(Some(2)), Stored::ForeignId, Stored::Skipped])]);
    let turn = || append(vec![text(&other, "next"), run_started(&other, &"run5".into())], 0);
    let _answer_lost = db.append(&[turn()]).await.unwrap();
    let again = db.append(&[turn()]).await.unwrap();
    assert_eq!(again, [Ok(vec![Stored::Duplicate(Some(3)), Stored::Duplicate(Some(4))])]);
}

/// Red when: the upsert does not ask which thread a row is of.
async fn a_client_cannot_take_the_step_of_another_thread(database: &Database) {
    let db = database.open().await;
    let (mine, theirs) = (started(&*db).await, started(&*db).await);
    let mut element = Element::new("their-element".into(), ElementKind::Text, "theirs");
    element.for_id = Some("their-step".into());
    let vote = |id: &str| Feedback {
        id: Some(id.into()),
        for_id: "their-step".into(),
        thread_id: None,
        value: 1,
        comment: None,
    };
    let records = vec![
        record("s", message(&theirs, "their-step", "theirs")),
        record("e", Fact::Element(element.clone())),
        record("v", Fact::FeedbackSet(vote("their-vote"))),
    ];
    store(&*db, &theirs, records).await;
    let before = db.thread(&theirs).await.unwrap();

    let tool = step(&mine, "their-step", StepKind::Tool, 1);
    let attempts = vec![
        record("1", message(&mine, "their-step", "mine")),
        record("2", Fact::StepEnded(tool)),
        record("3", Fact::StepDeleted("their-step".into())),
        record("4", Fact::Element(element)),
        record("5", Fact::ElementRemoved("their-element".into())),
        record("6", Fact::FeedbackSet(vote("my-vote"))),
        record("7", Fact::FeedbackRemoved("their-vote".into())),
        record("8", Fact::AskEnded { ask: "their-step".into(), outcome: rejoinder::record::Outcome::TimedOut }),
    ];
    let outcomes = store(&*db, &mine, attempts).await;
    assert_eq!(outcomes, vec![Stored::ForeignId; 8]);
    assert_eq!(db.thread(&theirs).await.unwrap(), before);
    assert_eq!(db.cursor(&mine).await.unwrap().unwrap().latest, 1, "no number is used");
}

async fn ids_taken_inside_one_batch_are_foreign_as_well(database: &Database) {
    let db = database.open().await;
    let (a, b) = (started(&*db).await, started(&*db).await);
    let batch = [&a, &b].map(|thread| append(thread, vec![record("r", message(thread, "same", "x"))]));
    let outcomes = db.append(&batch).await.unwrap();
    assert_eq!(outcomes, [Ok(vec![Stored::Appended(Some(2))]), Ok(vec![Stored::ForeignId])]);
    assert_eq!(db.thread(&a).await.unwrap().unwrap().thread.steps.len(), 1);
}

async fn only_a_start_makes_a_thread(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    assert_eq!(db.append(&[append(&thread, vec![text(&thread, "a")])]).await.unwrap(), [Err(Refused::NoThread)]);
    assert_eq!(database.count("rejoinder_cursors").await, 0);
    // The start need not be the first record.
    let records = vec![text(&thread, "a"), start(&thread)];
    assert_eq!(store(&*db, &thread, records).await, [Stored::Appended(Some(1)), Stored::Appended(Some(2))]);
}

async fn a_second_start_names_a_nameless_thread(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let start_named = |id: &str, name: Option<&str>| {
        let mut record = start(&thread);
        record.id = id.into();
        let Fact::ThreadStarted(start) = &mut record.fact else { unreachable!() };
        start.name = name.map(str::to_owned);
        record
    };
    store(&*db, &thread, vec![start_named("1", None)]).await;
    store(&*db, &thread, vec![start_named("2", Some("hello"))]).await;
    store(&*db, &thread, vec![start_named("3", Some("other"))]).await;
    assert_eq!(db.thread_head(&thread).await.unwrap().unwrap().name.as_deref(), Some("hello"));
}
