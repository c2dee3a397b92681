//! What a page tells the server (chat-wire 3).

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::id::{FileId, StepId};
use crate::protocol::{RecordedChunk, Step, StepKind};

/// An event from a page.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The page is ready; nothing is sent to it before.
    ConnectionSuccessful,
    /// It wants the stored favourites.
    FetchFavorites,
    /// Somebody wrote something.
    Message(ClientMessage),
    /// Somebody changed what they wrote.
    Edit(EditedMessage),
    /// Somebody starred a message.
    Favorite(FavoriteMessage),
    /// Stop what is running.
    Stop,
    /// The tab leaves this conversation for good.
    ClearSession,
    /// The page's window received something.
    WindowMessage(Value),
    /// The microphone button.
    AudioStart,
    /// A piece of what the recorder hears.
    AudioChunk(RecordedChunk),
    /// The microphone button again, or the recorder failed.
    AudioEnd,
    /// The settings form was confirmed.
    SettingsChange(Map<String, Value>),
    /// A field of the settings form changed.
    SettingsEdit(Map<String, Value>),
}

/// A message as the composer sends it (chat-wire 3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct ClientMessage {
    /// The step's id; the page shows the message under it already.
    pub id: StepId,
    /// The author's name, unchecked.
    pub name: Option<String>,
    /// `user_message`, or `system_message` of a host page.
    pub kind: StepKind,
    /// The text.
    pub output: String,
    /// The step it hangs below.
    pub parent_id: Option<StepId>,
    /// The command it was sent with.
    pub command: Option<String>,
    /// The modes it was sent with.
    pub modes: Option<Map<String, Value>>,
    /// Free keys; `location` is the page's address.
    pub metadata: Map<String, Value>,
    /// A fence language.
    pub language: Option<String>,
    /// Uploaded files that go with it.
    pub files: Vec<FileReference>,
}

/// An uploaded file, by its id.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FileReference {
    /// What the upload answered.
    pub id: FileId,
}

/// A message that was edited at the page: the id and the new text (chat-wire 3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditedMessage {
    /// The message.
    pub id: StepId,
    /// Its new text.
    pub output: String,
}

/// A message that was starred or unstarred (chat-wire 3.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FavoriteMessage {
    /// The message.
    pub id: StepId,
    /// Whether it is a favourite now.
    pub favorite: bool,
}

