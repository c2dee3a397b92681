//! Runs and their ends: records.md, I-19 to I-24, and promise 17.

use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::StepKind;
use rejoinder::record::{EndReason, Fact, LostReason, Record, Source};
use rejoinder::store::{OpenOptions, Partial, Settled, Store, Stored};

use crate::support::database::{Database, on_both};
use crate::support::records::{append, at, message, output, record, run_ended, run_started, started, step, store};

on_both! {
    i19_a_run_has_one_end,
    i20_nothing_of_a_run_follows_its_end,
    i20_what_a_finished_run_left_running_belongs_to_the_thread,
    i21_quarantine_is_one_way_and_invisible,
    i22_a_record_from_before_the_end_keeps_its_number,
    i23_after_any_end_a_new_message_is_accepted,
    p17_a_half_written_text_becomes_an_interrupted_message,
    p17_runs_of_this_process_are_left_alone,
    a_partial_is_shown_while_it_streams_and_goes_with_its_final_record,
}

fn run_lost(thread: &ThreadId, run: &StepId) -> Record {
    let fact = Fact::RunLost { run: run.clone(), lost_at: at(99), reason: LostReason::LeaseExpired };
    Record { execution: Some(run.clone()), source: Source::Watchdog, ..record(format!("lost-{run}-{thread}"), fact) }
}

/// A stop that did not unwind in time: the server ends the run over its head.
fn run_stopped(thread: &ThreadId, run: &StepId) -> Record {
    let ended = run_ended(thread, run, EndReason::UserStop);
    Record { id: format!("stop-{run}").as_str().into(), source: Source::User, ..ended }
}

pub(super) async fn begun(db: &dyn Store) -> (ThreadId, StepId) {
    let thread = started(db).await;
    let run = StepId::random();
    assert_eq!(store(db, &thread, vec![run_started(&thread, &run)]).await, [Stored::Appended(Some(2))]);
    (thread, run)
}

/// Red when: the settling update does not ask whether it is settled, or does so outside of the transaction.
async fn i19_a_run_has_one_end(database: &Database) {
    let db = database.open().await;
    for _ in 0..30 {
        let (thread, run) = begun(&*db).await;
        let ends =
            [run_ended(&thread, &run, EndReason::Completed), run_stopped(&thread, &run), run_lost(&thread, &run)];
        let mut settlers = tokio::task::JoinSet::new();
        for end in ends {
            let (db, thread) = (db.clone(), thread.clone());
            settlers.spawn(async move { store(&*db, &thread, vec![end]).await.remove(0) });
        }
        let outcomes = settlers.join_all().await;
        let winners = outcomes.iter().filter(|stored| **stored == Stored::Appended(Some(3))).count();
        let losers = outcomes.iter().filter(|stored| **stored == Stored::AlreadySettled).count();
        assert_eq!((winners, losers), (1, 2), "{outcomes:?}");
        assert_eq!(db.cursor(&thread).await.unwrap().unwrap().latest, 3);
    }
}

/// Red when: the state of the run is read before the cursor is locked.
async fn i20_nothing_of_a_run_follows_its_end(database: &Database) {
    let db = database.open().await;
    for round in 0..30 {
        let (thread, run) = begun(&*db).await;
        let late = output(&run, "late", message(&thread, &format!("late-{thread}"), "x"));
        let end = if round % 2 == 0 { run_stopped(&thread, &run) } else { run_lost(&thread, &run) };
        let write = |record: Record| {
            let (db, thread) = (db.clone(), thread.clone());
            tokio::spawn(async move { store(&*db, &thread, vec![record]).await.remove(0) })
        };
        let (late, end) = (write(late), write(end));
        let (late, end) = (late.await.unwrap(), end.await.unwrap());
        let read = db.records(&thread, 2, None, 10).await.unwrap();
        let last = read.last().unwrap();
        assert!(matches!(last.record_type.as_str(), "task_end" | "task_lost"), "the end is the last: {read:?}");
        match late {
            Stored::Appended(Some(3)) => assert_eq!(end, Stored::Appended(Some(4))),
            Stored::Quarantined => assert_eq!(end, Stored::Appended(Some(3))),
            other => panic!("{other:?}"),
        }
    }
}

