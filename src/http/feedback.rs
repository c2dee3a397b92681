//! Votes on answers (chat-wire 5.6, 6.5). One step has one vote; somebody else's step looks like none.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Json as Body, Visitor};
use super::thread::{Own, append, unknown, usable};
use super::{ApiError, Http, Shared};
use crate::id::{FeedbackId, SessionId, StepId, ThreadId};
use crate::protocol::{Feedback, User};
use crate::record::Fact;

/// The longest comment, in characters.
const LONGEST_COMMENT: usize = 20_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Vote {
    feedback: Feedback,
    #[serde(default)]
    session_id: Option<String>,
}

/// Votes, or changes a vote. When this answers, the record is stored and the application has heard of it.
pub(super) async fn set(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(Vote { feedback, session_id }): Body<Vote>,
) -> Result<Json<Value>, ApiError> {
    if feedback.value > 1 {
        return Err(ApiError::invalid("literal_error", &["body", "feedback", "value"], "Input should be 0 or 1"));
    }
    if let Some(comment) = &feedback.comment {
        let place = ["body", "feedback", "comment"];
        if comment.chars().count() > LONGEST_COMMENT {
            return Err(ApiError::invalid("string_too_long", &place, "The comment is too long"));
        }
        // PostgreSQL does not store it, and a record that is refused there would mark the thread as incomplete.
        if comment.contains('\0') {
            return Err(ApiError::invalid("value_error", &place, "The comment holds a character that is none"));
        }
    }
    let step = usable(feedback.for_id.clone()).ok_or_else(unknown)?;
    let thread = voted_on(&http, user.as_ref(), session_id.as_deref(), &step, feedback.thread_id.as_ref()).await?;
    let known = known_vote(&http, &thread, feedback.id.as_ref(), &step).await?;
    let id = known.unwrap_or_else(FeedbackId::random);
    let vote = Feedback { id: Some(id.clone()), thread_id: Some(thread.id.clone()), ..feedback };
    append(&http, &thread, Fact::FeedbackSet(vote.clone())).await?;
    http.answers.voted(vote, user).await;
    Ok(Json(json!({"success": true, "feedbackId": id})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Named {
    feedback_id: FeedbackId,
}

/// Takes a vote back. It is no mistake to take back what is not there; somebody else's vote is not there.
pub(super) async fn remove(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(body): Body<Named>,
) -> Result<Json<Value>, ApiError> {
    let done = Json(json!({"success": true}));
    let Some(id) = usable(body.feedback_id) else { return Ok(done) };
    let owner = user.map(|user| user.identifier);
    let vote = http.store.vote(owner.as_deref(), &id).await?;
    let Some(thread) = vote.and_then(|vote| vote.thread_id) else { return Ok(done) };
    append(&http, &Own { id: thread, owner }, Fact::FeedbackRemoved(id)).await?;
    Ok(done)
}

/// The caller's thread that the step is in. Whoever has no name shows by their session that the thread is theirs.
async fn voted_on(
    http: &Http,
    user: Option<&User>,
    session: Option<&str>,
    step: &StepId,
    named: Option<&ThreadId>,
) -> Result<Own, ApiError> {
    let owner = user.map(|user| user.identifier.clone());
    let found = http.store.step(owner.as_deref(), step).await?.ok_or_else(unknown)?.thread_id;
    if named.is_some_and(|named| *named != found) {
        return Err(unknown());
    }
    if user.is_none() {
        let visit = session.and_then(|session| http.sessions.visit(&SessionId::from(session), None));
        if visit.is_none_or(|visit| visit.place().thread != found) {
            return Err(unknown());
        }
    }
    Ok(Own { id: found, owner })
}

/// The id of the vote that is changed. One that is not there, or is on something else, is not changed: the vote is new.
async fn known_vote(
    http: &Http,
    thread: &Own,
    id: Option<&FeedbackId>,
    step: &StepId,
) -> Result<Option<FeedbackId>, ApiError> {
    let Some(id) = id.cloned().and_then(usable) else { return Ok(None) };
    let vote = http.store.vote(thread.owner.as_deref(), &id).await?;
    let same = vote.is_some_and(|vote| vote.for_id == *step && vote.thread_id.as_ref() == Some(&thread.id));
    Ok(same.then_some(id))
}
