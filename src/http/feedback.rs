//! Votes. Not built yet.

use super::ApiError;
use super::extract::Visitor;

/// The page shows this to whoever votes.
pub(super) async fn unavailable(_: Visitor) -> ApiError {
    ApiError::not_found("Feedback is not available")
}
