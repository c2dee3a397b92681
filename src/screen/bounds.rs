//! What a screen may hold of what is unproven, and what a thing weighs in it.

use std::mem::size_of;

use serde_json::{Map, Value};

use crate::protocol::{Action, Element, ServerEvent, Step};

/// How much a session keeps for its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Unproven steps and elements. Beyond that they are forgotten, and a page that comes back gets its whole thread.
    pub steps: usize,
    /// Bytes of unproven content. Likewise; and no more than that waits for a page that is slow.
    pub bytes: usize,
    /// Events that wait for a page that is slow. Beyond that it is told what they add up to.
    pub waiting: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { steps: 1000, bytes: 4 * 1024 * 1024, waiting: 4096 }
    }
}

/// What a step weighs, in bytes: near enough to bound memory by.
pub fn step(step: &Step) -> usize {
    let extra = step.generation.as_ref().map_or(0, value) + step.modes.as_ref().map_or(0, map);
    size_of::<Step>() + step.input.len() + step.output.len() + step.name.len() + map(&step.metadata) + extra
}

/// What an element weighs.
pub fn element(element: &Element) -> usize {
    let config = element.player_config.as_ref().map_or(0, value);
    size_of::<Element>() + element.name.len() + element.props.as_ref().map_or(0, map) + config
}

/// What a button weighs.
pub fn action(action: &Action) -> usize {
    size_of::<Action>() + action.label.len() + action.tooltip.len() + map(&action.payload)
}

/// What an event weighs that waits for a page.
pub fn event(event: &ServerEvent) -> usize {
    size_of::<ServerEvent>()
        + match event {
            ServerEvent::NewMessage(said) | ServerEvent::UpdateMessage(said) | ServerEvent::StreamStart(said) => {
                step(said)
            }
            ServerEvent::Ask(ask) => step(&ask.msg),
            ServerEvent::StreamToken(token) => token.token.len(),
            ServerEvent::Element(shown) => element(shown),
            ServerEvent::Action(shown) => action(shown),
            ServerEvent::WindowMessage(posted) => value(posted),
            ServerEvent::CallFn { args, .. } => value(args),
            // A thread shares its memory with the screen; of these, few wait or little.
            ServerEvent::ResumeThread(_)
            | ServerEvent::TaskStart
            | ServerEvent::TaskEnd
            | ServerEvent::DeleteMessage(_)
            | ServerEvent::FirstInteraction { .. }
            | ServerEvent::ResumeThreadError(_)
            | ServerEvent::ClearAsk
            | ServerEvent::AskTimeout
            | ServerEvent::ClearCallFn(_)
            | ServerEvent::CallFnTimeout(_)
            | ServerEvent::RemoveElement(_)
            | ServerEvent::RemoveAction(_)
            | ServerEvent::ChatSettings(_)
            | ServerEvent::SetCommands(_)
            | ServerEvent::SetModes(_)
            | ServerEvent::SetFavorites(_)
            | ServerEvent::SetSidebarTitle(_)
            | ServerEvent::SetSidebarElements { .. }
            | ServerEvent::TokenUsage(_)
            | ServerEvent::Toast(_)
            | ServerEvent::AudioConnection(_)
            | ServerEvent::AudioInterrupt
            | ServerEvent::Reload => 0,
        }
}

fn map(map: &Map<String, Value>) -> usize {
    map.iter().map(|(key, inside)| key.len() + value(inside)).sum()
}

fn value(of: &Value) -> usize {
    size_of::<Value>()
        + match of {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(value).sum(),
            Value::Object(inside) => map(inside),
        }
}
