//! Records into a thread: the pure function that the tables hold the result of.
//!
//! Every writing of the chat tables follows these rules (`store::plan`), and a property test holds the two together.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::address::with_url;
use super::arrange::{arrange, join_feedback, subtree};
use super::{Fact, Record, ThreadStart, ThreadUpdate};
use crate::id::{ElementId, FeedbackId, RecordId, StepId, ThreadId};
use crate::protocol::{Element, Feedback, Step, Thread, Timestamp};

/// A thread as its records tell it, in the order in which things first came.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The thread's own row; its `steps` and `elements` stay empty.
    pub head: Thread,
    /// Whether a record began it.
    pub started: bool,
    /// Its steps, without votes.
    pub steps: IndexMap<StepId, Step>,
    /// What was attached.
    pub elements: IndexMap<ElementId, Element>,
    /// Votes, at most one for a step.
    pub feedback: IndexMap<FeedbackId, Feedback>,
}

/// Folds records in their order. Records that are quarantined, or that were refused, are not part of a fold.
#[must_use]
pub fn fold<'a>(thread: &ThreadId, records: impl IntoIterator<Item = &'a Record>) -> Folded {
    let mut folded = Folded::new(thread.clone());
    for record in records {
        folded.apply(&record.id, record.produced_at, &record.fact);
    }
    folded
}

impl Folded {
    /// A thread of which nothing is known yet.
    #[must_use]
    pub fn new(thread: ThreadId) -> Self {
        Self {
            head: Thread {
                id: thread,
                created_at: None,
                name: None,
                user_id: None,
                user_identifier: None,
                tags: None,
                metadata: Map::new(),
                steps: Vec::new(),
                elements: Vec::new(),
            },
            started: false,
            steps: IndexMap::new(),
            elements: IndexMap::new(),
            feedback: IndexMap::new(),
        }
    }

    /// Folds one more fact in.
    ///
    /// What opens or completes a step (a message, a step's start or end, a run's start, a question) creates it. What
    /// changes it (an update, a run's end) changes a step that is there and is nothing otherwise, as pages do: a run
    /// that is replaced by an edit ends after it was deleted, and must not come back.
    pub fn apply(&mut self, record: &RecordId, produced_at: Timestamp, fact: &Fact) {
        match fact {
            Fact::ThreadStarted(start) => self.start(start, produced_at),
            Fact::ThreadUpdated(update) => apply_update(&mut self.head, update),
            Fact::SettingsUpdated(values) => apply_settings(&mut self.head.metadata, values),
            Fact::Message { step, .. }
            | Fact::StepStarted(step)
            | Fact::StepEnded(step)
            | Fact::RunStarted { step, .. }
            | Fact::Asked { step, .. } => {
                self.steps.insert(step.id.clone(), as_stored(&self.head.id, step));
            }
            Fact::MessageUpdated(step)
            | Fact::StepUpdated(step)
            | Fact::RunEnded { step, .. }
            | Fact::RunFailed { step, .. } => {
                if let Some(known) = self.steps.get_mut(&step.id) {
                    *known = as_stored(&self.head.id, step);
                }
            }
            Fact::RunLost { run, lost_at, .. } => {
                if let Some(step) = self.steps.get_mut(run) {
                    step.end = step.end.or(Some(*lost_at));
                    step.streaming = false;
                }
            }
            Fact::AskEnded { ask, .. } => {
                if let Some(step) = self.steps.get_mut(ask) {
                    step.wait_for_answer = false;
                }
            }
            Fact::StepDeleted(id) => self.delete(id),
            Fact::Element(element) => {
                self.elements.insert(element.id.clone(), element_as_stored(&self.head.id, element));
            }
            Fact::ElementRemoved(id) => {
                self.elements.shift_remove(id);
            }
            Fact::FeedbackSet(vote) => {
                let vote = feedback_as_stored(&self.head.id, record, vote);
                self.feedback.retain(|id, other| other.for_id != vote.for_id || Some(id) == vote.id.as_ref());
                if let Some(id) = vote.id.clone() {
                    self.feedback.insert(id, vote);
                }
            }
            Fact::FeedbackRemoved(id) => {
                self.feedback.shift_remove(id);
            }
        }
    }

