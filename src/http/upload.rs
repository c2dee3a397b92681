//! Uploads (chat-wire 6.7): from the line to the storage, a buffer at a time.

use std::io;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::{error, info};

use super::accept::Rules;
use super::extract::{Query, Visitor};
use super::kept;
use super::multipart::{BadParts, Part, Parts};
use super::{ApiError, Http, Shared, session};
use crate::file::{ReceiveError, Upload, file_name, mime_type};
use crate::id::{SessionId, StepId};
use crate::protocol::{StoredFile, User};

#[derive(Deserialize)]
pub(super) struct ForSession {
    session_id: Option<String>,
    ask_parent_id: Option<StepId>,
}

/// Takes a file for a session. When this answers 200, messages and answers of the session may refer to the file, which
/// survives a crash. Somebody else's session looks like none.
pub(super) async fn upload(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Query(query): Query<ForSession>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let mut parts = Parts::of(request).ok_or_else(no_file)?;
    let taken = take(&http, user.as_ref(), query, &mut parts).await;
    parts.drain().await;
    Ok(Json(json!({"id": taken?.id})))
}

async fn take(http: &Http, user: Option<&User>, query: ForSession, parts: &mut Parts) -> Result<StoredFile, ApiError> {
    let session = query.session_id.ok_or_else(|| ApiError::missing(&["query", "session_id"]))?;
    let session = SessionId::from(session.as_str());
    let visit = session::of(http, user, &session)?;
    let parent = query.ask_parent_id.filter(|parent| !parent.as_str().is_empty());
    let question = visit.file_question(parent.as_ref()).map_err(|_| ApiError::not_found("Parent message not found"))?;
    let rules = match &question {
        Some(question) => Rules::of_question(question),
        None => Rules::of_composer(visit.config().features.spontaneous_file_upload.as_ref()),
    };
    let rules = rules.ok_or_else(|| ApiError::bad_request("File upload is not enabled"))?;

    let (sent, mime) = loop {
        match parts.next().await? {
            Some(Part { name, file_name: Some(file_name), mime }) if name == "file" => break (file_name, mime),
            Some(_) => {}
            None => return Err(no_file()),
        }
    };
    let name = file_name(&sent).map_err(|bad| ApiError::bad_request(&bad.to_string()))?.to_owned();
    let mime = mime_type(mime.as_deref());
    if !rules.take(&mime, &name) {
        return Err(ApiError::bad_request("File type not allowed"));
    }
    let upload = Upload { place: visit.place(), name, mime, most: rules.most };
    let content = stream::unfold(parts, |parts| async {
        let chunk = parts.chunk().await.map_err(io::Error::other).transpose()?;
        Some((chunk, parts))
    });
    let file = http.files.receive(upload, Box::pin(content)).await?;
    info!(?session, file = %file.id, bytes = file.size, "file uploaded");
    visit.uploaded(file.clone());
    Ok(file)
}

fn no_file() -> ApiError {
    ApiError::missing(&["body", "file"])
}

impl From<BadParts> for ApiError {
    fn from(bad: BadParts) -> Self {
        match bad {
            BadParts::Silent => Self::status(StatusCode::REQUEST_TIMEOUT, "The upload stood still for too long"),
            BadParts::Broken(_) => Self::bad_request("The upload cannot be read"),
        }
    }
}

impl From<ReceiveError> for ApiError {
    fn from(failed: ReceiveError) -> Self {
        match failed {
            ReceiveError::TooLarge => Self::bad_request("File size too large"),
            ReceiveError::Content(_) => Self::bad_request("The upload broke off"),
            ReceiveError::Storage(why) => {
                error!(%why, "a file cannot be kept");
                kept::away()
            }
            ReceiveError::Store(why) => why.into(),
        }
    }
}
