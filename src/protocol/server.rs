//! What the server tells a page (chat-wire 4.1). Every event has exactly one argument.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Action, Ask, Command, Element, Mode, SettingsForm, Step, Thread};
use crate::id::{ElementId, StepId, ThreadId};

/// An event from the server. A new wire event is a new variant.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// A hook began to work: composer locked, stop button shown.
    TaskStart,
    /// It ended. Not counted by the page: one end unlocks.
    TaskEnd,
    /// A step was created, or reached its final form after streaming.
    NewMessage(Arc<Step>),
    /// A step changed. Unknown ids are ignored by the page.
    UpdateMessage(Arc<Step>),
    /// A step and everything below it is gone.
    DeleteMessage(Arc<Step>),
    /// The first token of a step, inside it.
    StreamStart(Arc<Step>),
    /// A further token.
    StreamToken(Token),
    /// The session had its first user act.
    FirstInteraction {
        /// What it was; `resume` for a restored thread. Never empty: a page takes that for none.
        interaction: String,
        /// Where it goes on from now.
        thread_id: ThreadId,
    },
    /// Replaces everything the page shows.
    ResumeThread(Arc<Thread>),
    /// The thread cannot be resumed; a text for a person.
    ResumeThreadError(String),
    /// A question; the page answers by acknowledging.
    Ask(Arc<Ask>),
    /// The question is no more.
    ClearAsk,
    /// Nobody answered in time.
    AskTimeout,
    /// A function of the host page is called; it answers by acknowledging.
    CallFn {
        /// The function.
        name: String,
        /// Its arguments.
        args: Value,
    },
    /// The call is no more.
    ClearCallFn,
    /// The host page did not answer in time.
    CallFnTimeout,
    /// An element came or changed.
    Element(Arc<Element>),
    /// An element is gone.
    RemoveElement(ElementId),
    /// A button came. Not repeatable: the page appends it blindly.
    Action(Arc<Action>),
    /// A button is gone.
    RemoveAction(Arc<Action>),
    /// The settings form; resets the page's values to `initial`.
    ChatSettings(Arc<SettingsForm>),
    /// The commands of the composer.
    SetCommands(Arc<[Command]>),
    /// The modes of the composer.
    SetModes(Arc<[Mode]>),
    /// The stored favourites.
    SetFavorites(Arc<[Step]>),
    /// The title of the side view.
    SetSidebarTitle(String),
    /// The content of the side view.
    SetSidebarElements {
        /// None closes it.
        elements: Vec<Arc<Element>>,
        /// A second list with the same key is ignored by the page; always sent.
        key: Option<String>,
    },
    /// Tokens used; the page adds them up.
    TokenUsage(u64),
    /// A note that goes away by itself.
    Toast(Toast),
    /// Posted to the window around the page.
    WindowMessage(Value),
    /// Starts or stops the recorder and the player.
    AudioConnection(bool),
    /// Stops playing.
    AudioInterrupt,
    /// The page says goodbye and loads itself again.
    Reload,
}

/// A piece of text that a step grows by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// The step.
    pub id: StepId,
    /// The text.
    pub token: String,
    /// Whether the text replaces what is there instead of being appended.
    pub is_sequence: bool,
    /// Whether it goes to the input instead of the output.
    pub is_input: bool,
}

/// A note that goes away by itself; an empty one is ignored by the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Toast {
    /// What it says.
    pub message: String,
    /// Its colour.
    #[serde(rename = "type")]
    pub kind: ToastKind,
}

/// The colours of a toast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToastKind {
    /// For information.
    Info,
    /// Something worked.
    Success,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
}

impl ServerEvent {
    /// The event's name on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::TaskStart => "task_start",
            Self::TaskEnd => "task_end",
            Self::NewMessage(_) => "new_message",
            Self::UpdateMessage(_) => "update_message",
            Self::DeleteMessage(_) => "delete_message",
            Self::StreamStart(_) => "stream_start",
            Self::StreamToken(_) => "stream_token",
            Self::FirstInteraction { .. } => "first_interaction",
            Self::ResumeThread(_) => "resume_thread",
            Self::ResumeThreadError(_) => "resume_thread_error",
            Self::Ask(_) => "ask",
            Self::ClearAsk => "clear_ask",
            Self::AskTimeout => "ask_timeout",
            Self::CallFn { .. } => "call_fn",
            Self::ClearCallFn => "clear_call_fn",
            Self::CallFnTimeout => "call_fn_timeout",
            Self::Element(_) => "element",
            Self::RemoveElement(_) => "remove_element",
            Self::Action(_) => "action",
            Self::RemoveAction(_) => "remove_action",
            Self::ChatSettings(_) => "chat_settings",
            Self::SetCommands(_) => "set_commands",
            Self::SetModes(_) => "set_modes",
            Self::SetFavorites(_) => "set_favorites",
            Self::SetSidebarTitle(_) => "set_sidebar_title",
            Self::SetSidebarElements { .. } => "set_sidebar_elements",
            Self::TokenUsage(_) => "token_usage",
            Self::Toast(_) => "toast",
            Self::WindowMessage(_) => "window_message",
            Self::AudioConnection(_) => "audio_connection",
            Self::AudioInterrupt => "audio_interrupt",
            Self::Reload => "reload",
        }
    }

    /// Whether the page answers it by acknowledging.
    #[must_use]
    pub fn wants_ack(&self) -> bool {
        matches!(self, Self::Ask(_) | Self::CallFn { .. })
    }
}

impl Serialize for ServerEvent {
    /// The one argument of the event.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::TaskStart
            | Self::TaskEnd
            | Self::ClearAsk
            | Self::AskTimeout
            | Self::ClearCallFn
            | Self::CallFnTimeout
            | Self::AudioInterrupt
            | Self::Reload => serializer.serialize_map(Some(0))?.end(),
            Self::NewMessage(step)
            | Self::UpdateMessage(step)
            | Self::DeleteMessage(step)
            | Self::StreamStart(step) => step.serialize(serializer),
            Self::StreamToken(token) => token.serialize(serializer),
            Self::FirstInteraction { interaction, thread_id } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("interaction", interaction)?;
                map.serialize_entry("thread_id", thread_id)?;
                map.end()
            }
            Self::ResumeThread(thread) => thread.serialize(serializer),
            Self::ResumeThreadError(text) | Self::SetSidebarTitle(text) => text.serialize(serializer),
            Self::Ask(ask) => ask.serialize(serializer),
            Self::CallFn { name, args } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("name", name)?;
                map.serialize_entry("args", args)?;
                map.end()
            }
            Self::Element(element) => element.serialize(serializer),
            Self::RemoveElement(id) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("id", id)?;
                map.end()
            }
            Self::Action(action) | Self::RemoveAction(action) => action.serialize(serializer),
            Self::ChatSettings(form) => form.serialize(serializer),
            Self::SetCommands(list) => list.serialize(serializer),
            Self::SetModes(list) => list.serialize(serializer),
            Self::SetFavorites(list) => list.serialize(serializer),
            Self::SetSidebarElements { elements, key } => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("elements", elements)?;
                map.serialize_entry("key", key)?;
                map.end()
            }
            Self::TokenUsage(count) => count.serialize(serializer),
            Self::Toast(toast) => toast.serialize(serializer),
            Self::WindowMessage(value) => value.serialize(serializer),
            Self::AudioConnection(on) => if *on { "on" } else { "off" }.serialize(serializer),
        }
    }
}
