//! `DELETE /sessions/{id}`: the same as deleting the thread on a page.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::access::Access;
use super::error::RecordError;
use crate::http::Shared;
use crate::http::thread::delete_now;

/// Deletes a thread with its records, in one transaction; then what is live on it.
pub(super) async fn remove(State(http): State<Shared>, access: Access) -> Result<Json<Value>, RecordError> {
    let access = access.owner()?;
    if !delete_now(&http, &access.thread).await? {
        return Err(RecordError::no_session());
    }
    Ok(Json(json!({ "status": "deleted", "session_id": access.thread })))
}