/// Why an event is not taken. The text names what is wrong and repeats no content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadEvent {
    /// Nobody knows such an event.
    #[error("unknown event")]
    Unknown,
    /// The argument is missing or has the wrong shape.
    #[error("event without a usable argument: {0}")]
    Argument(&'static str),
    /// A message lacks a key or has one of the wrong type; a person is told.
    #[error("message with a bad {0}")]
    Message(&'static str),
}

impl ClientEvent {
    /// Reads an event by its name and its arguments.
    ///
    /// # Errors
    /// When the name is unknown or the argument has not the event's shape.
    pub fn parse(name: &str, mut args: Vec<Value>) -> Result<Self, BadEvent> {
        let first = if args.is_empty() { Value::Null } else { args.swap_remove(0) };
        Ok(match name {
            "connection_successful" => Self::ConnectionSuccessful,
            "fetch_favorites" => Self::FetchFavorites,
            "client_message" => Self::Message(ClientMessage::parse(first)?),
            "edit_message" => Self::Edit(EditedMessage::parse(&first)?),
            "message_favorite" => Self::Favorite(FavoriteMessage::parse(&first)?),
            "stop" => Self::Stop,
            "clear_session" => Self::ClearSession,
            "window_message" => Self::WindowMessage(first),
            "audio_start" => Self::AudioStart,
            "audio_chunk" => Self::AudioChunk(RecordedChunk::parse(&first)?),
            "audio_end" => Self::AudioEnd,
            "chat_settings_change" => Self::SettingsChange(object(first)?),
            "chat_settings_edit" => Self::SettingsEdit(object(first)?),
            _ => return Err(BadEvent::Unknown),
        })
    }
}

impl ClientMessage {
    /// Reads the argument of `client_message`.
    ///
    /// # Errors
    /// [`BadEvent::Message`] with the key at fault.
    pub fn parse(argument: Value) -> Result<Self, BadEvent> {
        let Value::Object(mut envelope) = argument else { return Err(BadEvent::Message("envelope")) };
        let Some(Value::Object(message)) = envelope.remove("message") else { return Err(BadEvent::Message("message")) };
        let files = envelope.remove("fileReferences").unwrap_or(Value::Null);
        let files: Option<Vec<FileReference>> =
            serde_json::from_value(files).map_err(|_| BadEvent::Message("fileReferences"))?;
        let mut parsed = Self::parse_step(message)?;
        parsed.files = files.unwrap_or_default();
        Ok(parsed)
    }

    /// Reads the step inside: also what answers a text question (chat-wire 4.4).
    ///
    /// # Errors
    /// [`BadEvent::Message`] with the key at fault.
    pub fn parse_step(mut step: Map<String, Value>) -> Result<Self, BadEvent> {
        let id = text(&mut step, "id")?.ok_or(BadEvent::Message("id"))?;
        let id = StepId::from(id);
        if !id.is_uuid4() {
            return Err(BadEvent::Message("id"));
        }
        let output = text(&mut step, "output")?.ok_or(BadEvent::Message("output"))?;
        text(&mut step, "createdAt")?.ok_or(BadEvent::Message("createdAt"))?;
        let kind = match text(&mut step, "type")?.as_deref() {
            None => StepKind::AssistantMessage,
            Some(kind) => StepKind::from(kind),
        };
        if !matches!(kind, StepKind::UserMessage | StepKind::AssistantMessage | StepKind::SystemMessage) {
            return Err(BadEvent::Message("type"));
        }
        let modes = optional_object(&mut step, "modes")?;
        if modes.as_ref().is_some_and(|modes| modes.values().any(|value| !value.is_string())) {
            return Err(BadEvent::Message("modes"));
        }
        text(&mut step, "threadId")?;
        Ok(Self {
            id,
            name: text(&mut step, "name")?,
            kind,
            output,
            parent_id: text(&mut step, "parentId")?.filter(|id| !id.is_empty()).map(StepId::from),
            command: text(&mut step, "command")?,
            modes,
            metadata: optional_object(&mut step, "metadata")?.unwrap_or_default(),
            language: text(&mut step, "language")?,
            files: Vec::new(),
        })
    }
}

impl EditedMessage {
    fn parse(argument: &Value) -> Result<Self, BadEvent> {
        let message = argument.get("message").ok_or(BadEvent::Argument("message"))?;
        let id = message.get("id").and_then(Value::as_str).ok_or(BadEvent::Message("id"))?;
        let output = message.get("output").and_then(Value::as_str).ok_or(BadEvent::Message("output"))?;
        Ok(Self { id: id.into(), output: output.to_owned() })
    }
}

impl FavoriteMessage {
    /// The message with its star, or without.
    #[must_use]
    pub fn on(&self, step: &Step) -> Step {
        let mut step = step.clone();
        step.metadata.insert("favorite".to_owned(), self.favorite.into());
        step
    }

    fn parse(argument: &Value) -> Result<Self, BadEvent> {
        let message = argument.get("message").ok_or(BadEvent::Argument("message"))?;
        let id = message.get("id").and_then(Value::as_str).ok_or(BadEvent::Message("id"))?;
        let favorite = message.get("metadata").and_then(|metadata| metadata.get("favorite")).and_then(Value::as_bool);
        Ok(Self { id: id.into(), favorite: favorite.unwrap_or(false) })
    }
}

/// A key that is text, null or absent.
fn text(step: &mut Map<String, Value>, key: &'static str) -> Result<Option<String>, BadEvent> {
    match step.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(BadEvent::Message(key)),
    }
}

