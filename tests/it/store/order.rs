//! Order: records.md, I-1 to I-7.

use rejoinder::store::Stored;

use crate::support::database::{Database, on_both};
use crate::support::records::{message, record, started, store};

on_both! {
    i6_a_batch_keeps_its_order,
}

async fn i6_a_batch_keeps_its_order(database: &Database) {
    let db = database.open().await;
    let thread = started(&*db).await;
    let records = (0..5).map(|i| record(format!("r{i}"), message(&thread, &format!("m{i}-{thread}"), "x"))).collect();
    let stored = store(&*db, &thread, records).await;
    assert_eq!(stored, (2..=6).map(|n| Stored::Appended(Some(n))).collect::<Vec<_>>());
    let read = db.records(&thread, 0, None, 100).await.unwrap();
    assert_eq!(read.iter().map(|record| record.sequence.unwrap()).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    let whole = db.thread(&thread).await.unwrap().unwrap();
    assert_eq!(whole.thread.steps.len(), 5);
    assert!(whole.incomplete.is_empty());
}
