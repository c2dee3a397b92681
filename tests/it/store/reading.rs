//! Reading: the list of threads, users, live tabs, and what belongs to a SQLite file.

use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{Feedback, StepKind, User};
use rejoinder::record::{Fact, ThreadUpdate};
use rejoinder::store::{LiveSession, OpenOptions, Store, StoreError, ThreadQuery, open};

use crate::support::database::{Database, Kind, on_both};
use crate::support::records::{ANNA, append, at, record, start, start_for, started, step, store};

on_both! {
    the_list_is_newest_first_and_stable_under_insertion,
    each_thread_comes_once_while_threads_come_and_move,
    a_threads_id_is_a_place_as_well,
    the_list_is_the_owners_alone,
    a_search_ignores_case_in_every_alphabet,
    a_vote_filters_the_list,
    i30_a_snapshot_is_one_moment,
    records_are_read_in_pages,
    users_are_kept_by_identifier,
    live_tabs_are_remembered,
    with_numbering_off_records_have_no_sequence,
    a_file_belongs_to_one_server,
}

/// A thread of which the newest step is so old.
async fn thread_at(db: &dyn Store, micros: i64, text: &str) -> ThreadId {
    let thread = ThreadId::random();
    let mut step = step(&thread, StepId::random().as_str(), StepKind::AssistantMessage, micros);
    step.output = text.into();
    let name = ThreadUpdate { name: Some(format!("thread {text}")), ..ThreadUpdate::default() };
    let records = vec![
        start(&thread),
        record("m", Fact::Message { step, interrupted: false }),
        record("n", Fact::ThreadUpdated(name)),
    ];
    store(db, &thread, records).await;
    thread
}

fn query(first: u32, cursor: Option<&str>) -> ThreadQuery {
    ThreadQuery { owner: ANNA.into(), first, cursor: cursor.map(str::to_owned), ..ThreadQuery::default() }
}

async fn list(db: &dyn Store, query: &ThreadQuery) -> Vec<ThreadId> {
    db.threads(query).await.unwrap().data.into_iter().map(|thread| thread.id).collect()
}

/// Red when: pages are cut by an offset, or whole seconds sort after their fractions.
async fn the_list_is_newest_first_and_stable_under_insertion(database: &Database) {
    let db = database.open().await;
    let mut threads = Vec::new();
    for micros in [0, 500_000, 1_000_000, 1_000_001, 2_000_000] {
        threads.push(thread_at(&*db, micros, "x").await);
    }
    threads.reverse();
    let first = db.threads(&query(2, None)).await.unwrap();
    assert_eq!(first.data.iter().map(|thread| thread.id.clone()).collect::<Vec<_>>(), threads[..2]);
    assert!(first.page_info.has_next_page);
    assert_eq!(first.page_info.start_cursor.as_deref(), Some(threads[0].as_str()));
    thread_at(&*db, 9_000_000, "new").await;
    let second = db.threads(&query(2, first.page_info.end_cursor.as_deref())).await.unwrap();
    assert_eq!(second.data.iter().map(|thread| thread.id.clone()).collect::<Vec<_>>(), threads[2..4]);
    assert!(second.page_info.has_next_page);
    let third = db.threads(&query(2, second.page_info.end_cursor.as_deref())).await.unwrap();
    assert_eq!(third.data.len(), 1);
    assert!(!third.page_info.has_next_page);
    assert_eq!(
        list(&*db, &query(2, Some(ThreadId::random().as_str()))).await.len(),
        2,
        "an unknown cursor is the first page"
    );
    let exact = db.threads(&query(6, None)).await.unwrap();
    assert!(!exact.page_info.has_next_page, "a full last page has no next");
    assert!(exact.data.iter().all(|thread| thread.steps.is_empty()));
    // What happens in a thread moves it up.
    let mut late = step(&threads[4], "late", StepKind::AssistantMessage, 99_000_000);
    late.output = "y".into();
    store(&*db, &threads[4], vec![record("late", Fact::Message { step: late, interrupted: false })]).await;
    assert_eq!(list(&*db, &query(1, None)).await, threads[4..]);
}

