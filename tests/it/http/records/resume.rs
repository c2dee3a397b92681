//! I-33, the server's half: whatever a reader has seen, the state at its cursor and the events after it are the whole.

use std::collections::BTreeMap;

use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use rejoinder::id::ThreadId;
use rejoinder::record::Record;
use serde_json::{Value, json};

use super::{at, page, put};
use crate::store::fold::{fact, facts};
use crate::support::database::Database;
use crate::support::records::{ANNA, message, record};
use crate::support::server::{House, password_app};

/// What a reader holds: what it shows of each step, element and vote, and of the thread.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    steps: BTreeMap<String, Value>,
    elements: BTreeMap<String, Value>,
    votes: BTreeMap<String, Value>,
    thread: BTreeMap<String, Value>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl State {
    /// As a reader would fold, by the event alone.
    fn apply(&mut self, event: &Value) {
        let said = &event["payload"];
        let put = |steps: &mut BTreeMap<String, Value>, id: &Value, output: &Value| {
            steps.insert(text(id), json!({"name": said["name"], "output": output, "parent": said["parent_id"]}));
        };
        match event["type"].as_str().unwrap() {
            "message.completed" | "interaction.requested" => {
                put(&mut self.steps, &said["message_id"], &said["content"]);
            }
            "message.updated" if self.steps.contains_key(said["message_id"].as_str().unwrap()) => {
                put(&mut self.steps, &said["message_id"], &said["content"]);
            }
            "step.started" | "step.completed" => put(&mut self.steps, &said["step_id"], &said["output"]),
            "step.updated" if self.steps.contains_key(said["step_id"].as_str().unwrap()) => {
                put(&mut self.steps, &said["step_id"], &said["output"]);
            }
            "tool.completed" => {
                let output = if said["error"].is_null() { &said["output"] } else { &said["error"] };
                put(&mut self.steps, &said["tool_call_id"], output);
            }
            // What a run shows is its name and its place.
            "execution.started" => put(&mut self.steps, &event["entity_id"], &Value::Null),
            "execution.stopped" => {
                if let Some(step) = self.steps.get_mut(event["entity_id"].as_str().unwrap()) {
                    step["output"] = Value::Null;
                }
            }
            "message.deleted" => {
                let mut gone = vec![text(&said["message_id"])];
                while let Some(id) = gone.pop() {
                    self.steps.remove(&id);
                    self.elements.retain(|_, element| element["for"] != json!(id));
                    self.votes.retain(|_, vote| vote["for"] != json!(id));
                    gone.extend(
                        self.steps.iter().filter(|(_, step)| step["parent"] == json!(id)).map(|(id, _)| id.clone()),
                    );
                }
            }
            "element.added" => {
                let shown = json!({"for": said["for_id"], "name": said["name"], "display": said["display"]});
                self.elements.insert(text(&said["element_id"]), shown);
            }
            "element.removed" => drop(self.elements.remove(said["element_id"].as_str().unwrap())),
            "feedback.set" => {
                let id = text(&said["feedback_id"]);
                self.votes.retain(|other, vote| vote["for"] != said["message_id"] || *other == id);
                self.votes.insert(id, json!({"for": said["message_id"], "value": said["value"]}));
            }
            "feedback.removed" => drop(self.votes.remove(said["feedback_id"].as_str().unwrap())),
            "thread.updated" => {
                if said["name"].is_string() {
                    self.thread.insert("name".into(), said["name"].clone());
                }
                for (key, value) in said["metadata"].as_object().into_iter().flatten() {
                    match value {
                        Value::Null => drop(self.thread.remove(key)),
                        value => drop(self.thread.insert(key.clone(), value.clone())),
                    }
                }
            }
            "settings.updated" => drop(self.thread.insert("settings".into(), said["values"].clone())),
            _ => {}
        }
    }
}

/// 60 random records on each database: from every place, through the cursor that the server gave there.
#[tokio::test]
async fn i33_from_every_cursor_the_events_after_it_complete_the_state() {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
        let mut seeds = Vec::new();
        while seeds.len() < 200 {
            seeds.extend(proptest::prelude::Strategy::new_tree(&facts(), &mut runner).unwrap().current());
        }
        seeds.truncate(200);
        let records = |thread: &ThreadId| -> Vec<Record> {
            let random = (1..).zip(&seeds).map(|(n, seed)| record(format!("r{n}-{thread}"), fact(thread, *seed, n)));
            // Whatever the others leave, something is left.
            let last = ["last", "very last"].map(|id| record(id, message(thread, &format!("{id} {thread}"), id)));
            random.chain(last).collect()
        };
        let thread = put(&database, Some(ANNA), records).await;
        let server = House::new().with_page().serve_with(password_app(), at(&database)).await;
        let anna = server.person(ANNA).await;

        let mut all = Vec::new();
        let mut states = vec![(None, State::default())];
        loop {
            // One record a page, so that a cursor is had for each: the position that a page ends at.
            let query =
                all.len().checked_sub(1).map_or("limit=1".to_owned(), |_| format!("limit=1&after={}", all.len()));
            let page = page(&anna, &thread, &query).await;
            let Some(record) = page["records"].get(0) else { break };
            all.push(record["event"].clone());
            let mut state = states.last().unwrap().1.clone();
            state.apply(&record["event"]);
            states.push((page["page"]["next_after"].as_str().map(str::to_owned), state));
        }
        let whole = states.last().unwrap().1.clone();
        assert!(whole.steps.len() > 1 && all.len() > 150, "something is left: {whole:?}");
        for (cursor, state) in &states {
            let mut state = state.clone();
            let query = cursor.as_ref().map_or("limit=200".to_owned(), |cursor| format!("limit=200&after={cursor}"));
            let mut page = page(&anna, &thread, &query).await;
            loop {
                page["records"].as_array().unwrap().iter().for_each(|record| state.apply(&record["event"]));
                if page["page"]["has_more"] == json!(false) {
                    break;
                }
                let next = page["page"]["next_after"].as_str().unwrap().to_owned();
                page = super::page(&anna, &thread, &format!("limit=200&after={next}")).await;
            }
            assert_eq!(state, whole, "from {cursor:?}");
        }
        // And the whole is what the tables hold, which pages are shown.
        let shown = anna.get(&format!("/project/thread/{thread}")).await.json();
        let steps: BTreeMap<String, Value> = shown["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| {
                let output = if step["type"] == "run" { Value::Null } else { step["output"].clone() };
                (text(&step["id"]), json!({"name": step["name"], "output": output}))
            })
            .collect();
        let folded: BTreeMap<String, Value> = whole
            .steps
            .iter()
            .map(|(id, step)| (id.clone(), json!({"name": step["name"], "output": step["output"]})))
            .collect();
        assert_eq!(folded, steps);
        let elements: Vec<String> = shown["elements"].as_array().unwrap().iter().map(|it| text(&it["id"])).collect();
        let mut elements = elements;
        elements.sort();
        assert_eq!(elements, whole.elements.keys().cloned().collect::<Vec<_>>());
    }
}
