//! A future that is dropped leaves a clean connection behind, wherever it stood.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use rejoinder::id::ThreadId;
use rejoinder::protocol::StepKind;
use rejoinder::record::{Fact, Record};
use rejoinder::store::{OpenOptions, Stored};

use crate::support::database::{Database, on_both};
use crate::support::records::{append, record, started, step, store};

on_both! {
    an_append_can_be_dropped_at_every_await,
    a_piecewise_append_can_be_dropped_at_every_await,
}

/// Wakes whoever polls.
struct Woken(tokio::sync::Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// Polls a future so many times, then drops it. Gives its output if it was done before.
async fn polled<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let woken = Arc::new(Woken(tokio::sync::Notify::new()));
    let waker = Waker::from(woken.clone());
    let mut future = pin!(future);
    for _ in 0..times {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        woken.0.notified().await;
    }
    None
}

fn message(thread: &ThreadId, n: usize) -> Record {
    let mut step = step(thread, &format!("s{n}-{thread}"), StepKind::AssistantMessage, n as i64);
    step.output = "x".into();
    record(format!("r{n}"), Fact::Message { step, interrupted: false })
}

/// Red when: a dropped transaction leaves its savepoint, its lock or its half of a batch behind.
async fn dropped_everywhere(database: &Database, poisoned: bool) {
    // One connection: what a dropped future left on it, the next one meets.
    let options = OpenOptions { connections: 1, instance: "here".into(), ..OpenOptions::default() };
    let db = database.open_with(options).await;
    if poisoned {
        super::order::refuse_poison(database).await;
    }
    let thread = started(&*db).await;
    let mut done = 0;
    let mut next = 0;
    for times in 1..400 {
        let mut records = vec![message(&thread, next), message(&thread, next + 1)];
        if poisoned {
            records.push(super::order::poison(&thread, &format!("bad{next}")));
        }
        next += 2;
        let batch = [append(&thread, records.clone())];
        let output = polled(db.append(&batch), times).await;
        // The connection works, and the batch is stored whole or not at all; the retry tells which.
        let before = db.cursor(&thread).await.unwrap().unwrap().latest;
        let again = store(&*db, &thread, records[..2].to_vec()).await;
        match &again[..] {
            [Stored::Appended(Some(one)), Stored::Appended(Some(two))] => {
                assert_eq!([*one, *two], [before + 1, before + 2])
            }
            [Stored::Duplicate(Some(one)), Stored::Duplicate(Some(two))] => {
                assert_eq!([*one, *two], [before - 1, before])
            }
            other => panic!("after {times} polls: {other:?}"),
        }
        if let Some(output) = output {
            assert!(output.is_ok(), "{output:?}");
            done += 1;
            if done == 3 {
                let read = db.records(&thread, 0, None, 10_000).await.unwrap();
                let sequences: Vec<u64> = read.iter().map(|record| record.sequence.unwrap()).collect();
                assert_eq!(sequences, (1..=next as u64 + 1).collect::<Vec<_>>());
                return;
            }
        }
    }
    panic!("the append never came to its end");
}

async fn an_append_can_be_dropped_at_every_await(database: &Database) {
    dropped_everywhere(database, false).await;
}

async fn a_piecewise_append_can_be_dropped_at_every_await(database: &Database) {
    dropped_everywhere(database, true).await;
}
