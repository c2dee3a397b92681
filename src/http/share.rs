//! Links to threads for others (chat-wire 6.5). A thread that somebody may not see looks like none.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::extract::{Json as Body, Path, Visitor};
use super::thread::{append, own, unknown, usable, whole};
use super::{ApiError, Http, Shared};
use crate::id::ThreadId;
use crate::protocol::{Thread, User};
use crate::record::{Fact, ThreadUpdate};

/// Keys of a thread's metadata that are its owner's alone.
pub(super) const PRIVATE: [&str; 3] = ["chat_profile", "chat_settings", "env"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Share {
    thread_id: ThreadId,
    is_shared: bool,
}

/// Shares a thread of the caller's, or takes that back. When this answers, the record is stored.
pub(super) async fn set(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(body): Body<Share>,
) -> Result<Json<Value>, ApiError> {
    let thread = own(&http, user, body.thread_id).await?;
    // Null takes the key away.
    let since = if body.is_shared { json!(http.clock.now()) } else { Value::Null };
    let metadata = Map::from_iter([("is_shared".into(), json!(body.is_shared)), ("shared_at".into(), since)]);
    append(&http, &thread, Fact::ThreadUpdated(ThreadUpdate { metadata, ..ThreadUpdate::default() })).await?;
    Ok(Json(json!({"success": true})))
}

/// A thread for somebody who has its link.
pub(super) async fn get(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Path(thread): Path<ThreadId>,
) -> Result<Json<Thread>, ApiError> {
    let id = usable(thread).ok_or_else(unknown)?;
    // Somebody who may not see it costs a glance at its head, not a whole thread.
    let head = http.store.thread_head(&id).await?.ok_or_else(unknown)?;
    if !is_shared(&head.metadata) && !http.answers.decides_views() {
        return Err(unknown());
    }
    let mut thread = whole(&http, &id).await?;
    if !is_shared(&thread.metadata) && !is_let(&http, user.as_ref(), &thread).await {
        return Err(unknown());
    }
    thread.metadata.retain(|key, _| !PRIVATE.contains(&key.as_str()));
    if thread.user_identifier != user.map(|user| user.identifier) {
        // What its owner thinks of an answer is between them and the application.
        for step in &mut thread.steps {
            step.feedback = None;
            step.metadata.remove("favorite");
        }
    }
    Ok(Json(thread))
}

/// Whether somebody may see a thread whose owner they need not be: it is shared, or the application says so.
pub(super) async fn is_shown_to(http: &Http, user: Option<&User>, thread: &ThreadId) -> Result<bool, ApiError> {
    let Some(head) = http.store.thread_head(thread).await? else { return Ok(false) };
    if is_shared(&head.metadata) {
        return Ok(true);
    }
    if !http.answers.decides_views() {
        return Ok(false);
    }
    let Some(stored) = http.store.thread(thread).await? else { return Ok(false) };
    Ok(is_let(http, user, &stored.thread).await)
}

/// Whether its owner has shared a thread.
fn is_shared(metadata: &Map<String, Value>) -> bool {
    metadata.get("is_shared") == Some(&Value::Bool(true))
}

/// Whether the application lets somebody see a thread that its owner did not share.
async fn is_let(http: &Http, user: Option<&User>, thread: &Thread) -> bool {
    http.answers.decides_views() && http.answers.may_view(thread.clone(), user.cloned()).await
}
