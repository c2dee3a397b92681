//! `POST /sessions/{id}/cancel`: the stop button over HTTP. It never says that a run has stopped; that is the event.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::access::Access;
use super::error::RecordError;
use super::orphan::Orphans;
use crate::conversation::{Cancel, Cancelled, Told};
use crate::http::{Http, Shared};
use crate::id::{CommandId, ExecutionId};

/// Which execution the body of a request names; an empty body names none.
fn expected(body: &[u8]) -> Result<Option<ExecutionId>, serde_json::Error> {
    if body.is_empty() {
        return Ok(None);
    }
    let wish: Map<String, Value> = serde_json::from_slice(body)?;
    wish.get("expected_execution_id").map_or(Ok(None), Option::deserialize)
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
    let expected = expected(&body).map_err(|_| RecordError::invalid("The body is not what it must be."))?;
    let place = (access.thread.clone(), key.to_owned());
    let command = http.commands.get(place, expected.clone()).ok_or(RecordError::key_reused())?;
    // An error is no answer: whoever comes again with the key tries again.
    let answer = command.done.get_or_try_init(|| stop(&http, &access, expected)).await?;
    match answer {
        Cancelled::Stopping(command) => {
            Ok((StatusCode::ACCEPTED, Json(json!({ "status": "stopping", "command_id": command }))))
        }
        Cancelled::AlreadyIdle => Ok((StatusCode::OK, Json(json!({ "status": "already_idle" })))),
        Cancelled::Mismatch(running) => Err(RecordError::other_execution(running.as_str())),
    }
}

/// Stops what runs here, and what nobody works on any more.
async fn stop(http: &Http, access: &Access, expected: Option<ExecutionId>) -> Result<Cancelled, RecordError> {
    let command = CommandId::random();
    // Before the conversation is asked: whatever begins later is not among these.
    let open = Orphans::open(http, access).await?;
    let cancel = Cancel { expected: expected.clone(), command: command.clone() };
    let Told { cancelled, runs } = http.live.cancel(&access.thread, cancel).await;
    let mut orphans = open.without(&runs).settled_meanwhile(http, access).await?;
    let newest = orphans.newest().cloned();
    if let Some(expected) = &expected {
        orphans.only(expected);
    }
    let has_some = orphans.newest().is_some();
    orphans.end(http, access, &command).await?;
    Ok(match (cancelled, newest) {
        (Cancelled::Stopping(command), _) => Cancelled::Stopping(command),
        _ if has_some => Cancelled::Stopping(command),
        (Cancelled::AlreadyIdle, Some(newest)) => Cancelled::Mismatch(newest),
        (other, _) => other,
    })
}