/// The place of the last thread is remembered instead of looked up, and what came later does not count.
async fn each_thread_comes_once_while_threads_come_and_move(database: &Database) {
    let db = database.open().await;
    let mut threads = Vec::new();
    for n in 0..20 {
        threads.push(thread_at(&*db, n * 250_000, "x").await);
    }
    // From here on, new threads come and something happens in the old ones, those above and below the reader.
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let (written, writes) = tokio::sync::watch::channel(0);
    let writer = tokio::spawn({
        let (db, threads) = (db.clone(), threads.clone());
        async move {
            let mut n = 0;
            while !*stopped.borrow() {
                n += 1;
                written.send_replace(n);
                // No two at the same moment: which of them the reader knew could not be told.
                thread_at(&*db, 100_000_000 + 2 * n, "new").await;
                let thread = &threads[usize::try_from(n * 7).unwrap() % threads.len()];
                let step = step(thread, &format!("more-{n}"), StepKind::AssistantMessage, 100_000_001 + 2 * n);
                let fact = Fact::Message { step, interrupted: false };
                store(&*db, thread, vec![record(format!("more-{n}"), fact)]).await;
            }
        }
    });
    let mut rounds = 0;
    while rounds < 5 || *writes.borrow() < 10 {
        rounds += 1;
        let top = db.threads(&query(100, None)).await.unwrap();
        let known: Vec<ThreadId> = top.data.into_iter().map(|thread| thread.id).collect();
        let mut seen: Vec<ThreadId> = Vec::new();
        let mut cursor = None;
        loop {
            let page = db.threads(&query(3, cursor.as_deref())).await.unwrap();
            seen.extend(page.data.into_iter().map(|thread| thread.id));
            cursor = page.page_info.end_cursor;
            if !page.page_info.has_next_page {
                break;
            }
        }
        let mut once = seen.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), seen.len(), "none twice");
        assert!(known.iter().chain(&threads).all(|thread| seen.contains(thread)), "none is missing");
    }
    stop.send(true).unwrap();
    writer.await.unwrap();
}

async fn a_threads_id_is_a_place_as_well(database: &Database) {
    let db = database.open().await;
    let mut threads = Vec::new();
    for n in 0..4 {
        threads.insert(0, thread_at(&*db, n, "x").await);
    }
    assert_eq!(list(&*db, &query(2, Some(threads[1].as_str()))).await, threads[2..]);
    // A thread of which nothing is known but that it is there.
    let bare = started(&*db).await;
    assert!(list(&*db, &query(10, None)).await.contains(&bare));
    let first = db.threads(&query(1, None)).await.unwrap().page_info.end_cursor;
    assert_eq!(list(&*db, &query(10, first.as_deref())).await.len(), 4, "and is paged through like any other");
}

async fn the_list_is_the_owners_alone(database: &Database) {
    let db = database.open().await;
    let mine = started(&*db).await;
    let theirs = ThreadId::random();
    let mut batch = append(&theirs, vec![start_for(&theirs, Some("bert"))]);
    batch.owner = Some("bert".into());
    db.append(&[batch]).await.unwrap();
    assert_eq!(list(&*db, &query(10, None)).await, std::slice::from_ref(&mine));
    assert_eq!(
        list(&*db, &query(10, Some(theirs.as_str()))).await,
        std::slice::from_ref(&mine),
        "a foreign cursor is an unknown one"
    );
    db.delete_thread(&mine).await.unwrap();
    assert_eq!(list(&*db, &query(10, None)).await, []);
}

async fn a_search_ignores_case_in_every_alphabet(database: &Database) {
    let db = database.open().await;
    let german = thread_at(&*db, 1, "Die ÄRZTE spielen [laut]*?").await;
    let russian = thread_at(&*db, 2, "Привет, 100% \\d+").await;
    for (text, expected) in [
        ("ärzte", vec![german.clone()]),
        ("SPIELEN [LAUT]*", vec![german.clone()]),
        ("ПРИВЕТ", vec![russian.clone()]),
        ("100%", vec![russian.clone()]),
        ("%", vec![russian.clone()]),
        ("_", vec![]),
        ("10_%", vec![]),
        ("\\d+", vec![russian.clone()]),
        ("THREAD", vec![russian.clone(), german.clone()]),
        ("d.e", vec![]),
        ("", vec![russian, german]),
    ] {
        let query = ThreadQuery { search: Some(text.into()), ..query(10, None) };
        assert_eq!(list(&*db, &query).await, expected, "{text}");
    }
}

async fn a_vote_filters_the_list(database: &Database) {
    let db = database.open().await;
    let (good, bad) = (thread_at(&*db, 1, "good").await, thread_at(&*db, 2, "bad").await);
    for (thread, value) in [(&good, 1), (&bad, 0)] {
        let vote = Feedback { id: None, for_id: StepId::random(), thread_id: None, value, comment: None };
        store(&*db, thread, vec![record(format!("v-{thread}"), Fact::FeedbackSet(vote))]).await;
    }
    for (feedback, expected) in [(Some(1), vec![good.clone()]), (Some(0), vec![bad.clone()]), (None, vec![bad, good])] {
        assert_eq!(list(&*db, &ThreadQuery { feedback, ..query(10, None) }).await, expected);
    }
}

