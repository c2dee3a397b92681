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
        /// Which call, for the server; not on the wire.
        call: CallId,
        /// The function.
        name: String,
        /// Its arguments.
        args: Value,
    },
    /// A call is no more; which one is not on the wire. None: whatever the page had open.
    ClearCallFn(Option<CallId>),
    /// The host page did not answer this call in time.
    CallFnTimeout(CallId),
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

/// One call of a function of a host page, within its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallId(pub u64);

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
            Self::ClearCallFn(_) => "clear_call_fn",
            Self::CallFnTimeout(_) => "call_fn_timeout",
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
            | Self::ClearCallFn(_)
            | Self::CallFnTimeout(_)
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
            Self::CallFn { name, args, .. } => {
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

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::{AskKind, AskSpec, ElementKind, ModeOption, StepKind, Timestamp, Widget, WidgetKind};
    use super::*;

    fn step() -> Step {
        let mut step = Step::new("S".into(), "T".into(), StepKind::AssistantMessage, "Assistant");
        step.output = "hello".into();
        step
    }

    fn element() -> Element {
        let mut element = Element::new("E".into(), ElementKind::Custom, "Card");
        element.chainlit_key = Some("F".into());
        element
    }

    fn action() -> Arc<Action> {
        Arc::new(Action {
            id: "A".into(),
            name: "press".into(),
            payload: Map::new(),
            label: "Press".into(),
            tooltip: String::new(),
            icon: None,
            for_id: Some("S".into()),
        })
    }

    fn thread() -> Thread {
        Thread {
            id: "T".into(),
            created_at: Some(Timestamp::from_micros(1_764_455_739_129_157)),
            name: None,
            user_id: Some("U".into()),
            user_identifier: Some("anna".into()),
            tags: None,
            metadata: Map::new(),
            steps: vec![step()],
            elements: vec![element()],
        }
    }

    fn command() -> Command {
        let (id, description, icon) = ("Search".into(), "looks it up".into(), "globe".into());
        Command { id, description, icon, button: true, persistent: false, selected: false }
    }

    fn mode() -> Mode {
        let option = ModeOption { id: "a".into(), name: "A".into(), description: None, icon: None, default: true };
        Mode { id: "llm".into(), name: "Model".into(), options: vec![option] }
    }

    /// The event of the next kind, so that a kind without an example does not compile.
    fn after(event: &ServerEvent) -> Option<ServerEvent> {
        use ServerEvent as E;
        Some(match event {
            E::TaskStart => E::TaskEnd,
            E::TaskEnd => E::NewMessage(step().into()),
            E::NewMessage(_) => E::UpdateMessage(step().into()),
            E::UpdateMessage(_) => E::DeleteMessage(step().into()),
            E::DeleteMessage(_) => E::StreamStart(Step { streaming: true, ..step() }.into()),
            E::StreamStart(_) => {
                E::StreamToken(Token { id: "S".into(), token: " you".into(), is_sequence: false, is_input: false })
            }
            E::StreamToken(_) => E::FirstInteraction { interaction: "hi".into(), thread_id: "T".into() },
            E::FirstInteraction { .. } => E::ResumeThread(thread().into()),
            E::ResumeThread(_) => E::ResumeThreadError("not found".into()),
            E::ResumeThreadError(_) => {
                let spec = AskSpec { step_id: "S".into(), timeout: 30, kind: AskKind::Text };
                E::Ask(Ask { msg: Step { wait_for_answer: true, ..step() }, spec }.into())
            }
            E::Ask(_) => E::ClearAsk,
            E::ClearAsk => E::AskTimeout,
            E::AskTimeout => E::CallFn { call: CallId(1), name: "host".into(), args: json!({"a": 1}) },
            E::CallFn { .. } => E::ClearCallFn(None),
            E::ClearCallFn(_) => E::CallFnTimeout(CallId(1)),
            E::CallFnTimeout(_) => E::Element(element().into()),
            E::Element(_) => E::RemoveElement("E".into()),
            E::RemoveElement(_) => E::Action(action()),
            E::Action(_) => E::RemoveAction(action()),
            E::RemoveAction(_) => {
                let widget = Widget::new("Loud", "Loud", WidgetKind::Switch { initial: true });
                E::ChatSettings(SettingsForm::Widgets(vec![widget]).into())
            }
            E::ChatSettings(_) => E::SetCommands([command()].into()),
            E::SetCommands(_) => E::SetModes([mode()].into()),
            E::SetModes(_) => E::SetFavorites([step()].into()),
            E::SetFavorites(_) => E::SetSidebarTitle("canvas".into()),
            E::SetSidebarTitle(_) => E::SetSidebarElements { elements: vec![element().into()], key: None },
            E::SetSidebarElements { .. } => E::TokenUsage(12),
            E::TokenUsage(_) => E::Toast(Toast { message: "saved".into(), kind: ToastKind::Success }),
            E::Toast(_) => E::WindowMessage(json!(["anything"])),
            E::WindowMessage(_) => E::AudioConnection(true),
            E::AudioConnection(_) => E::AudioInterrupt,
            E::AudioInterrupt => E::Reload,
            E::Reload => return None,
        })
    }

    #[test]
    fn every_event_on_the_wire() {
        let events = std::iter::successors(Some(ServerEvent::TaskStart), after).collect::<Vec<_>>();
        let sent = events.iter().map(|event| (event.name(), event)).collect::<Vec<_>>();
        insta::assert_json_snapshot!(sent);
    }

    #[test]
    fn lists_are_arrays_even_when_they_are_empty() {
        let form = SettingsForm::Widgets(Vec::new());
        for event in [
            ServerEvent::ChatSettings(form.into()),
            ServerEvent::SetCommands([].into()),
            ServerEvent::SetModes([].into()),
            ServerEvent::SetFavorites([].into()),
        ] {
            assert_eq!(serde_json::to_value(&event).unwrap(), json!([]), "{}", event.name());
        }
    }
}