/// Red when: late output is judged by the run's end and not by who ended it.
async fn i20_what_a_finished_run_left_running_belongs_to_the_thread(database: &Database) {
    let db = database.open().await;
    let (thread, run) = begun(&*db).await;
    store(&*db, &thread, vec![run_ended(&thread, &run, EndReason::Completed)]).await;
    let late = output(&run, "late", message(&thread, "late", "by a background task"));
    assert_eq!(store(&*db, &thread, vec![late.clone()]).await, [Stored::Appended(Some(4))]);
    let read = db.records(&thread, 3, None, 10).await.unwrap();
    assert_eq!(read[0].execution, None);
    let origin = "select origin_execution_id from rejoinder_records where record_id = 'late'";
    assert_eq!(database.text(origin).await.as_deref(), Some(run.as_str()));
    assert_eq!(store(&*db, &thread, vec![late]).await, [Stored::Duplicate(Some(4))], "hashed as it was made");
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    assert!(shown.steps.iter().any(|step| step.output == "by a background task"));
}

/// Red when: a quarantined record is numbered, folded, or changes its mark when it comes again.
async fn i21_quarantine_is_one_way_and_invisible(database: &Database) {
    let db = database.open().await;
    let (thread, run) = begun(&*db).await;
    store(&*db, &thread, vec![run_lost(&thread, &run)]).await;
    let before = db.thread(&thread).await.unwrap();
    let late = output(&run, "late", message(&thread, "late", "nobody must see this"));
    for _ in 0..2 {
        assert_eq!(store(&*db, &thread, vec![late.clone()]).await, [Stored::Quarantined]);
        assert_eq!(db.thread(&thread).await.unwrap(), before);
        assert_eq!(db.records(&thread, 3, None, 10).await.unwrap(), []);
    }
    assert_eq!(database.count("rejoinder_records where quarantined_at is not null and sequence is null").await, 1);
    // The schema itself refuses a numbered one.
    let numbered = "update rejoinder_records set sequence = 77 where record_id = 'late'";
    assert!(database.try_run(numbered).await.is_err());
}

/// Red when: whether a run has ended is asked before whether the record is known.
async fn i22_a_record_from_before_the_end_keeps_its_number(database: &Database) {
    let db = database.open().await;
    let (thread, run) = begun(&*db).await;
    let early = output(&run, "early", message(&thread, "early", "x"));
    assert_eq!(store(&*db, &thread, vec![early.clone()]).await, [Stored::Appended(Some(3))]);
    store(&*db, &thread, vec![run_lost(&thread, &run)]).await;
    assert_eq!(store(&*db, &thread, vec![early]).await, [Stored::Duplicate(Some(3))]);
}

async fn i23_after_any_end_a_new_message_is_accepted(database: &Database) {
    let db = database.open().await;
    for kind in 0..4 {
        let (thread, run) = begun(&*db).await;
        let ended = run_ended(&thread, &run, EndReason::Completed);
        let Fact::RunEnded { step: run_step, .. } = ended.fact.clone() else { unreachable!() };
        let end = match kind {
            0 => ended,
            1 => Record { fact: Fact::RunFailed { step: run_step, message: "sorry".into() }, ..ended },
            2 => run_stopped(&thread, &run),
            _ => run_lost(&thread, &run),
        };
        assert_eq!(store(&*db, &thread, vec![end]).await, [Stored::Appended(Some(3))]);
        let next = StepId::random();
        let records = vec![
            record("more", message(&thread, next.as_str(), "still there?")),
            run_started(&thread, &StepId::random()),
        ];
        assert_eq!(store(&*db, &thread, records).await, [Stored::Appended(Some(4)), Stored::Appended(Some(5))]);
        let state = database
            .text(&format!("select state from rejoinder_executions where execution_id = '{run}'"))
            .await
            .unwrap();
        assert_eq!(state, ["stopped", "failed", "stopped", "lost"][kind]);
    }
}

/// The runs that were settled.
pub(super) fn runs(settled: &[Settled]) -> Vec<StepId> {
    settled.iter().flat_map(|settled| settled.runs.clone()).collect()
}

