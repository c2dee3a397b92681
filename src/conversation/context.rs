//! The chat context: the messages of a conversation, each once.

use indexmap::IndexMap;

use crate::chat::Said;
use crate::id::StepId;
use crate::protocol::{Step, Thread};

/// The messages that a model is given as its context, oldest first, unique by id.
#[derive(Clone, Debug, Default)]
pub struct Context {
    messages: IndexMap<StepId, Said>,
    /// Whether the stored messages are in it.
    restored: bool,
}

impl Context {
    /// Adds a message or replaces it in its place. Questions and errors are for the person, not part of it.
    pub fn put(&mut self, step: &Step) {
        if belongs(step) {
            self.messages.insert(step.id.clone(), said(step));
        }
    }

    /// Takes a message out.
    pub fn remove(&mut self, id: &StepId) {
        self.messages.shift_remove(id);
    }

    /// Whether a message is in it.
    #[must_use]
    pub fn has(&self, id: &StepId) -> bool {
        self.messages.contains_key(id)
    }

    /// Puts the stored messages before what was said since. The second time changes nothing: what is stored is in it.
    pub fn restore(&mut self, thread: &Thread) {
        if std::mem::replace(&mut self.restored, true) {
            return;
        }
        let mut messages = IndexMap::new();
        for step in thread.steps.iter().filter(|step| belongs(step) && !step.streaming) {
            messages.insert(step.id.clone(), said(step));
        }
        for (id, message) in std::mem::take(&mut self.messages) {
            messages.insert(id, message);
        }
        self.messages = messages;
    }

    /// The messages that are complete.
    #[must_use]
    pub fn list(&self, is_complete: impl Fn(&StepId) -> bool) -> Vec<Said> {
        self.messages.values().filter(|said| is_complete(&said.id)).cloned().collect()
    }
}

fn belongs(step: &Step) -> bool {
    step.is_message() && !step.wait_for_answer && !step.is_error
}

fn said(step: &Step) -> Said {
    Said { id: step.id.clone(), kind: step.kind.clone(), name: step.name.clone(), text: step.output.clone() }
}
