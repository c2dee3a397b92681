//! Buttons before they are shown.

use serde_json::{Map, Value};

use crate::id::{ActionId, StepId};
use crate::protocol::Action;

/// A button below a message. Pressing it calls the hook that was registered under its name.
///
/// ```
/// # use rejoinder::chat::{Chat, Message, NewAction};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// let shorter = NewAction::new("shorter").label("Shorter").payload("words", 50);
/// chat.send(Message::new("It was a dark and stormy night.").action(shorter)).await.unwrap();
/// assert_eq!(recording.actions()[0].payload["words"], 50);
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct NewAction {
    name: String,
    label: String,
    tooltip: String,
    icon: Option<String>,
    payload: Map<String, Value>,
}

impl NewAction {
    /// A button that calls the hook `name`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let (name, label, tooltip) = (name.into(), String::new(), String::new());
        Self { name, label, tooltip, icon: None, payload: Map::new() }
    }

    /// What is on it. Without a label and an icon it shows its name.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Shown on hovering.
    #[must_use]
    pub fn tooltip(mut self, tooltip: impl Into<String>) -> Self {
        self.tooltip = tooltip.into();
        self
    }

    /// A picture on it, a Lucide name.
    #[must_use]
    pub fn icon(mut self, icon: impl Into<String>) -> Self {
        self.icon = Some(icon.into());
        self
    }

    /// One key of what its hook is given. It travels through the page: a hook must not trust it.
    #[must_use]
    pub fn payload(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.payload.insert(key.into(), value.into());
        self
    }

    pub(super) fn below(self, message: &StepId) -> Action {
        let Self { name, label, tooltip, icon, payload } = self;
        Action { id: ActionId::random(), name, payload, label, tooltip, icon, for_id: Some(message.clone()) }
    }
}