pub(super) fn partial(thread: &ThreadId, run: &StepId, id: &str, text: &str) -> Partial {
    let mut step = step(thread, id, StepKind::AssistantMessage, 5);
    (step.output, step.streaming, step.parent_id) = (text.into(), true, Some(run.clone()));
    Partial { thread: thread.clone(), execution: Some(run.clone()), step }
}

/// Red when: partial rows are dropped at start, or folded after the run's end (and so quarantined).
async fn p17_a_half_written_text_becomes_an_interrupted_message(database: &Database) {
    let db = database.open_with(OpenOptions { instance: "dead".into(), ..OpenOptions::default() }).await;
    let (thread, run) = begun(&*db).await;
    let mut tool = step(&thread, "tool", StepKind::Tool, 4);
    (tool.start, tool.parent_id) = (Some(at(4)), Some(run.clone()));
    store(&*db, &thread, vec![output(&run, "tool", Fact::StepStarted(tool))]).await;
    db.save_partials(&[partial(&thread, &run, "half", "I was say"), partial(&thread, &run, "half", "I was saying")])
        .await
        .unwrap();
    db.close().await;

    let db = database.open().await;
    assert_eq!(runs(&db.settle_left(Some("dead"), at(99)).await.unwrap()), std::slice::from_ref(&run));
    let read = db.records(&thread, 3, None, 10).await.unwrap();
    let types: Vec<&str> = read.iter().map(|record| record.record_type.as_str()).collect();
    assert_eq!(types, ["message", "tool_result", "task_lost"]);
    assert_eq!(read[0].attributes()["finish_reason"], "interrupted");
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    let half = shown.steps.iter().find(|step| step.id.as_str() == "half").unwrap();
    assert_eq!((half.output.as_str(), half.streaming), ("I was saying", false));
    assert!(shown.steps.iter().all(|step| step.start.is_none() || step.end.is_some()), "nothing is shown as running");
    assert_eq!(database.count("rejoinder_partials").await, 0);
    assert_eq!(store(&*db, &thread, vec![record("next", message(&thread, "next", "x"))]).await.len(), 1);
}

async fn p17_runs_of_this_process_are_left_alone(database: &Database) {
    let db = database.open().await;
    let (thread, run) = begun(&*db).await;
    db.save_partials(&[partial(&thread, &run, "half", "still going")]).await.unwrap();
    assert_eq!(db.settle_left(Some("dead"), at(99)).await.unwrap(), []);
    assert_eq!(database.count("rejoinder_partials").await, 1);
    assert_eq!(
        store(&*db, &thread, vec![run_ended(&thread, &run, EndReason::Completed)]).await,
        [Stored::Appended(Some(3))]
    );
}

async fn a_partial_is_shown_while_it_streams_and_goes_with_its_final_record(database: &Database) {
    let db = database.open().await;
    let (thread, run) = begun(&*db).await;
    db.save_partials(&[partial(&thread, &run, "m", "so far")]).await.unwrap();
    let shown = db.thread(&thread).await.unwrap().unwrap();
    let step = shown.thread.steps.iter().find(|step| step.id.as_str() == "m").unwrap();
    assert_eq!((step.output.as_str(), step.streaming), ("so far", true));
    assert!(shown.incomplete.is_empty(), "a streaming step is not a foreign row: {:?}", shown.incomplete);

    store(&*db, &thread, vec![output(&run, "m", message(&thread, "m", "so far, so good"))]).await;
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    let step = shown.steps.iter().find(|step| step.id.as_str() == "m").unwrap();
    assert_eq!((step.output.as_str(), step.streaming), ("so far, so good", false));
    assert_eq!(database.count("rejoinder_partials").await, 0);

    // Too late, or nobody's: not written.
    store(&*db, &thread, vec![run_stopped(&thread, &run)]).await;
    let unknown = ThreadId::random();
    db.save_partials(&[partial(&thread, &run, "late", "x"), partial(&unknown, &run, "m2", "x")]).await.unwrap();
    assert_eq!(database.count("rejoinder_partials").await, 0);
    assert_eq!(db.append(&[append(&unknown, vec![])]).await.unwrap(), [Err(rejoinder::store::Refused::NoThread)]);
}
