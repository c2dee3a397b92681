//! What stands beside the steps of a page: elements and buttons, as far as they are unproven.

use std::sync::Arc;

use indexmap::IndexMap;

use super::Number;
use super::bounds::{self, Bounds};
use crate::id::{ActionId, ElementId};
use crate::protocol::{Action, Element, ServerEvent};

/// Elements that are unproven, and those that only a page has.
#[derive(Debug, Default)]
pub(super) struct Elements {
    unproven: IndexMap<ElementId, Unproven>,
    /// How many of these count, and what they weigh.
    count: usize,
    bytes: usize,
    /// Elements that belong to no message, lists of tasks among them, as they stand. They are in no store: a thread that
    /// replaces them on the page brings none of them back. They do not count, or a refresh would be over the bounds by
    /// itself; beyond the same bounds the oldest are let go.
    loose: IndexMap<ElementId, Arc<Element>>,
    loose_bytes: usize,
}

#[derive(Debug)]
struct Unproven {
    last: Number,
    /// None: it was removed.
    element: Option<Arc<Element>>,
    /// What it counts as.
    bytes: Option<usize>,
}

impl Elements {
    pub(super) fn put(&mut self, number: Number, element: &Arc<Element>, bounds: Bounds) {
        self.loosen(&element.id);
        let bytes = element.has_message().then(|| bounds::element(element));
        self.set(element.id.clone(), Unproven { last: number, element: Some(element.clone()), bytes });
        if element.has_message() {
            return;
        }
        self.loose_bytes += bounds::element(element);
        self.loose.insert(element.id.clone(), element.clone());
        while self.loose.len() > bounds.steps || (self.loose_bytes > bounds.bytes && self.loose.len() > 1) {
            let Some((oldest, _)) = self.loose.get_index(0) else { return };
            let oldest = oldest.clone();
            self.loosen(&oldest);
            self.unproven.shift_remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, number: Number, id: &ElementId) {
        self.loosen(id);
        self.set(id.clone(), Unproven { last: number, element: None, bytes: Some(super::GONE) });
    }

    fn loosen(&mut self, id: &ElementId) {
        if let Some(former) = self.loose.shift_remove(id) {
            self.loose_bytes -= bounds::element(&former);
        }
    }

    fn set(&mut self, id: ElementId, unproven: Unproven) {
        self.count += usize::from(unproven.bytes.is_some());
        self.bytes += unproven.bytes.unwrap_or(0);
        if let Some(former) = self.unproven.insert(id, unproven) {
            self.count -= usize::from(former.bytes.is_some());
            self.bytes -= former.bytes.unwrap_or(0);
        }
    }

    pub(super) fn proven(&mut self, number: Number) {
        let Self { unproven, count, bytes, .. } = self;
        unproven.retain(|_, element| {
            let kept = element.last > number;
            if !kept {
                *count -= usize::from(element.bytes.is_some());
                *bytes -= element.bytes.unwrap_or(0);
            }
            kept
        });
    }

    /// Nothing is known any more of what is unproven.
    pub(super) fn forget(&mut self) {
        self.unproven = IndexMap::new();
        (self.count, self.bytes) = (0, 0);
    }

    /// A thread has replaced all of them.
    pub(super) fn replaced(&mut self) {
        *self = Self::default();
    }

    /// Those that are in no store.
    pub(super) fn loose(&self) -> Vec<Arc<Element>> {
        self.loose.values().cloned().collect()
    }

    /// How many count.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// What these weigh.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What says them again.
    pub(super) fn repeated(&self) -> impl Iterator<Item = ServerEvent> {
        self.unproven.iter().map(|(id, unproven)| match &unproven.element {
            Some(element) => ServerEvent::Element(element.clone()),
            None => ServerEvent::RemoveElement(id.clone()),
        })
    }
}

/// The last event of a button, the button, and whether it is there.
type Button = (Number, Arc<Action>, bool);

/// Buttons that are unproven. They are in no thread, so they stay when the rest is forgotten; beyond the bounds the
/// oldest are let go.
#[derive(Debug, Default)]
pub(super) struct Buttons {
    unproven: IndexMap<ActionId, Button>,
    bytes: usize,
}

impl Buttons {
    pub(super) fn put(&mut self, number: Number, action: &Arc<Action>, there: bool, bounds: Bounds) {
        if there {
            // It stands at the end now, not where it was before it was taken away.
            self.take(|all| all.shift_remove(&action.id));
        }
        self.take(|all| all.insert(action.id.clone(), (number, action.clone(), there)));
        self.bytes += bounds::action(action);
        while self.unproven.len() > bounds.steps || (self.bytes > bounds.bytes && self.unproven.len() > 1) {
            self.take(|all| all.shift_remove_index(0).map(|(_, first)| first));
        }
    }

    /// Makes a change that may take one out.
    fn take(&mut self, change: impl FnOnce(&mut IndexMap<ActionId, Button>) -> Option<Button>) {
        if let Some((_, former, _)) = change(&mut self.unproven) {
            self.bytes -= bounds::action(&former);
        }
    }

    pub(super) fn proven(&mut self, number: Number) {
        let bytes = &mut self.bytes;
        self.unproven.retain(|_, (last, action, _)| {
            let kept = *last > number;
            *bytes -= if kept { 0 } else { bounds::action(action) };
            kept
        });
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What says them again: a page appends blindly, so each is taken away first.
    pub(super) fn repeated(&self) -> impl Iterator<Item = ServerEvent> {
        self.unproven.values().flat_map(|(_, action, there)| {
            let gone = ServerEvent::RemoveAction(action.clone());
            [Some(gone), there.then(|| ServerEvent::Action(action.clone()))].into_iter().flatten()
        })
    }
}
