//! I-28 on databases that are away.

use std::time::{Duration, Instant};

use rejoinder::journal::{JournalError, JournalSettings};
use rejoinder::server::Tuning;
use rejoinder::store::Stored;

use super::world::{Place, in_each_outage};
use crate::stream::world::{note, say, thread_of};
use crate::support::records::{ANNA, append};
use crate::support::server::password_app;

in_each_outage!(i28_what_is_too_much_is_refused_and_nothing_else_is_lost);

/// Records that may wait.
const ROOM: u64 = 10;

/// Red when: something accepted makes room, the overflow is not marked, or a refused record leaves a hole.
async fn i28_what_is_too_much_is_refused_and_nothing_else_is_lost(mut place: Place) {
    let push_back = Duration::from_secs(1);
    let journal = JournalSettings { thread_records: ROOM as usize, push_back, ..JournalSettings::default() };
    let server = place.serve(password_app(), Tuning { journal, ..Tuning::default() }).await;
    let thread = thread_of(&server, 1).await;
    let person = server.person(ANNA).await;
    place.goes().await;
    let mut receipts = Vec::new();
    for number in 2..=ROOM + 1 {
        receipts.push(server.journal.submit(append(&thread, vec![note(&thread, number)])).await);
    }
    for number in 100..103 {
        let began = Instant::now();
        let refused = server.journal.submit(append(&thread, vec![note(&thread, number)])).await;
        assert!(began.elapsed() >= push_back, "{number} waits for a place first");
        assert_eq!(refused.await, Err(JournalError::Full));
    }
    assert_eq!((server.journal.pending_of(&thread), server.journal.refused()), (ROOM as usize, 3));
    place.comes_back().await;
    for (number, receipt) in (2..).zip(receipts) {
        let stored = receipt.await.expect("it was accepted").unwrap();
        assert!(
            matches!(stored[..], [Stored::Appended(Some(n)) | Stored::Duplicate(Some(n))] if n == number),
            "{stored:?}"
        );
    }
    // No hole where the refused ones would have been.
    assert_eq!(say(&server, &thread, vec![note(&thread, 12)]).await, [Stored::Appended(Some(ROOM + 2))]);
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let read = person.get(&format!("/sessions/{thread}")).await.json()["read"].clone();
        if read["history_complete"] == false {
            assert_eq!(read["incomplete_reasons"], serde_json::json!(["pending_overflow"]));
            return;
        }
        assert!(Instant::now() < deadline, "the overflow is never marked: {read}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
