//! Order: records.md, I-1 to I-7.

use std::time::{Duration, Instant};

use rejoinder::id::ThreadId;
use rejoinder::protocol::StepKind;
use rejoinder::record::{Fact, Record};
use rejoinder::store::probe::Point;
use rejoinder::store::{StoreError, Stored};

use crate::support::database::{Database, Kind, on_both};
use crate::support::probe::{Break, Gate, Pause, probed};
use crate::support::records::{append, message, record, started, step, store};

on_both! {
    i1_numbers_have_no_hole_for_any_reader,
    i2_commit_order_is_number_order,
    i3_threads_do_not_wait_for_each_other,
    i4_opposite_orders_of_threads_never_deadlock,
    i5_opposite_orders_of_records_never_deadlock,
    i6_a_bad_row_keeps_the_order_of_its_neighbours,
    i7_a_rollback_leaves_no_gap,
}

fn text(thread: &ThreadId, id: &str) -> Record {
    record(id, message(thread, &format!("{id}-{thread}"), "x"))
}

/// The lock makes it so, and the unique index on the sequence watches over it: without the lock this stays green and
/// slow, without both it is red. (Numbers from a sequence of the database would let a reader pass rows that commit later.)
async fn i1_numbers_have_no_hole_for_any_reader(database: &Database) {
    const WRITERS: usize = 8;
    const EACH: usize = 50;
    let db = database.open_with(probed(Break::at(Point::BeforeCommit, |n| n % 20 == 19))).await;
    let thread = ThreadId::random();
    while db.append(&[append(&thread, vec![crate::support::records::start(&thread)])]).await.is_err() {}
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let (db, thread) = (db.clone(), thread.clone());
        writers.spawn(async move {
            for i in 0..EACH {
                let batch = [append(&thread, vec![text(&thread, &format!("r{writer}-{i}"))])];
                // Cut now and then, and then the same again.
                while let Err(error) = db.append(&batch).await {
                    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
                }
            }
        });
    }
    let mut seen = 0;
    let total = (WRITERS * EACH + 1) as u64;
    while seen < total {
        for record in db.records(&thread, seen, None, 1_000).await.unwrap() {
            seen += 1;
            assert_eq!(record.sequence, Some(seen), "a reader met a hole");
        }
    }
    writers.join_all().await;
    assert_eq!(db.records(&thread, seen, None, 10).await.unwrap().len(), 0);
}

/// Red when: the cursors are not locked.
async fn i2_commit_order_is_number_order(database: &Database) {
    let gate = Gate::at(Point::BeforeCommit);
    let db = database.open_with(probed(gate.clone())).await;
    gate.let_through();
    let thread = started(&*db).await;
    gate.arrival().await;

    let write = |id: &'static str| {
        let (db, thread) = (db.clone(), thread.clone());
        tokio::spawn(async move { store(&*db, &thread, vec![text(&thread, id)]).await })
    };
    let first = write("first");
    gate.arrival().await;
    let second = write("second");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!second.is_finished(), "the second must wait for the first");
    gate.stay_open();
    assert_eq!(first.await.unwrap(), [Stored::Appended(Some(2))]);
    assert_eq!(second.await.unwrap(), [Stored::Appended(Some(3))]);
}

/// SQLite has one writer: there a batch waits for the one before it, and for nothing else.
async fn i3_threads_do_not_wait_for_each_other(database: &Database) {
    let gate = Gate::at(Point::BeforeCommit);
    let db = database.open_with(probed(gate.clone())).await;
    let other = database.kind == Kind::Postgres;
    gate.let_through();
    let a = started(&*db).await;
    gate.let_through();
    let b = started(&*db).await;
    gate.arrival().await;
    gate.arrival().await;
    let slow = tokio::spawn({
        let (db, a) = (db.clone(), a.clone());
        async move { store(&*db, &a, vec![text(&a, "slow")]).await }
    });
    gate.arrival().await;
    if other {
        let quick = tokio::spawn(async move { store(&*db, &b, vec![text(&b, "quick")]).await });
        let arrived = tokio::time::timeout(Duration::from_secs(30), gate.arrival()).await;
        assert!(arrived.is_ok(), "it waits for the other thread");
        gate.stay_open();
        quick.await.unwrap();
    } else {
        gate.stay_open();
        store(&*db, &b, vec![text(&b, "quick")]).await;
    }
    slow.await.unwrap();
}

