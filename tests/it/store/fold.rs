//! Promise 14: the tables hold the fold of the records.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{Display, Element, ElementKind, Feedback, ShowInput, Step, StepKind, Thread, User};
use rejoinder::record::{EndReason, Fact, LostReason, Outcome, Record, ThreadUpdate, fold};
use rejoinder::store::{Store, Stored};
use serde_json::{Map, Value, json};

use crate::support::database::{Database, on_both};
use crate::support::records::{ANNA, append, at, record, start_for, step};

on_both! {
    p14_the_tables_hold_the_fold_of_the_records,
    p14_a_stored_record_reads_back_as_it_was,
    p14_marks_are_chained_over_what_is_stored,
    a_deleted_step_takes_along_what_hangs_below,
    updates_bring_nothing_back,
    metadata_is_merged_key_by_key,
}

/// What happens to a small world of ids, so that things meet.
pub fn facts() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    prop::collection::vec((0..17_u8, 0..6_u8, 0..7_u8, any::<u8>()), 1..40)
}

pub fn fact(thread: &ThreadId, (kind, id, other, salt): (u8, u8, u8, u8), n: i64) -> Fact {
    let name = |n: u8| StepId::from(format!("s{n}-{thread}"));
    let mut it = step(thread, name(id).as_str(), StepKind::Tool, n);
    it.parent_id = (other != id && other < 6).then(|| name(other));
    it.output = format!("text {salt} ä \u{1f980} \"quoted\" \\ \n");
    it.is_error = salt % 5 == 0;
    it.streaming = false;
    it.metadata = Map::from_iter([("favorite".into(), json!(salt % 2 == 0)), ("n".into(), json!(f64::from(salt)))]);
    it.tags = (salt % 3 == 0).then(|| vec!["a".into(), "b \"c\"".into()]);
    it.language = (salt % 4 == 0).then(|| "python".into());
    it.start = Some(at(n));
    let mut said = Step { kind: StepKind::AssistantMessage, start: None, wait_for_answer: salt % 2 == 1, ..it.clone() };
    said.command = (salt % 3 == 1).then(|| "search".into());
    said.modes = (salt % 3 == 2).then(|| Map::from_iter([("m".into(), json!("x"))]));
    it.input = format!("in {salt}");
    it.show_input =
        [ShowInput::Switch(true), ShowInput::Switch(false), ShowInput::default()][usize::from(salt) % 3].clone();
    it.default_open = salt % 2 == 0;
    it.generation = (salt % 2 == 0).then(|| json!({ "model": "m", "n": [1, 2.5, null] }));
    let run = Step { kind: StepKind::Run, input: String::new(), ..it.clone() };
    let mut element = Element::new(format!("e{other}-{thread}").into(), ElementKind::Image, format!("picture {salt}"));
    element.for_id = Some(name(id));
    element.display = [Display::Inline, Display::Side][usize::from(salt) % 2];
    element.object_key = (salt % 2 == 0).then(|| "key".into());
    element.props = Some(Map::from_iter([("p".into(), json!([salt]))]));
    element.page = Some(i64::from(salt));
    element.auto_play = Some(salt % 2 == 0);
    element.player_config = (salt % 2 == 1).then(|| json!({ "loop": true }));
    let vote = Feedback {
        id: (salt % 2 == 0).then(|| format!("v{other}-{thread}").into()),
        for_id: name(id),
        thread_id: None,
        value: salt % 2,
        comment: (salt % 3 == 0).then(|| "why".into()),
    };
    match kind {
        0 => Fact::ThreadUpdated(ThreadUpdate {
            name: (salt % 2 == 0).then(|| format!("name {salt}")),
            tags: (salt % 3 == 0).then(|| vec![format!("tag {salt}")]),
            metadata: Map::from_iter([(
                format!("k{id}"),
                if salt % 4 == 0 { Value::Null } else { json!({ "v": salt }) },
            )]),
        }),
        1 | 2 => Fact::Message { step: said, interrupted: false },
        3 => Fact::MessageUpdated(said),
        4 | 5 => Fact::StepDeleted(name(id)),
        6 => Fact::StepStarted(it),
        7 => Fact::StepUpdated(it),
        8 => Fact::StepEnded(it),
        9 => Fact::RunStarted { step: run, trigger: Some(name(other)) },
        10 => Fact::RunEnded { step: run, reason: EndReason::Completed, command: None },
        11 => Fact::RunLost { run: name(id), lost_at: at(n), reason: LostReason::LeaseExpired },
        12 => Fact::AskEnded { ask: name(id), outcome: Outcome::TimedOut },
        13 => Fact::Element(element),
        14 => Fact::ElementRemoved(element.id),
        15 => Fact::FeedbackSet(vote),
        _ => Fact::SettingsUpdated(Map::from_iter([("temperature".into(), json!(salt))])),
    }
}

