//! Whether the server lives, and whether it should get requests.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Shared;

/// How long the store has to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The process answers.
pub(super) async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `HEAD /`: the process answers, whether a page is there or not.
pub(super) async fn head() -> Response {
    [(CONTENT_TYPE, "application/json")].into_response()
}

/// The server takes requests: it is not stopping and its store answers. Else 503, with the reason.
pub(super) async fn ready(State(http): State<Shared>) -> Response {
    let status = if http.stopping.is_cancelled() {
        "stopping"
    } else {
        match timeout(PATIENCE, http.store.ping()).await {
            Ok(Ok(())) => return Json(json!({"status": "ready"})).into_response(),
            Ok(Err(_)) | Err(_) => "store not available",
        }
    };
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": status}))).into_response()
}
