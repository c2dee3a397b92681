//! Records in numbers: batches of every size, and the pages that a follower reads them in.

use rejoinder::id::ThreadId;
use rejoinder::record::Record;
use rejoinder::store::{FOLLOW_ROWS, PAGE_BYTES, Stored, verify};

use crate::support::database::{Database, on_both};
use crate::support::records::{message, record, started, store};

on_both! {
    i6_a_batch_of_any_size_is_stored_in_its_order,
    i6_a_batch_may_write_a_step_again,
    i36_a_followers_pages_are_bounded_and_leave_nothing_out,
}

fn text(thread: &ThreadId, id: &str, text: &str) -> Record {
    record(id, message(thread, &format!("{id}-{thread}"), text))
}

/// Red when: rows beyond one statement's are left out, or the rows that fill up a statement are not.
async fn i6_a_batch_of_any_size_is_stored_in_its_order(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let mut stored = 1;
    for size in [1, 2, 3, 5, 127, 128, 129, 300] {
        let batch = (0..size).map(|n| text(&thread, &format!("{size}-{n}"), "Gr\u{fc}\u{df}e")).collect();
        let expected: Vec<Stored> = (1..=size).map(|n| Stored::Appended(Some(stored + n))).collect();
        assert_eq!(store(&*db, &thread, batch).await, expected);
        let read = db.records(&thread, stored, None, 1_000).await.unwrap();
        let ids: Vec<&str> = read.iter().map(|record| record.id.as_str()).collect();
        assert_eq!(ids, (0..size).map(|n| format!("{size}-{n}")).collect::<Vec<_>>());
        stored += size;
    }
    assert_eq!(verify(&*db, &thread).await.unwrap(), []);
}

/// Red when: a step that is there is inserted as a new one, or one that was deleted in the same batch is not.
async fn i6_a_batch_may_write_a_step_again(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let said = |record_id: &str, words: &str| record(record_id, message(&thread, &format!("m-{thread}"), words));
    let gone = record("gone", rejoinder::record::Fact::StepDeleted(format!("m-{thread}").as_str().into()));
    for batch in [
        vec![said("a", "one"), said("b", "two")],
        vec![text(&thread, "other", "x"), said("c", "three")],
        vec![gone, said("d", "four")],
    ] {
        let stored = store(&*db, &thread, batch).await;
        assert!(stored.iter().all(|stored| matches!(stored, Stored::Appended(_))), "{stored:?}");
        assert_eq!(verify(&*db, &thread).await.unwrap(), []);
    }
    let read = db.thread(&thread).await.unwrap().unwrap().thread;
    let outputs: Vec<&str> = read.steps.iter().map(|step| step.output.as_str()).collect();
    assert_eq!(outputs, ["x", "four"]);
}

/// Red when: a page's texts are cut where characters are counted instead of bytes, or its bytes are not.
async fn i36_a_followers_pages_are_bounded_and_leave_nothing_out(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let long = "\u{1f980} \"long\" ".repeat(40_000);
    let small = u64::try_from(FOLLOW_ROWS).unwrap() + 50;
    let texts = |words: &str, name: &str, count| -> Vec<Record> {
        (0..count).map(|n| text(&thread, &format!("{name}{n}"), words)).collect()
    };
    store(&*db, &thread, texts("\u{e9}", "small", small)).await;
    store(&*db, &thread, texts(&long, "big", 6)).await;

    let (mut read, mut pages) = (0, Vec::new());
    loop {
        let page = db.follow(&thread, read, None).await.unwrap();
        let Some(last) = page.records.last() else { break };
        let bytes: usize = page.records.iter().map(|record| record.attributes.len()).sum();
        let largest = page.records.iter().map(|record| record.attributes.len()).max().unwrap();
        assert!(page.records.len() <= FOLLOW_ROWS && bytes <= PAGE_BYTES + largest, "{bytes}");
        read = last.sequence.unwrap();
        pages.push(page.records);
    }
    assert!(pages.len() > 3, "the big ones are no single page: {}", pages.len());
    let followed: Vec<_> = pages.into_iter().flatten().map(|record| (record.sequence, record.attributes())).collect();
    let all = db.records(&thread, 0, None, 1_000).await.unwrap();
    let expected: Vec<_> = all.iter().map(|record| (record.sequence, record.attributes())).collect();
    assert_eq!(followed, expected);
    assert!(followed.iter().all(|(_, attributes)| attributes.is_object()));
    let rest = db.follow(&thread, 5, Some(7)).await.unwrap();
    assert_eq!(rest.records.iter().map(|record| record.sequence).collect::<Vec<_>>(), [Some(6), Some(7)]);
}
