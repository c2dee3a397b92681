//! The live session that a request is for.

use super::ApiError;
use crate::chat::FileError;
use crate::session::NotTalking;

/// There is no such session, or it is somebody else's: the two look alike.
pub(super) fn unknown() -> ApiError {
    ApiError::not_found("Session not found")
}

impl From<NotTalking> for ApiError {
    fn from(_: NotTalking) -> Self {
        unknown()
    }
}

impl From<FileError> for ApiError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NotFound => Self::not_found("File not found"),
            FileError::Io(why) => {
                tracing::error!(%why, "the storage of files is not available");
                Self::status(
                    axum::http::StatusCode::SERVICE_UNAVAILABLE,
                    "Files cannot be reached, try again in a moment",
                )
            }
        }
    }
}
