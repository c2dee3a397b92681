//! The live session that a request is for.

use super::{ApiError, Http};
use crate::id::SessionId;
use crate::protocol::User;
use crate::session::{NotTalking, Visit};

/// The caller's session.
///
/// # Errors
/// 404 when there is none, and when it is somebody else's: the two look alike.
pub(super) fn of(http: &Http, user: Option<&User>, session: &SessionId) -> Result<Visit, ApiError> {
    http.sessions.visit(session, user).ok_or_else(unknown)
}

fn unknown() -> ApiError {
    ApiError::not_found("Session not found")
}

impl From<NotTalking> for ApiError {
    fn from(_: NotTalking) -> Self {
        unknown()
    }
}