/// Red when: thread and cursor are read by two statements under read committed.
async fn i30_a_snapshot_is_one_moment(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let writer = tokio::spawn({
        let (db, thread) = (db.clone(), thread.clone());
        async move {
            for n in 0..200 {
                let step = step(&thread, &format!("s{n}-{thread}"), StepKind::AssistantMessage, n);
                let fact = Fact::Message { step, interrupted: false };
                store(&*db, &thread, vec![record(format!("r{n}"), fact)]).await;
            }
        }
    });
    while !writer.is_finished() {
        let shown = db.thread(&thread).await.unwrap().unwrap();
        assert_eq!(shown.cursor.unwrap().latest, shown.thread.steps.len() as u64 + 1);
        assert!(shown.incomplete.is_empty(), "the fingerprint is of the same moment");
    }
    writer.await.unwrap();
}

async fn records_are_read_in_pages(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let records = (0..9).map(|n| record(format!("r{n}"), Fact::SettingsUpdated(serde_json::Map::new()))).collect();
    store(&*db, &thread, records).await;
    let page = async |after, through, limit| -> Vec<u64> {
        let page = db.records(&thread, after, through, limit).await.unwrap();
        page.into_iter().map(|record| record.sequence.unwrap()).collect()
    };
    assert_eq!(page(0, None, 3).await, [1, 2, 3]);
    assert_eq!(page(3, Some(5), 100).await, [4, 5]);
    assert_eq!(page(10, None, 100).await, [0_u64; 0]);
    assert_eq!(page(u64::MAX, None, 100).await, [0_u64; 0]);
    assert_eq!(db.records(&ThreadId::random(), 0, None, 10).await.unwrap(), []);
    assert_eq!(db.cursor(&ThreadId::random()).await.unwrap(), None);
}

async fn users_are_kept_by_identifier(database: &Database) {
    let db = database.open().await;
    assert_eq!(db.user(ANNA).await.unwrap(), None);
    let saved = db.save_user(&User::new(ANNA).with("role", "guest")).await.unwrap();
    assert!(saved.id.is_some() && saved.created_at.is_some());
    let again = db.save_user(&User::new(ANNA).with("image", "a.png")).await.unwrap();
    assert_eq!((again.id.clone(), again.created_at), (saved.id, saved.created_at), "only the metadata change");
    assert_eq!(again.metadata.keys().collect::<Vec<_>>(), ["image"]);
    assert_eq!(db.user(ANNA).await.unwrap(), Some(again));
}

async fn live_tabs_are_remembered(database: &Database) {
    let db = database.open().await;
    let tab = |hash: &str, micros: i64| LiveSession {
        hash: hash.into(),
        thread: ThreadId::from("t"),
        owner: Some(ANNA.into()),
        greeted: true,
        stored: false,
        seen_at: at(micros),
    };
    db.save_sessions(&[tab("a", 1), tab("b", 1)]).await.unwrap();
    let moved = LiveSession { stored: true, owner: None, ..tab("a", 2) };
    db.save_sessions(std::slice::from_ref(&moved)).await.unwrap();
    assert_eq!(db.session("a").await.unwrap(), Some(moved));
    db.forget_sessions(&["a".into(), "unknown".into()]).await.unwrap();
    assert_eq!(db.session("a").await.unwrap(), None);
    assert_eq!(db.session("b").await.unwrap(), Some(tab("b", 1)));
    db.settle_left(None, at(40 * 24 * 3600 * 1_000_000)).await.unwrap();
    assert_eq!(db.session("b").await.unwrap(), None, "nobody came back to it");
}

async fn with_numbering_off_records_have_no_sequence(database: &Database) {
    let off = OpenOptions { numbered: false, ..OpenOptions::default() };
    let db = database.open_with(off).await;
    let thread = ThreadId::random();
    let stored = store(&*db, &thread, vec![start(&thread)]).await;
    assert_eq!(stored, [rejoinder::store::Stored::Appended(None)]);
    assert_eq!(store(&*db, &thread, vec![start(&thread)]).await, [rejoinder::store::Stored::Duplicate(None)]);
    let shown = db.thread(&thread).await.unwrap().unwrap();
    assert_eq!(shown.cursor, None);
    assert_eq!(shown.incomplete, ["unsequenced_rows".to_owned()].into());
}

/// A lock of the operating system on SQLite; a PostgreSQL database is shared.
async fn a_file_belongs_to_one_server(database: &Database) {
    let db = database.open().await;
    let second = open(database.url(), OpenOptions::default()).await;
    match (database.kind, second) {
        (Kind::Postgres, Ok(_)) => {}
        (Kind::Sqlite, Err(StoreError::Refused(sentence))) => {
            assert!(sentence.contains("another server"), "{sentence}");
            db.ping().await.unwrap();
            db.close().await;
            database.open().await.ping().await.unwrap();
        }
        (kind, other) => panic!("{kind:?}: {}", other.is_ok()),
    }
}