/// Elements have no time, and pages do not care for their order.
fn ordered(mut thread: Thread) -> Thread {
    thread.elements.sort_by(|a, b| a.id.cmp(&b.id));
    thread
}

async fn save_anna(db: &dyn Store) -> Option<rejoinder::id::UserId> {
    db.save_user(&User::new(ANNA)).await.unwrap().id
}

/// Red when: plan and fold treat any kind of record differently, or a column is forgotten on one database.
async fn p14_the_tables_hold_the_fold_of_the_records(database: &Database) {
    static CASE: AtomicU64 = AtomicU64::new(0);
    let db = database.open().await;
    let anna = save_anna(&*db).await;
    let mut runner = TestRunner::new(Config { cases: 80, failure_persistence: None, ..Config::default() });
    for _ in 0..80 {
        let seeds = facts().new_tree(&mut runner).unwrap().current();
        let thread = ThreadId::from(format!("t{}", CASE.fetch_add(1, Ordering::Relaxed)));
        let mut first = start_for(&thread, Some(ANNA));
        let Fact::ThreadStarted(start) = &mut first.fact else { unreachable!() };
        start.user_id.clone_from(&anna);
        start.metadata.insert("k0".into(), json!("first"));
        let mut records = vec![first];
        for (n, seed) in (1..).zip(&seeds) {
            records.push(record(format!("r{n}-{thread}"), fact(&thread, *seed, n)));
        }
        // Cut into batches at places that the seeds choose, so that plans meet rows as well as their own changes.
        let mut stored = Vec::new();
        let mut rest = records.as_slice();
        for seed in seeds.iter().chain(std::iter::repeat(&(0, 0, 0, 255))) {
            let (now, later) = rest.split_at(rest.len().min(usize::from(seed.3 % 9) + 1));
            stored.extend(db.append(&[append(&thread, now.to_vec())]).await.unwrap().remove(0).unwrap());
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let kept: Vec<&Record> = records
            .iter()
            .zip(&stored)
            .filter(|(_, stored)| matches!(stored, Stored::Appended(_)))
            .map(|(record, _)| record)
            .collect();
        let shown = db.thread(&thread).await.unwrap().unwrap();
        let folded = fold(&thread, kept.iter().copied()).into_thread();
        assert_same(&ordered(folded), &ordered(shown.thread), &seeds);
        let lost = BTreeSet::from(["execution_lost".to_owned()]);
        assert!(shown.incomplete.is_subset(&lost), "{:?} after {seeds:?}", shown.incomplete);
    }
}

/// Names the lines that differ; whole threads are too long to read.
fn assert_same(folded: &Thread, shown: &Thread, seeds: &[(u8, u8, u8, u8)]) {
    let text = |thread: &Thread| serde_json::to_string_pretty(thread).unwrap();
    let (folded, shown) = (text(folded), text(shown));
    let differing: Vec<_> = folded.lines().zip(shown.lines()).filter(|(a, b)| a != b).take(12).collect();
    assert!(folded == shown, "fold and tables differ after {seeds:?}: {differing:#?}");
}

/// Red when: an attribute is lost on the way, or a database changes a number.
async fn p14_a_stored_record_reads_back_as_it_was(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let mut records = vec![start_for(&thread, Some(ANNA))];
    for kind in 0..17 {
        records.push(record(format!("r{kind}"), fact(&thread, (kind, kind % 6, (kind + 1) % 6, 200 + kind), 1)));
    }
    let stored = db.append(&[append(&thread, records.clone())]).await.unwrap().remove(0).unwrap();
    let read = db.records(&thread, 0, None, 100).await.unwrap();
    let kept = records.iter().zip(&stored).filter(|(_, stored)| matches!(stored, Stored::Appended(_)));
    for ((record, _), read) in kept.zip(&read) {
        assert_eq!(read.id, record.id);
        assert_eq!(read.produced_at, record.produced_at);
        let content = record.content();
        assert_eq!(rejoinder::record::canonical(&read.attributes()), content.attributes, "{}", read.record_type);
        assert_eq!(read.fact().unwrap().attributes(), record.fact.attributes());
    }
    assert_eq!(read.len(), records.len());
}

/// What `verify` recomputes. (That a mark holds its past is tested beside it.)
async fn p14_marks_are_chained_over_what_is_stored(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let mut records = vec![start_for(&thread, Some(ANNA))];
    records.extend((0..5).map(|n| record(format!("r{n}"), fact(&thread, (1, n, 6, n), n.into()))));
    db.append(&[append(&thread, records)]).await.unwrap();
    let mut mark = rejoinder::store::Mark::default();
    for read in db.records(&thread, 0, None, 100).await.unwrap() {
        let execution = read.execution.as_ref().map(|id| id.as_str());
        let hash = rejoinder::record::content_hash(
            &read.record_type,
            &read.source,
            execution,
            read.entity.as_deref(),
            &rejoinder::record::canonical(&read.attributes()),
        );
        mark = mark.next(read.id.as_str(), &hash);
        assert_eq!(read.mark, Some(mark.hex()));
    }
    assert_eq!(db.cursor(&thread).await.unwrap().unwrap().mark, mark.hex());
}

async fn a_deleted_step_takes_along_what_hangs_below(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let message = |id: &str, parent: Option<&str>| {
        let mut step = step(&thread, id, StepKind::AssistantMessage, 1);
        step.parent_id = parent.map(StepId::from);
        record(format!("m-{id}"), Fact::Message { step, interrupted: false })
    };
    let mut picture = Element::new("e".into(), ElementKind::Image, "picture");
    picture.for_id = Some("c".into());
    let vote = Feedback { id: Some("v".into()), for_id: "b".into(), thread_id: None, value: 1, comment: None };
    let records = vec![
        start_for(&thread, Some(ANNA)),
        message("a", None),
        message("b", Some("a")),
        message("c", Some("b")),
        message("d", None),
        record("e", Fact::Element(picture)),
        record("v", Fact::FeedbackSet(vote)),
    ];
    db.append(&[append(&thread, records)]).await.unwrap();
    db.append(&[append(&thread, vec![record("del", Fact::StepDeleted("a".into()))])]).await.unwrap();
    let shown = db.thread(&thread).await.unwrap().unwrap();
    assert_eq!(shown.thread.steps.iter().map(|step| step.id.as_str()).collect::<Vec<_>>(), ["d"]);
    assert_eq!(shown.thread.elements, []);
    assert!(shown.incomplete.is_empty());
    assert_eq!(database.count("feedbacks").await, 0);
}

/// A run that an edit replaced ends after it was deleted.
async fn updates_bring_nothing_back(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let run = step(&thread, "run", StepKind::Run, 1);
    let said = step(&thread, "said", StepKind::AssistantMessage, 2);
    let records = vec![
        start_for(&thread, Some(ANNA)),
        record("1", Fact::RunStarted { step: run.clone(), trigger: None }),
        record("2", Fact::Message { step: said.clone(), interrupted: false }),
        record("3", Fact::StepDeleted("run".into())),
        record("4", Fact::StepDeleted("said".into())),
        record("5", Fact::RunEnded { step: run, reason: EndReason::Superseded, command: None }),
        record("6", Fact::MessageUpdated(said)),
    ];
    db.append(&[append(&thread, records)]).await.unwrap();
    assert_eq!(db.thread(&thread).await.unwrap().unwrap().thread.steps, []);
    assert_eq!(database.count("rejoinder_executions where state = 'stopped'").await, 1);
}

async fn metadata_is_merged_key_by_key(database: &Database) {
    let db = database.open().await;
    let thread = ThreadId::random();
    let update = |id: &str, metadata: Value| {
        let Value::Object(metadata) = metadata else { unreachable!() };
        record(id, Fact::ThreadUpdated(ThreadUpdate { metadata, ..ThreadUpdate::default() }))
    };
    db.append(&[append(
        &thread,
        vec![start_for(&thread, Some(ANNA)), update("1", json!({ "a": 1, "b": { "x": 1 } }))],
    )])
    .await
    .unwrap();
    db.append(&[append(
        &thread,
        vec![update("2", json!({ "b": { "y": 2 }, "c": [3] })), update("3", json!({ "a": null }))],
    )])
    .await
    .unwrap();
    let shown = db.thread(&thread).await.unwrap().unwrap().thread;
    assert_eq!(Value::Object(shown.metadata), json!({ "b": { "y": 2 }, "c": [3] }));
    assert_eq!(shown.name.as_deref(), Some("hello"), "what is absent stays");
}
