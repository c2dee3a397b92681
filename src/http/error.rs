//! What went wrong, as a page is told: a status and `{"detail": …}` (chat-wire 6.1).

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tracing::error;

use crate::auth::AuthError;
use crate::journal::JournalError;
use crate::store::StoreError;

/// An answer that is not a success. Where a person sees `detail`, it is a text for them.
#[derive(Debug)]
pub struct ApiError {
    status: StatusCode,
    detail: Value,
}

impl ApiError {
    fn new(status: StatusCode, detail: impl Into<Value>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// 400.
    pub(super) fn bad_request(detail: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 401. The page leaves for its login.
    pub(super) fn unauthorized(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
    }

    /// 404.
    pub(super) fn not_found(detail: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// 405.
    pub(super) fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
    }

    /// 422: `place` of the request is not what it must be. The detail is a list, as clients of such servers know it.
    pub(super) fn invalid(kind: &str, place: &[&str], message: impl Into<String>) -> Self {
        let message: String = message.into();
        let detail = json!([{"type": kind, "loc": place, "msg": message, "input": null}]);
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// 422: `place` is not there.
    pub(super) fn missing(place: &[&str]) -> Self {
        Self::invalid("missing", place, "Field required")
    }

    /// Another status.
    pub(super) fn status(status: StatusCode, detail: &str) -> Self {
        Self::new(status, detail)
    }

    /// Its status.
    pub(super) fn status_code(&self) -> StatusCode {
        self.status
    }

    /// 500 for what must not happen; `why` is for the log.
    pub(super) fn internal(why: &dyn std::fmt::Display) -> Self {
        error!(%why, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(json!({"detail": self.detail}))).into_response()
    }
}

impl From<AuthError> for ApiError {
    fn from(_: AuthError) -> Self {
        Self::unauthorized("Invalid authentication token")
    }
}

/// 503, and the page's person may try again.
fn unavailable() -> ApiError {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "The server cannot reach its store, try again in a moment")
}

impl From<StoreError> for ApiError {
    /// What the database said is logged here and stays here.
    fn from(why: StoreError) -> Self {
        match why {
            StoreError::Unavailable(source) => {
                error!(%source, "store not available");
                unavailable()
            }
            StoreError::Corrupt(_) | StoreError::Refused(_) => Self::internal(&why),
        }
    }
}

impl From<JournalError> for ApiError {
    /// The journal has logged why.
    fn from(why: JournalError) -> Self {
        match why {
            JournalError::Unavailable | JournalError::Stopped | JournalError::Full => unavailable(),
            JournalError::Broken => Self::internal(&why),
        }
    }
}