/// A key that is an object, null or absent.
fn optional_object(step: &mut Map<String, Value>, key: &'static str) -> Result<Option<Map<String, Value>>, BadEvent> {
    match step.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(BadEvent::Message(key)),
    }
}

fn object(value: Value) -> Result<Map<String, Value>, BadEvent> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(BadEvent::Argument("values")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stock() -> Value {
        json!({"message": {"threadId": "", "id": "0b0c7a60-6f0c-4f9f-8a54-0f5b3c1f4e11", "name": "bob",
            "type": "user_message", "output": "hi", "createdAt": "2026-01-01T10:00:00.000Z",
            "metadata": {"location": "https://host/"}}, "fileReferences": [{"id": "f"}]})
    }

    #[test]
    fn a_stock_message_is_read() {
        let event = ClientEvent::parse("client_message", vec![stock()]).unwrap();
        let ClientEvent::Message(message) = event else { panic!("{event:?}") };
        assert_eq!((message.output.as_str(), message.files.len()), ("hi", 1));
    }

    #[test]
    fn every_key_of_a_message_is_checked() {
        for key in [
            "id",
            "output",
            "createdAt",
            "type",
            "name",
            "threadId",
            "parentId",
            "command",
            "modes",
            "metadata",
            "language",
        ] {
            for wrong in [json!(7), json!([1]), json!(true), json!([{"a": 1}])] {
                let mut argument = stock();
                argument["message"][key] = wrong;
                let error = ClientEvent::parse("client_message", vec![argument]).unwrap_err();
                assert_eq!(error, BadEvent::Message(key));
            }
        }
        for (key, wrong) in [("message", json!("x")), ("fileReferences", json!("x")), ("fileReferences", json!([1]))] {
            let mut argument = stock();
            argument[key] = wrong;
            assert!(ClientEvent::parse("client_message", vec![argument]).is_err());
        }
    }

    #[test]
    fn unknown_events_and_missing_arguments_are_named() {
        assert_eq!(ClientEvent::parse("hijack", vec![]), Err(BadEvent::Unknown));
        assert_eq!(ClientEvent::parse("client_message", vec![]), Err(BadEvent::Message("envelope")));
        assert_eq!(ClientEvent::parse("chat_settings_change", vec![json!(1)]), Err(BadEvent::Argument("values")));
        assert_eq!(ClientEvent::parse("stop", vec![json!("extra")]), Ok(ClientEvent::Stop));
    }

    #[test]
    fn every_event_is_read() {
        let step = json!({"id": "M", "output": "new", "type": "user_message", "metadata": {"favorite": true}});
        let chunk = json!({"isStart": true, "mimeType": "pcm16", "elapsedTime": 12.5, "data": {"_placeholder": true}});
        let values = json!({"Model": "a", "Temperature": 0.5, "Name": null});
        let mut message = stock();
        message["message"]["parentId"] = json!("P");
        message["message"]["command"] = json!("Search");
        message["message"]["modes"] = json!({"llm": "a"});
        message["message"]["language"] = json!("json");
        let events = [
            ("connection_successful", vec![]),
            ("fetch_favorites", vec![]),
            ("client_message", vec![message]),
            ("edit_message", vec![json!({"message": step})]),
            ("message_favorite", vec![json!({"message": step})]),
            ("stop", vec![]),
            ("clear_session", vec![]),
            ("window_message", vec![json!(["anything"])]),
            ("audio_start", vec![]),
            ("audio_chunk", vec![chunk]),
            ("audio_end", vec![]),
            ("chat_settings_change", vec![values.clone()]),
            ("chat_settings_edit", vec![values]),
        ];
        let read = events.map(|(name, args)| (name, ClientEvent::parse(name, args).unwrap()));
        insta::assert_debug_snapshot!(read);
    }
}
