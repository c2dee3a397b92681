//! The chat context: the messages of a conversation, each once.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::chat::Said;
use crate::id::StepId;
use crate::protocol::{Step, StepKind, StoredFile, Thread};

/// The messages that a model is given as its context, oldest first, unique by id.
#[derive(Clone, Debug, Default)]
pub struct Context {
    messages: IndexMap<StepId, Said>,
    /// What people wrote, whole: they may change it.
    written: HashMap<StepId, Written>,
    /// Whether the stored messages are in it.
    restored: bool,
}

/// A message that a person wrote.
#[derive(Clone, Debug)]
pub struct Written {
    /// The message.
    pub step: Arc<Step>,
    /// The files that came with it.
    pub files: Arc<[StoredFile]>,
}

impl Context {
    /// What a person wrote.
    #[must_use]
    pub fn written(&self, id: &StepId) -> Option<Written> {
        self.written.get(id).cloned()
    }

    /// Notes the files that came with what a person wrote.
    pub fn attach(&mut self, id: &StepId, files: Arc<[StoredFile]>) {
        if let Some(written) = self.written.get_mut(id) {
            written.files = files;
        }
    }

    /// The same for messages of a stored thread; what is known of a message already stays.
    pub fn attach_all(&mut self, files: &[(StepId, StoredFile)]) {
        let mut by_message: IndexMap<&StepId, Vec<StoredFile>> = IndexMap::new();
        for (message, file) in files {
            by_message.entry(message).or_default().push(file.clone());
        }
        for (message, files) in by_message {
            if self.written(message).is_some_and(|written| written.files.is_empty()) {
                self.attach(message, files.into());
            }
        }
    }

    /// Adds a message or replaces it in its place. Questions and errors are for the person, not part of it.
    pub fn put(&mut self, step: &Step) {
        if belongs(step) {
            self.messages.insert(step.id.clone(), said(step));
        }
        self.keep_written(step);
    }

    fn keep_written(&mut self, step: &Step) {
        if step.kind == StepKind::UserMessage {
            let whole = Arc::new(step.clone());
            let written = self.written.entry(step.id.clone());
            let written = written.or_insert_with(|| Written { step: whole.clone(), files: Arc::from([]) });
            written.step = whole;
        }
    }

    /// Takes a message out.
    pub fn remove(&mut self, id: &StepId) {
        self.messages.shift_remove(id);
        self.written.remove(id);
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
        for step in thread.steps.iter().filter(|step| !self.written.contains_key(&step.id)).collect::<Vec<_>>() {
            self.keep_written(step);
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