    /// The thread as pages read it.
    #[must_use]
    pub fn into_thread(self) -> Thread {
        let Self { mut head, steps, elements, feedback, .. } = self;
        head.steps = arrange(steps.into_values().collect());
        join_feedback(&mut head.steps, feedback.into_values());
        head.elements = elements.into_values().map(|element| with_url(&head.id, element)).collect();
        head
    }

    fn start(&mut self, start: &ThreadStart, produced_at: Timestamp) {
        if self.started {
            if self.head.name.is_none() {
                self.head.name.clone_from(&start.name);
            }
            return;
        }
        self.started = true;
        self.head.created_at = Some(produced_at);
        self.head.name.clone_from(&start.name);
        self.head.user_id.clone_from(&start.user_id);
        self.head.user_identifier.clone_from(&start.user_identifier);
        self.head.tags = some_tags(&start.tags);
        self.head.metadata.clone_from(&start.metadata);
    }

    fn delete(&mut self, root: &StepId) {
        let gone = subtree(root, self.steps.values().map(|step| (&step.id, step.parent_id.as_ref())));
        self.steps.retain(|id, _| !gone.contains(id));
        self.elements.retain(|_, element| element.for_id.as_ref().is_none_or(|id| !gone.contains(id)));
        self.feedback.retain(|_, vote| !gone.contains(&vote.for_id));
    }
}

/// A change of the thread's row.
pub(crate) fn apply_update(head: &mut Thread, update: &ThreadUpdate) {
    if update.name.is_some() {
        head.name.clone_from(&update.name);
    }
    if let Some(tags) = &update.tags {
        head.tags = some_tags(tags);
    }
    for (key, value) in &update.metadata {
        if value.is_null() {
            head.metadata.remove(key);
        } else {
            head.metadata.insert(key.clone(), value.clone());
        }
    }
}

/// The settings live in the metadata, where pages look for them (chat-wire 5.7).
pub(crate) fn apply_settings(metadata: &mut Map<String, Value>, values: &Map<String, Value>) {
    metadata.insert("chat_settings".into(), Value::Object(values.clone()));
}

/// No tags and an empty list are the same in the tables.
pub(crate) fn some_tags(tags: &[String]) -> Option<Vec<String>> {
    (!tags.is_empty()).then(|| tags.to_vec())
}

/// The step as a table row holds it: of this thread, without its vote, and with what its kind carries on the wire.
pub(crate) fn as_stored(thread: &ThreadId, step: &Step) -> Step {
    let mut stored = step.clone();
    stored.thread_id = thread.clone();
    stored.feedback = None;
    stored.generation = stored.generation.filter(|value| !value.is_null());
    if stored.is_message() {
        stored.input = String::new();
        stored.show_input = Default::default();
        stored.default_open = false;
        stored.auto_collapse = false;
        stored.generation = None;
    } else {
        stored.wait_for_answer = false;
        stored.command = None;
        stored.modes = None;
    }
    stored
}

pub(crate) fn element_as_stored(thread: &ThreadId, element: &Element) -> Element {
    let mut stored = element.clone();
    stored.thread_id = Some(thread.clone());
    stored.player_config = stored.player_config.filter(|value| !value.is_null());
    stored
}

/// A first vote has no id; it gets the record's, so that a retry makes the same row.
pub(crate) fn feedback_as_stored(thread: &ThreadId, record: &RecordId, vote: &Feedback) -> Feedback {
    let mut stored = vote.clone();
    stored.thread_id = Some(thread.clone());
    stored.id = Some(stored.id.unwrap_or_else(|| FeedbackId::from(record.as_str())));
    stored
}
