//! Whether the server lives, and whether it should get requests.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::store::Store;

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
    match obstacle(&*http.store, &http.stopping).await {
        None => Json(json!({"status": "ready"})).into_response(),
        Some(status) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": status}))).into_response(),
    }
}

/// Why requests had better go elsewhere.
async fn obstacle(store: &dyn Store, stopping: &CancellationToken) -> Option<&'static str> {
    if stopping.is_cancelled() {
        return Some("stopping");
    }
    match timeout(PATIENCE, store.ping()).await {
        Ok(Ok(())) => None,
        Ok(Err(_)) | Err(_) => Some("store not available"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{OpenOptions, open};

    #[tokio::test]
    async fn a_server_is_not_ready_without_its_store_nor_while_it_stops() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("chat.db").display());
        let store = open(&url, OpenOptions::default()).await.unwrap();
        let stopping = CancellationToken::new();
        assert_eq!(obstacle(&*store, &stopping).await, None);
        store.close().await;
        assert_eq!(obstacle(&*store, &stopping).await, Some("store not available"));
        stopping.cancel();
        assert_eq!(obstacle(&*store, &stopping).await, Some("stopping"));
    }
}
