//! What events say, folded by a reader that knows nothing else.

use std::collections::BTreeMap;

use rejoinder::protocol::Thread;
use serde_json::Value;

/// What each message and step is, by id.
#[derive(Default)]
pub struct Folded(BTreeMap<String, Entity>);

#[derive(Clone, Debug, PartialEq)]
struct Entity {
    parent: Option<String>,
    text: String,
    is_message: bool,
}

impl Folded {
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut folded = Self::default();
        events.into_iter().for_each(|event| folded.apply(event));
        folded
    }

    fn apply(&mut self, event: &Value) {
        let payload = &event["payload"];
        let text = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
        let parent = payload["parent_id"].as_str().map(str::to_owned);
        match event["type"].as_str().unwrap() {
            "message.completed" | "interaction.requested" => {
                self.0.insert(text("message_id"), Entity { parent, text: text("content"), is_message: true });
            }
            // Of what is gone, a change is nothing.
            "message.updated" => {
                if let Some(known) = self.0.get_mut(&text("message_id")) {
                    *known = Entity { parent, text: text("content"), is_message: true };
                }
            }
            "tool.completed" => {
                let said = if payload["error"].is_null() { text("output") } else { text("error") };
                self.0.insert(text("tool_call_id"), Entity { parent, text: said, is_message: false });
            }
            "step.started" | "step.completed" => {
                self.0.insert(text("step_id"), Entity { parent, text: text("output"), is_message: false });
            }
            "step.updated" => {
                if let Some(known) = self.0.get_mut(&text("step_id")) {
                    known.text = text("output");
                }
            }
            "execution.started" => {
                let run = event["execution_id"].as_str().unwrap().to_owned();
                self.0.insert(run, Entity { parent, text: String::new(), is_message: false });
            }
            "message.deleted" => self.delete(&text("message_id")),
            _ => {}
        }
    }

    /// With everything below it.
    fn delete(&mut self, id: &str) {
        self.0.remove(id);
        let below: Vec<String> = self
            .0
            .iter()
            .filter(|(_, entity)| entity.parent.as_deref() == Some(id))
            .map(|(id, _)| id.clone())
            .collect();
        below.iter().for_each(|id| self.delete(id));
    }

    pub fn messages(&self) -> BTreeMap<String, String> {
        let messages = self.0.iter().filter(|(_, entity)| entity.is_message);
        messages.map(|(id, entity)| (id.clone(), entity.text.clone())).collect()
    }

    /// The ids of all there is.
    pub fn ids(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }
}

/// The messages of a stored thread, as [`Folded::messages`] has them.
pub fn messages_of(thread: &Thread) -> BTreeMap<String, String> {
    let messages = thread.steps.iter().filter(|step| step.is_message());
    messages.map(|step| (step.id.to_string(), step.output.clone())).collect()
}

/// The ids of its steps, as [`Folded::ids`] has them.
pub fn ids_of(thread: &Thread) -> Vec<String> {
    let mut ids: Vec<String> = thread.steps.iter().map(|step| step.id.to_string()).collect();
    ids.sort();
    ids
}