/// Red when: the threads of a lookup are not sorted before they are locked.
async fn i4_opposite_orders_of_threads_never_deadlock(database: &Database) {
    let db = database.open_with(probed(std::sync::Arc::new(Pause(Point::AfterLock, Duration::from_millis(5))))).await;
    // Many threads and four orders: those who waited for one writer wake together and lock at the same time.
    let mut threads = Vec::new();
    for _ in 0..60 {
        threads.push(started(&*db).await);
    }
    let began = Instant::now();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let (db, mut threads) = (db.clone(), threads.clone());
        threads.rotate_left(15 * writer);
        if writer % 2 == 1 {
            threads.reverse();
        }
        writers.spawn(async move {
            for i in 0..10 {
                let batch: Vec<_> =
                    threads.iter().map(|of| append(of, vec![text(of, &format!("{writer}-{i}"))])).collect();
                db.append(&batch).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    for thread in threads {
        assert_eq!(db.cursor(&thread).await.unwrap().unwrap().latest, 41);
    }
}

/// Would be red with record rows inserted before the cursor is locked: that deadlock was measured (records.md, T2); here
/// the order of the statements rules it out.
async fn i5_opposite_orders_of_records_never_deadlock(database: &Database) {
    let pause = Pause(Point::AfterInsert, Duration::from_millis(2));
    let db = database.open_with(probed(std::sync::Arc::new(pause))).await;
    let thread = started(&*db).await;
    for round in 0..50_u64 {
        let deliver = |order: [u8; 2]| {
            let (db, thread) = (db.clone(), thread.clone());
            tokio::spawn(async move {
                let records = order.map(|n| text(&thread, &format!("r{round}-{n}"))).to_vec();
                store(&*db, &thread, records).await
            })
        };
        let (one, two) = (deliver([1, 2]), deliver([2, 1]));
        let stored = [one.await.unwrap(), two.await.unwrap()].concat();
        let new = stored.iter().filter(|stored| matches!(stored, Stored::Appended(_))).count();
        assert_eq!(new, 2, "{stored:?}");
        assert_eq!(db.cursor(&thread).await.unwrap().unwrap().latest, 1 + 2 * (round + 1));
    }
}

/// A trigger plays the bad row: both databases then refuse it in the middle of the batch.
pub async fn refuse_poison(database: &Database) {
    let sql = match database.kind {
        Kind::Sqlite => {
            "create trigger poison before insert on steps when new.name = 'poison'
                begin select raise(abort, 'poison'); end"
        }
        Kind::Postgres => {
            "create function poison() returns trigger language plpgsql as
                $$ begin raise exception 'poison' using errcode = '23514'; end $$;
             create trigger poison before insert on steps for each row when (new.name = 'poison')
                execute function poison()"
        }
    };
    database.run(sql).await;
}

pub fn poison(thread: &ThreadId, id: &str) -> Record {
    let mut step = step(thread, &format!("{id}-{thread}"), StepKind::Tool, 1);
    step.name = "poison".into();
    record(id, Fact::StepStarted(step))
}

/// Red when: the batch is split around the bad row, or neighbours are numbered before it is known to be bad.
async fn i6_a_bad_row_keeps_the_order_of_its_neighbours(database: &Database) {
    let db = database.open().await;
    refuse_poison(database).await;
    let (thread, other) = (started(&*db).await, started(&*db).await);
    let mut records: Vec<Record> = (0..50).map(|i| text(&thread, &format!("r{i}"))).collect();
    records[20] = poison(&thread, "r20");
    let batch = [append(&thread, records), append(&other, vec![text(&other, "good")])];
    let outcomes = db.append(&batch).await.unwrap();

    let stored = outcomes[0].clone().unwrap();
    assert!(matches!(stored[20], Stored::Rejected(_)), "{:?}", stored[20]);
    assert_eq!(outcomes[1], Ok(vec![Stored::Appended(Some(2))]));
    let read = db.records(&thread, 1, None, 100).await.unwrap();
    let expected: Vec<String> = (0..50).filter(|i| *i != 20).map(|i| format!("r{i}")).collect();
    assert_eq!(read.iter().map(|record| record.id.to_string()).collect::<Vec<_>>(), expected);
    assert_eq!(read.iter().map(|record| record.sequence.unwrap()).collect::<Vec<_>>(), (2..=50).collect::<Vec<_>>());
    assert_eq!(database.count("rejoinder_rejects where record_id = 'r20'").await, 1);
    let incomplete = db.thread_head(&thread).await.unwrap().unwrap().incomplete;
    assert!(incomplete.contains("record_rejected"), "{incomplete:?}");
    assert!(db.thread_head(&other).await.unwrap().unwrap().incomplete.is_empty());
}

/// Red when: numbers come from a counter outside of the transaction.
async fn i7_a_rollback_leaves_no_gap(database: &Database) {
    let db = database.open_with(probed(Break::at(Point::AfterInsert, |n| n == 1))).await;
    let thread = started(&*db).await;
    assert!(db.append(&[append(&thread, vec![text(&thread, "cut")])]).await.is_err());
    assert_eq!(db.records(&thread, 1, None, 10).await.unwrap().len(), 0);
    assert_eq!(store(&*db, &thread, vec![text(&thread, "next")]).await, [Stored::Appended(Some(2))]);
}
