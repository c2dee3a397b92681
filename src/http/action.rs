//! Buttons that were pressed (chat-wire 6.6).

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::extract::{Json as Body, Visitor};
use super::{ApiError, Shared, session};
use crate::id::{ActionId, SessionId, StepId};
use crate::protocol::Action;

/// The button as the page sends it back; further keys are the page's own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pressed {
    action: Button,
    session_id: SessionId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Button {
    #[serde(default)]
    id: Option<ActionId>,
    name: String,
    payload: Map<String, Value>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    tooltip: Option<String>,
    #[serde(default)]
    icon: Option<String>,
    #[serde(default)]
    for_id: Option<StepId>,
}

/// Calls the button's hook and gives what it returned. A hook that fails answers null; the chat says why.
pub(super) async fn press(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(Pressed { action, session_id }): Body<Pressed>,
) -> Result<Json<Value>, ApiError> {
    let visit = session::of(&http, user.as_ref(), &session_id)?;
    if !http.app.hooks().actions.contains_key(&action.name) {
        return Err(ApiError::not_found(&format!("No callback found for action {}", action.name)));
    }
    let Button { id, name, payload, label, tooltip, icon, for_id } = action;
    let (id, label) = (id.unwrap_or_else(ActionId::random), label.unwrap_or_default());
    let action = Action { id, name, payload, label, tooltip: tooltip.unwrap_or_default(), icon, for_id };
    let response = visit.act(action).await?;
    Ok(Json(json!({"success": true, "response": response})))
}
