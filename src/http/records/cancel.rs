//! `POST /sessions/{id}/cancel`: the stop button over HTTP. It never says that a run has stopped; that is the event.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::access::Access;
use super::error::RecordError;
use crate::conversation::Cancelled;
use crate::http::Shared;
use crate::id::ExecutionId;

#[derive(Default, Deserialize)]
struct Wish {
    #[serde(default)]
    expected_execution_id: Option<ExecutionId>,
}

/// Tells what runs on a thread to stop: everything, or the execution that is expected to run. The same key again gets the
/// same answer, and stops nothing that began meanwhile.
pub(super) async fn cancel(
    State(http): State<Shared>,
    access: Access,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), RecordError> {
    let access = access.owner()?;
    let key = headers.get("idempotency-key").and_then(|value| value.to_str().ok()).map(str::trim);
    let key = key.filter(|key| (1..=255).contains(&key.len()));
    let key = key.ok_or(RecordError::invalid("An Idempotency-Key of 1 to 255 characters is needed."))?;
    let wish: Wish = if body.is_empty() {
        Wish::default()
    } else {
        serde_json::from_slice(&body).map_err(|_| RecordError::invalid("The body is not what it must be."))?
    };
    let expected = wish.expected_execution_id;
    let place = (access.thread.clone(), key.to_owned());
    let command = http.commands.get(place, expected.clone()).ok_or(RecordError::key_reused())?;
    let answer = command
        .done
        .get_or_init(|| async {
            let id = uuid::Uuid::new_v4().to_string();
            (id, http.live.cancel(&access.thread, expected).await)
        })
        .await;
    match answer {
        (id, Cancelled::Stopping) => {
            Ok((StatusCode::ACCEPTED, Json(json!({ "status": "stopping", "command_id": id }))))
        }
        (_, Cancelled::AlreadyIdle) => Ok((StatusCode::OK, Json(json!({ "status": "already_idle" })))),
        (_, Cancelled::Mismatch(running)) => Err(RecordError::other_execution(running.as_str())),
    }
}
