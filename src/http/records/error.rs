//! What went wrong, as clients of the records are told: `{"code", "message", "retryable", …}` (records.md 3.7). Codes
//! are stable; a message never repeats what somebody said.

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use tracing::error;

use crate::auth::AuthError;
use crate::http::ApiError;
use crate::journal::JournalError;
use crate::record::BadCursor;
use crate::store::StoreError;

/// An answer that is not a success.
#[derive(Clone, Debug)]
pub(in crate::http) struct RecordError {
    status: StatusCode,
    code: &'static str,
    message: &'static str,
    retryable: bool,
    details: Option<Map<String, Value>>,
}

impl RecordError {
    const fn new(status: StatusCode, code: &'static str, message: &'static str) -> Self {
        Self { status, code, message, retryable: false, details: None }
    }

    /// 400.
    pub(in crate::http) const fn invalid(message: &'static str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// 404: the records are switched off.
    pub(super) const fn switched_off() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "There is nothing here.")
    }

    /// 404: there is no such session, or it is somebody else's.
    pub(in crate::http) const fn no_session() -> Self {
        Self::new(StatusCode::NOT_FOUND, "session_not_found", "There is no such session.")
    }

    /// 409: a position beyond the end.
    pub(super) fn ahead(latest: u64) -> Self {
        Self::new(StatusCode::CONFLICT, "cursor_ahead", "The cursor is ahead of this history; take a new snapshot.")
            .with("latest_sequence", latest.into())
    }

    /// 409: a position of another life of the numbering, or of another session.
    pub(super) fn mismatch(latest: u64) -> Self {
        let message = "The cursor does not belong to this history; take a new snapshot.";
        Self::new(StatusCode::CONFLICT, "cursor_mismatch", message).with("latest_sequence", latest.into())
    }

    /// 409: something else runs than was expected.
    pub(super) fn other_execution(running: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "execution_mismatch", "Another execution is running.")
            .with("execution_id", running.into())
    }

    /// 409: the key was used for another request.
    pub(super) const fn key_reused() -> Self {
        let message = "This Idempotency-Key was used for another request.";
        Self::new(StatusCode::CONFLICT, "idempotency_key_reused", message)
    }

    /// 429: so many streams there may be.
    pub(super) const fn too_many_streams() -> Self {
        let message = "There are too many streams; close one.";
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", message);
        error.retryable = true;
        error
    }

    /// 503.
    pub(in crate::http) const fn unavailable() -> Self {
        let message = "The server cannot reach its store, try again in a moment.";
        Self {
            status: StatusCode::SERVICE_UNAVAILABLE,
            code: "service_unavailable",
            message,
            retryable: true,
            details: None,
        }
    }

    /// 500 for what must not happen; `why` is for the log.
    pub(super) fn internal(why: &dyn std::fmt::Display) -> Self {
        error!(%why, "a request for records failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "Something went wrong here.")
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.details.get_or_insert_default().insert(key.to_owned(), value);
        self
    }

    /// Whether it is the reader's position that is refused.
    pub(super) fn is_of_position(&self) -> bool {
        self.code.starts_with("cursor_")
    }

    /// Where the history ends, as far as the error says it.
    pub(super) fn latest(&self) -> u64 {
        self.details.as_ref().and_then(|details| details.get("latest_sequence")?.as_u64()).unwrap_or_default()
    }

    /// The stable code.
    pub(in crate::http) fn code(&self) -> &'static str {
        self.code
    }
}

impl IntoResponse for RecordError {
    fn into_response(self) -> Response {
        let mut body = json!({ "code": self.code, "message": self.message, "retryable": self.retryable });
        if let Some(details) = self.details {
            body["details"] = details.into();
        }
        let mut response = (self.status, Json(body)).into_response();
        if self.retryable {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<AuthError> for RecordError {
    fn from(_: AuthError) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "not_authenticated", "Sign in first.")
    }
}

impl From<BadCursor> for RecordError {
    fn from(_: BadCursor) -> Self {
        Self::invalid("This is not a cursor.")
    }
}

impl From<StoreError> for RecordError {
    /// What the database said is logged here and stays here.
    fn from(why: StoreError) -> Self {
        match why {
            StoreError::Unavailable(source) => {
                error!(%source, "store not available");
                Self::unavailable()
            }
            StoreError::Corrupt(_) | StoreError::Refused(_) => Self::internal(&why),
        }
    }
}

impl From<JournalError> for RecordError {
    fn from(why: JournalError) -> Self {
        match why {
            JournalError::Unavailable | JournalError::Stopped | JournalError::Full => Self::unavailable(),
            JournalError::Broken => Self::internal(&why),
        }
    }
}

impl From<ApiError> for RecordError {
    /// It was logged where it was made.
    fn from(why: ApiError) -> Self {
        match why.status_code() {
            StatusCode::SERVICE_UNAVAILABLE => Self::unavailable(),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", "Something went wrong here."),
        }
    }
}
