//! What people do beside writing: settings, buttons, messages of the window around the page.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{FromHook, HookError, InChat, Input};
use crate::chat::Chat;
use crate::protocol::Action;

/// The settings form was confirmed, or a field of it changed.
#[derive(Clone, Debug)]
pub struct SettingsEvent {
    /// The hook's voice.
    pub chat: Chat,
    /// The values.
    pub settings: Settings,
}

/// Somebody pressed a button.
#[derive(Clone, Debug)]
pub struct ActionEvent {
    /// The hook's voice.
    pub chat: Chat,
    /// The button, as the page sent it back.
    pub action: Action,
}

/// The window around the page posted something. Anybody can post: whatever it holds is unchecked.
#[derive(Clone, Debug)]
pub struct WindowMessageEvent {
    /// The hook's voice.
    pub chat: Chat,
    /// What was posted.
    pub message: WindowMessage,
}

/// The values of the settings form by the ids of its widgets. After a confirmation an empty text is null, and a number
/// field gives the text that was typed (chat-wire 5.9).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings(Map<String, Value>);

impl Settings {
    pub(crate) fn new(values: Map<String, Value>) -> Self {
        Self(values)
    }

    /// The value of a widget.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Value> {
        self.0.get(id)
    }

    /// All values as a type of the application.
    ///
    /// # Errors
    /// When they have another shape.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, HookError> {
        Ok(serde_json::from_value(Value::Object(self.0.clone()))?)
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// What the window around the page posted.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowMessage(pub Value);

impl InChat for SettingsEvent {
    fn chat(&self) -> &Chat {
        &self.chat
    }
}

impl InChat for ActionEvent {
    fn chat(&self) -> &Chat {
        &self.chat
    }
}

impl InChat for WindowMessageEvent {
    fn chat(&self) -> &Chat {
        &self.chat
    }
}

impl FromHook<SettingsEvent> for Settings {
    fn from_hook(input: &Input<SettingsEvent>) -> Result<Self, HookError> {
        Ok(input.event.settings.clone())
    }
}

impl FromHook<ActionEvent> for Action {
    fn from_hook(input: &Input<ActionEvent>) -> Result<Self, HookError> {
        Ok(input.event.action.clone())
    }
}

impl FromHook<WindowMessageEvent> for WindowMessage {
    fn from_hook(input: &Input<WindowMessageEvent>) -> Result<Self, HookError> {
        Ok(input.event.message.clone())
    }
}
