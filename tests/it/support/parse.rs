//! What came over the wire, as the event that it was: the way back from `protocol`'s serialisation.

use std::sync::Arc;

use rejoinder::protocol::{Ask, AskKind, AskSpec, ServerEvent, Step, StepKind, Toast, ToastKind, Token};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a server's event; one that no page knows is a failure.
pub fn server_event(name: &str, argument: Value) -> ServerEvent {
    let text = |key: &str| argument[key].as_str().unwrap_or_else(|| panic!("{name}: {key}: {argument}")).to_owned();
    match name {
        "task_start" => ServerEvent::TaskStart,
        "task_end" => ServerEvent::TaskEnd,
        "new_message" => ServerEvent::NewMessage(whole(argument)),
        "update_message" => ServerEvent::UpdateMessage(whole(argument)),
        "stream_start" => ServerEvent::StreamStart(whole(argument)),
        "delete_message" => {
            ServerEvent::DeleteMessage(Arc::new(Step::new(text("id").into(), "".into(), StepKind::Undefined, "")))
        }
        "stream_token" => ServerEvent::StreamToken(Token {
            id: text("id").into(),
            token: text("token"),
            is_sequence: argument["isSequence"].as_bool().unwrap(),
            is_input: argument["isInput"].as_bool().unwrap(),
        }),
        "first_interaction" => {
            ServerEvent::FirstInteraction { interaction: text("interaction"), thread_id: text("thread_id").into() }
        }
        "resume_thread" => ServerEvent::ResumeThread(whole(argument)),
        "resume_thread_error" => ServerEvent::ResumeThreadError(argument.as_str().unwrap().to_owned()),
        "ask" => ServerEvent::Ask(Arc::new(ask(argument))),
        "clear_ask" => ServerEvent::ClearAsk,
        "ask_timeout" => ServerEvent::AskTimeout,
        "call_fn" => ServerEvent::CallFn {
            call: rejoinder::protocol::CallId(1),
            name: text("name"),
            args: argument["args"].clone(),
        },
        "clear_call_fn" => ServerEvent::ClearCallFn(None),
        "call_fn_timeout" => ServerEvent::CallFnTimeout(rejoinder::protocol::CallId(1)),
        "element" => ServerEvent::Element(whole(argument)),
        "remove_element" => ServerEvent::RemoveElement(text("id").into()),
        "action" => ServerEvent::Action(whole(argument)),
        "remove_action" => ServerEvent::RemoveAction(whole(argument)),
        "chat_settings" => ServerEvent::ChatSettings(whole(argument)),
        "set_commands" => ServerEvent::SetCommands(read(argument)),
        "set_modes" => ServerEvent::SetModes(read(argument)),
        "set_favorites" => ServerEvent::SetFavorites(read(argument)),
        "audio_connection" => ServerEvent::AudioConnection(argument == "on"),
        "window_message" => ServerEvent::WindowMessage(argument),
        "toast" => ServerEvent::Toast(Toast { message: text("message"), kind: colour(&text("type")) }),
        other => panic!("the server sent {other}: {argument}"),
    }
}

fn whole<T: DeserializeOwned>(argument: Value) -> Arc<T> {
    Arc::new(read(argument))
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

fn colour(name: &str) -> ToastKind {
    match name {
        "info" => ToastKind::Info,
        "success" => ToastKind::Success,
        "warning" => ToastKind::Warning,
        "error" => ToastKind::Error,
        other => panic!("a toast of colour {other}"),
    }
}
