//! Custom elements, as their components change them and take themselves away (chat-wire 6.6).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::extract::{Json as Body, Visitor};
use super::{ApiError, Shared, session};
use crate::chat::{Content, FileKeeper, NewFile};
use crate::conversation::ElementChange;
use crate::id::{ElementId, SessionId};
use crate::protocol::Display;

/// The longest name of a component, in bytes.
const LONGEST_NAME: usize = 255;

/// An element as a component sends it. What is not named here cannot be changed: no url, no path, no owner.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    element: Sent,
    session_id: SessionId,
}

#[derive(Deserialize)]
struct Sent {
    id: ElementId,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    props: Option<Map<String, Value>>,
    #[serde(default)]
    display: Display,
}

/// Gives a custom element other properties, on every page and in the store. Other kinds are left as they are, which the
/// answer says.
pub(super) async fn change(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(Request { element, session_id }): Body<Request>,
) -> Result<Json<Value>, ApiError> {
    let visit = session::of(&http, user.as_ref(), &session_id)?;
    if element.kind != "custom" {
        return Ok(Json(json!({"success": false})));
    }
    let Sent { id, name, props, display, .. } = element;
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(ApiError::invalid("value_error", &["body", "element", "name"], "Not the name of a component"));
    }
    let props = props.unwrap_or_default();
    let content = Content::from(Value::Object(props.clone()).to_string());
    let new = NewFile { name: name.clone(), mime: "application/json".to_owned(), content };
    let file = http.files.keep(&visit.place(), new).await?;
    let change = ElementChange { id, name, props, display, file: file.id };
    if visit.change_element(change).await? { Ok(Json(json!({"success": true}))) } else { Err(unknown()) }
}

/// Takes a custom element away, from every page and from the store.
pub(super) async fn remove(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(Request { element, session_id }): Body<Request>,
) -> Result<Json<Value>, ApiError> {
    let visit = session::of(&http, user.as_ref(), &session_id)?;
    if element.kind != "custom" {
        return Ok(Json(json!({"success": false})));
    }
    if visit.remove_element(element.id).await? { Ok(Json(json!({"success": true}))) } else { Err(unknown()) }
}

fn unknown() -> ApiError {
    ApiError::not_found("Element not found")
}
