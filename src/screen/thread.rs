//! A thread that was sent and may not have arrived: kept up to date, since the page replaces its whole list by it.

use std::collections::HashSet;
use std::sync::Arc;

use super::fold;
use crate::id::StepId;
use crate::protocol::{Element, ServerEvent, Step, Thread, Token};

/// Brings a thread that was read from the store up to date with events that may or may not be in it already. An update
/// of a step that it does not have brings the step: the store had not heard of it yet. Such a step stands where its time
/// puts it, as it will when the store has it: a text that still grows may be older than one that is stored.
pub fn fold_onto(thread: Thread, events: &[ServerEvent]) -> Thread {
    let stored: HashSet<StepId> = thread.steps.iter().map(|step| step.id.clone()).collect();
    let mut folded = UnprovenThread { thread: Arc::new(thread) };
    for event in events {
        match event {
            ServerEvent::NewMessage(step) | ServerEvent::StreamStart(step) | ServerEvent::UpdateMessage(step) => {
                folded.put(step, true);
            }
            ServerEvent::Ask(ask) => folded.put(&ask.msg, true),
            ServerEvent::StreamToken(token) => folded.grow(token),
            ServerEvent::DeleteMessage(step) => folded.delete(&step.id),
            ServerEvent::Element(element) => folded.element(element),
            ServerEvent::RemoveElement(id) => {
                Arc::make_mut(&mut folded.thread).elements.retain(|known| known.id != *id)
            }
            _ => {}
        }
    }
    let mut thread = Arc::unwrap_or_clone(folded.thread);
    let (steps, came): (Vec<Step>, Vec<Step>) = thread.steps.into_iter().partition(|step| stored.contains(&step.id));
    thread.steps = steps;
    came.into_iter().for_each(|step| place(&mut thread.steps, step));
    thread
}

/// Puts a step where its time says, and below its parent in any case. One without a time is the newest.
fn place(steps: &mut Vec<Step>, step: Step) {
    let time = |step: &Step| step.created_at.or(step.start);
    let parent = step.parent_id.as_ref().and_then(|parent| steps.iter().position(|known| known.id == *parent));
    let from = parent.map_or(0, |parent| parent + 1);
    let newer = |known: &Step| time(&step).is_some_and(|time_of| time(known).is_some_and(|known| known > time_of));
    let place = steps[from..].iter().position(newer).map_or(steps.len(), |place| from + place);
    steps.insert(place, step);
}

/// The thread of an unproven `resume_thread`, with what was said since folded onto it. Altered in place only when
/// something was said; until then it shares the memory of what was sent.
#[derive(Debug)]
pub struct UnprovenThread {
    thread: Arc<Thread>,
}

impl UnprovenThread {
    /// The thread that is sent.
    #[must_use]
    pub fn new(thread: &Arc<Thread>) -> Self {
        Self { thread: thread.clone() }
    }

    /// The thread as it is now.
    #[must_use]
    pub fn folded(&self) -> Arc<Thread> {
        self.thread.clone()
    }

    /// A step came or changed. An update of an unknown step is nothing; a new one goes to the end.
    pub fn put(&mut self, step: &Step, creates: bool) {
        let thread = Arc::make_mut(&mut self.thread);
        match thread.steps.iter_mut().find(|known| known.id == step.id) {
            Some(known) => {
                let parent = known.parent_id.take();
                *known = step.clone();
                known.parent_id = parent;
            }
            None if creates => thread.steps.push(step.clone()),
            None => {}
        }
    }

    /// A step grew.
    pub fn grow(&mut self, token: &Token) {
        let thread = Arc::make_mut(&mut self.thread);
        if let Some(step) = thread.steps.iter_mut().find(|step| step.id == token.id) {
            fold::grow(step, token);
        }
    }

    /// An element came or changed.
    pub fn element(&mut self, element: &Element) {
        let thread = Arc::make_mut(&mut self.thread);
        match thread.elements.iter_mut().find(|known| known.id == element.id) {
            Some(known) => *known = element.clone(),
            None => thread.elements.push(element.clone()),
        }
    }

    /// A step is gone, with everything below it.
    pub fn delete(&mut self, id: &StepId) {
        let thread = Arc::make_mut(&mut self.thread);
        let mut gone = vec![id.clone()];
        // Parents stand before children, so one pass finds the whole subtree.
        for step in &thread.steps {
            if step.parent_id.as_ref().is_some_and(|parent| gone.contains(parent)) {
                gone.push(step.id.clone());
            }
        }
        thread.steps.retain(|step| !gone.contains(&step.id));
    }
}
