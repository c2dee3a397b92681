//! What stands beside messages: elements and buttons.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::feed::{Audience, Then};
use super::state::Conversation;
use crate::chat::Speaker;
use crate::id::{ElementId, FileId};
use crate::protocol::{Action, Display, Element, ElementKind, ServerEvent, Thread};
use crate::record::{Fact, Source};

/// What a page may change of a custom element (chat-wire 6.6).
#[derive(Clone, Debug)]
pub struct ElementChange {
    /// The element.
    pub id: ElementId,
    /// Its component.
    pub name: String,
    /// Its properties.
    pub props: Map<String, Value>,
    /// Where it is shown.
    pub display: Display,
    /// The file that holds its properties now.
    pub file: FileId,
}

impl Conversation {
    /// An element came or changed. One that belongs to no message is not stored (chat-wire 5.5).
    pub(super) fn element(&mut self, speaker: &Speaker, mut element: Element) {
        element.thread_id = Some(self.thread.clone());
        self.know(&element);
        let record = element
            .has_message()
            .then(|| self.record(speaker.run.clone(), Source::App, Fact::Element(element.clone())));
        self.said(speaker, record.into_iter().collect(), vec![(Audience::All, ServerEvent::Element(element.into()))]);
    }

    /// An element is gone.
    pub(super) fn remove_element(&mut self, speaker: &Speaker, id: ElementId) {
        self.elements.shift_remove(&id);
        let record = self.record(speaker.run.clone(), Source::App, Fact::ElementRemoved(id.clone()));
        self.said(speaker, vec![record], vec![(Audience::All, ServerEvent::RemoveElement(id))]);
    }

    /// A button came, or is gone. Buttons are never stored (chat-wire 5.3).
    pub(super) fn button(&mut self, speaker: &Speaker, action: Action, there: bool) {
        let action = Arc::new(action);
        let event = if there { ServerEvent::Action(action) } else { ServerEvent::RemoveAction(action) };
        self.said(speaker, Vec::new(), vec![(Audience::All, event)]);
    }

    /// A page changes a custom element of its thread. False when it has none of that id.
    pub(super) fn change_element(&mut self, change: ElementChange, done: oneshot::Sender<bool>) {
        let Some(known) = self.elements.get_mut(&change.id) else {
            let _ = done.send(false);
            return;
        };
        known.name = change.name;
        known.props = Some(change.props);
        known.display = change.display;
        known.chainlit_key = Some(change.file);
        known.url = None;
        let element = known.clone();
        let record = self.record(None, Source::User, Fact::Element(element.clone()));
        let shows = vec![(Audience::All, ServerEvent::Element(Arc::new(element)))];
        self.commit(vec![record], shows, Then::Tell(done));
    }

    /// A page takes a custom element of its thread away. False when it has none of that id.
    pub(super) fn drop_element(&mut self, id: ElementId, done: oneshot::Sender<bool>) {
        if self.elements.shift_remove(&id).is_none() {
            let _ = done.send(false);
            return;
        }
        let record = self.record(None, Source::User, Fact::ElementRemoved(id.clone()));
        self.commit(vec![record], vec![(Audience::All, ServerEvent::RemoveElement(id))], Then::Tell(done));
    }

    /// Remembers custom elements: pages may change them later.
    pub(super) fn know(&mut self, element: &Element) {
        if element.kind == ElementKind::Custom {
            self.elements.insert(element.id.clone(), element.clone());
        }
    }

    /// The custom elements of a stored thread. What is known already is newer.
    pub(super) fn know_stored(&mut self, thread: &Thread) {
        for element in thread
            .elements
            .iter()
            .filter(|element| !self.elements.contains_key(&element.id))
            .cloned()
            .collect::<Vec<_>>()
        {
            self.know(&element);
        }
    }
}
