//! The page's own reducer (chat-wire 9.3, 9.4), as a pure type: what a frontend shows after a list of events.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::fold;
use crate::id::{ActionId, ElementId, StepId};
use crate::protocol::{Element, ServerEvent, Step, Thread};

/// What a page shows. Steps stand in the order in which they were first inserted; a step keeps its first parent. Two
/// pages are equal when a person sees no difference.
#[derive(Clone, Debug, Default)]
pub struct Page {
    steps: IndexMap<StepId, Step>,
    elements: IndexMap<ElementId, Element>,
    actions: Vec<ActionId>,
    /// Whether the composer is locked.
    loading: bool,
    /// The message of the question that waits for an answer.
    question: Option<StepId>,
    /// Notes that were shown.
    toasts: usize,
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        self.tree() == other.tree()
            && self.elements == other.elements
            && self.actions == other.actions
            && self.loading == other.loading
            && self.question == other.question
            && self.toasts == other.toasts
    }
}

impl Page {
    /// The steps as they stand on the page, from top to bottom: each with its depth.
    #[must_use]
    pub fn tree(&self) -> Vec<(usize, &Step)> {
        let mut below: HashMap<Option<&StepId>, Vec<&Step>> = HashMap::new();
        for step in self.steps.values() {
            below.entry(step.parent_id.as_ref()).or_default().push(step);
        }
        let mut tree = Vec::with_capacity(self.steps.len());
        // What is still to be visited, the next one last.
        let mut ahead: Vec<(usize, &Step)> = Vec::new();
        let mut next = (0, None);
        loop {
            let (depth, parent) = next;
            ahead.extend(below.get(&parent).into_iter().flatten().rev().map(|step| (depth, *step)));
            let Some((depth, step)) = ahead.pop() else { return tree };
            tree.push((depth, step));
            next = (depth + 1, Some(&step.id));
        }
    }

    /// A step by its id.
    #[must_use]
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.get(id)
    }

    /// The steps in the order in which they were first inserted.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.steps.values()
    }

    /// Takes an event.
    pub fn apply(&mut self, event: &ServerEvent) {
        match event {
            ServerEvent::TaskStart => self.loading = true,
            ServerEvent::TaskEnd => self.loading = false,
            ServerEvent::NewMessage(step) | ServerEvent::StreamStart(step) => self.insert(step),
            ServerEvent::UpdateMessage(step) => {
                if self.steps.contains_key(&step.id) {
                    self.insert(step);
                }
            }
            ServerEvent::DeleteMessage(step) => self.remove(&step.id),
            ServerEvent::StreamToken(token) => {
                if let Some(step) = self.steps.get_mut(&token.id) {
                    fold::grow(step, token);
                }
            }
            ServerEvent::ResumeThread(thread) => self.replace(thread),
            ServerEvent::Ask(ask) => {
                self.insert(&ask.msg);
                self.question = Some(ask.spec.step_id.clone());
                self.loading = false;
            }
            ServerEvent::ClearAsk => self.question = None,
            ServerEvent::AskTimeout => {
                self.question = None;
                self.loading = false;
            }
            ServerEvent::Element(element) => {
                self.elements.insert(element.id.clone(), Element::clone(element));
            }
            ServerEvent::RemoveElement(id) => {
                self.elements.shift_remove(id);
            }
            // Appended blindly, as the page does.
            ServerEvent::Action(action) => self.actions.push(action.id.clone()),
            ServerEvent::RemoveAction(action) => {
                if let Some(place) = self.actions.iter().position(|id| *id == action.id) {
                    self.actions.remove(place);
                }
            }
            ServerEvent::Toast(_) => self.toasts += 1,
            ServerEvent::FirstInteraction { .. }
            | ServerEvent::ResumeThreadError(_)
            | ServerEvent::CallFn { .. }
            | ServerEvent::ClearCallFn(_)
            | ServerEvent::CallFnTimeout(_)
            | ServerEvent::ChatSettings(_)
            | ServerEvent::SetCommands(_)
            | ServerEvent::SetModes(_)
            | ServerEvent::SetFavorites(_)
            | ServerEvent::SetSidebarTitle(_)
            | ServerEvent::SetSidebarElements { .. }
            | ServerEvent::TokenUsage(_)
            | ServerEvent::WindowMessage(_)
            | ServerEvent::AudioConnection(_)
            | ServerEvent::AudioInterrupt
            | ServerEvent::Reload => {}
        }
    }

    /// The page shows a message of its own before the server says anything.
    pub fn wrote(&mut self, step: &Step) {
        self.insert(step);
    }

    /// The texts of the messages, from top to bottom.
    #[must_use]
    pub fn texts(&self) -> Vec<&str> {
        self.tree().into_iter().filter(|(_, step)| step.is_message()).map(|(_, step)| step.output.as_str()).collect()
    }

    /// Whether the composer is locked.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.loading
    }

    /// The message of the question that waits for an answer.
    #[must_use]
    pub fn question(&self) -> Option<&StepId> {
        self.question.as_ref()
    }

    /// The elements, in the order in which they came.
    pub fn elements(&self) -> impl Iterator<Item = &Element> {
        self.elements.values()
    }

    /// How many notes were shown.
    #[must_use]
    pub fn toasts(&self) -> usize {
        self.toasts
    }

    fn insert(&mut self, step: &Step) {
        if let Some(known) = self.steps.get_mut(&step.id) {
            let parent = known.parent_id.take();
            *known = step.clone();
            known.parent_id = parent;
            return;
        }
        let placed = step.parent_id.as_ref().is_none_or(|parent| self.steps.contains_key(parent));
        if placed {
            self.steps.insert(step.id.clone(), step.clone());
        }
    }

    fn remove(&mut self, id: &StepId) {
        let mut gone = vec![id.clone()];
        for (id, step) in &self.steps {
            if step.parent_id.as_ref().is_some_and(|parent| gone.contains(parent)) {
                gone.push(id.clone());
            }
        }
        self.steps.retain(|id, _| !gone.contains(id));
    }

    fn replace(&mut self, thread: &Thread) {
        self.steps.clear();
        thread.steps.iter().for_each(|step| self.insert(step));
        self.elements = thread.elements.iter().map(|element| (element.id.clone(), element.clone())).collect();
    }
}
