//! I-34: the event on a page is the projection, byte for byte, for every type of record.

use std::collections::BTreeSet;

use rejoinder::id::ThreadId;
use rejoinder::protocol::{Element, ElementKind, Feedback, StepKind, Timestamp};
use rejoinder::record::{EndReason, Fact, LostReason, Outcome, Record, ThreadUpdate};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::on_both;
use crate::support::records::{ANNA, at, message, record, run_ended, run_started, step};

/// One record of each type after the thread's start.
pub(super) fn every(thread: &ThreadId) -> Vec<Record> {
    let tool = step(thread, "tool", StepKind::Tool, 1);
    let llm = step(thread, "llm", StepKind::Llm, 2);
    let ask = step(thread, "ask", StepKind::AssistantMessage, 3);
    let mut failed = step(thread, "failed", StepKind::Run, 4);
    failed.end = Some(at(5));
    let mut element = Element::new("e".into(), ElementKind::Image, "a picture");
    (element.for_id, element.object_key) = (Some("m".into()), Some("key".into()));
    let vote =
        Feedback { id: None, for_id: "m".into(), thread_id: None, value: 1, comment: Some("good \u{1f44d}".into()) };
    let tags = ThreadUpdate { name: Some("\"named\"".into()), tags: Some(vec!["t".into()]), ..ThreadUpdate::default() };
    let mut number = 0;
    let mut of = |fact: Fact| {
        number += 1;
        record(format!("r{number}"), fact)
    };
    let mut records = vec![
        of(Fact::ThreadUpdated(tags)),
        of(message(thread, "m", "Grüße \u{1f980} \\ \"x\" \u{2028}")),
        of(Fact::MessageUpdated(step(thread, "m", StepKind::AssistantMessage, 9))),
        of(message(thread, "gone", "x")),
        of(Fact::StepDeleted("gone".into())),
        of(Fact::StepStarted(tool.clone())),
        of(Fact::StepStarted(llm.clone())),
        of(Fact::StepUpdated(llm.clone())),
        of(Fact::StepEnded(tool)),
        of(Fact::StepEnded(llm)),
        of(Fact::Asked { step: ask, spec: json!({"type": "text", "z": 1, "a": 1.5}), timeout_at: at(60) }),
        of(Fact::AskEnded { ask: "ask".into(), outcome: Outcome::Answered(json!({"output": "yes", "b": [null]})) }),
        of(Fact::Element(element)),
        of(Fact::ElementRemoved("e".into())),
        of(Fact::FeedbackSet(vote)),
        of(Fact::FeedbackRemoved("r15".into())),
        of(Fact::SettingsUpdated(json!({"temperature": 0.5}).as_object().unwrap().clone())),
    ];
    for run in ["run", "failed", "lost"] {
        records.push(run_started(thread, &run.into()));
    }
    records.push(run_ended(thread, &"run".into(), EndReason::Completed));
    records.push(of(Fact::RunFailed { step: failed, message: "sorry".into() }));
    let mut lost = of(Fact::RunLost {
        run: "lost".into(),
        lost_at: Timestamp::from_micros(1_796_000_000_000_000),
        reason: LostReason::ProcessRestarted,
    });
    lost.source = rejoinder::record::Source::Watchdog;
    records.push(lost);
    records
}

#[derive(Deserialize)]
struct Page {
    records: Vec<Shown>,
    read: Read,
}

#[derive(Deserialize)]
struct Shown {
    record_type: String,
    event: Box<RawValue>,
}

#[derive(Deserialize)]
struct Read {
    latest_sequence: u64,
}

#[derive(Deserialize)]
struct Said {
    payload: Box<RawValue>,
}

/// Red when: a page writes its events through a `Value`, which sorts their keys; or a payload that is written without one
/// has its keys in another order than those that are not.
#[tokio::test]
async fn i34_a_pages_event_is_the_projection_byte_for_byte() {
    on_both(every, async |server, thread, database| {
        let anna = server.person(ANNA).await;
        let text = anna.get(&format!("/sessions/{thread}/records?limit=200")).await.text;
        server.stop().await;
        let page: Page = serde_json::from_str(&text).unwrap();
        let store = database.open().await;
        let stored = store.records(&thread, 0, None, 200).await.unwrap();
        assert_eq!(stored.len(), page.records.len());
        for (stored, shown) in stored.iter().zip(&page.records) {
            let event = stored.event(&thread, page.read.latest_sequence).unwrap();
            assert_eq!(shown.event.get(), serde_json::to_string(&event).unwrap(), "{}", shown.record_type);
            let said: Said = serde_json::from_str(shown.event.get()).unwrap();
            assert_eq!(said.payload.get(), event.payload().to_string(), "{}", shown.record_type);
        }
        let types: BTreeSet<&str> = page.records.iter().map(|shown| shown.record_type.as_str()).collect();
        assert_eq!(types.len(), 21, "every type there is: {types:?}");
    })
    .await;
}

/// An erased record keeps its place and says so.
#[tokio::test]
async fn an_erased_record_is_shown_as_erased() {
    on_both(every, async |server, thread, database| {
        let now = match database.kind {
            crate::support::database::Kind::Sqlite => "1796000000000000",
            crate::support::database::Kind::Postgres => "to_timestamp(1796000000)",
        };
        let erase =
            format!("update rejoinder_records set attributes = '{{}}', erased_at = {now} where record_id = 'r2'");
        database.run(&erase).await;
        let anna = server.person(ANNA).await;
        let page = super::page(&anna, &thread, "after=2&limit=1").await;
        let record = &page["records"][0];
        assert_eq!(
            (&record["sequence"], &record["erased"], &record["attributes"]),
            (&json!(3), &json!(true), &json!({}))
        );
        assert_eq!((&record["event"]["type"], &record["event"]["entity_id"]), (&json!("record.erased"), &json!("m")));
    })
    .await;
}
