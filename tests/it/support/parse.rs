//! What came over the wire, as the event that it was: what changes a page is read by the player of scenarios, the rest is
//! read here.

use std::sync::Arc;

use rejoinder::fixture::read_event;
use rejoinder::protocol::{Ask, AskKind, AskSpec, CallId, ServerEvent};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a server's event; one that no page knows is a failure.
pub fn server_event(name: &str, argument: Value) -> ServerEvent {
    match name {
        "resume_thread_error" => ServerEvent::ResumeThreadError(argument.as_str().unwrap().to_owned()),
        "ask" => ServerEvent::Ask(Arc::new(ask(argument))),
        "call_fn" => ServerEvent::CallFn {
            call: CallId(1),
            name: argument["name"].as_str().unwrap().to_owned(),
            args: argument["args"].clone(),
        },
        "call_fn_timeout" => ServerEvent::CallFnTimeout(CallId(1)),
        "chat_settings" => ServerEvent::ChatSettings(Arc::new(read(argument))),
        "set_commands" => ServerEvent::SetCommands(read(argument)),
        "set_modes" => ServerEvent::SetModes(read(argument)),
        "set_favorites" => ServerEvent::SetFavorites(read(argument)),
        "audio_connection" => ServerEvent::AudioConnection(argument == "on"),
        "window_message" => ServerEvent::WindowMessage(argument),
        _ => {
            let event = read_event(name, &argument).unwrap_or_else(|why| panic!("{why}: {argument}"));
            event.unwrap_or_else(|| panic!("the server sent {name}: {argument}"))
        }
    }
}

fn read<T: DeserializeOwned>(argument: Value) -> T {
    serde_json::from_value(argument.clone()).unwrap_or_else(|why| panic!("{why}: {argument}"))
}

/// Questions for files are asked by none of the apps of these tests.
fn ask(argument: Value) -> Ask {
    let spec = &argument["spec"];
    let kind = match spec["type"].as_str().unwrap() {
        "text" => AskKind::Text,
        "action" => AskKind::Action { keys: read(spec["keys"].clone()) },
        "element" => AskKind::Element { element_id: read(spec["element_id"].clone()) },
        other => panic!("a question for {other}: {argument}"),
    };
    let spec =
        AskSpec { step_id: spec["step_id"].as_str().unwrap().into(), timeout: spec["timeout"].as_u64().unwrap(), kind };
    Ask { msg: read(argument["msg"].clone()), spec }
}
