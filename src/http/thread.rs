//! Stored threads: list, read, rename, delete (chat-wire 6.5). Somebody else's thread looks like none.

use std::borrow::Borrow;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Json as Body, Path, Visitor};
use super::share::is_shown_to;
use super::{ApiError, Http, Shared};
use crate::id::{ElementId, RecordId, ThreadId};
use crate::protocol::{Element, Thread, ThreadPage, User};
use crate::record::{Fact, Record, Source, ThreadUpdate, address};
use crate::store::{Append, Refused, StoreError, Stored, ThreadQuery};

/// The largest page of the list.
const LARGEST_PAGE: u32 = 100;

/// The longest name, in characters.
const LONGEST_NAME: usize = 1000;

#[derive(Deserialize)]
pub(super) struct ListRequest {
    pagination: Pagination,
    #[serde(default)]
    filter: Option<Filter>,
}

#[derive(Deserialize)]
struct Pagination {
    first: u32,
    #[serde(default)]
    cursor: Option<String>,
}

/// Whose threads is the caller's identity and nothing that they may say.
#[derive(Default, Deserialize)]
struct Filter {
    #[serde(default)]
    search: Option<String>,
    #[serde(default)]
    feedback: Option<u8>,
}

/// A page of the caller's threads, newest first.
pub(super) async fn list(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(request): Body<ListRequest>,
) -> Result<Json<ThreadPage>, ApiError> {
    let user = user.ok_or_else(|| ApiError::unauthorized("Unauthorized"))?;
    let filter = request.filter.unwrap_or_default();
    if filter.feedback.is_some_and(|value| value > 1) {
        return Err(ApiError::invalid("literal_error", &["body", "filter", "feedback"], "Input should be 0 or 1"));
    }
    let query = ThreadQuery {
        owner: user.identifier,
        first: request.pagination.first.clamp(1, LARGEST_PAGE),
        cursor: request.pagination.cursor.filter(|cursor| !cursor.chars().any(char::is_control)),
        search: filter.search.filter(|text| !text.is_empty()),
        feedback: filter.feedback,
    };
    Ok(Json(http.store.threads(&query).await?))
}

/// A whole thread.
pub(super) async fn get(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Path(thread): Path<ThreadId>,
) -> Result<Json<Thread>, ApiError> {
    let thread = own(&http, user, thread).await?;
    Ok(Json(whole(&http, &thread.id).await?))
}

/// One element of a thread; null when there is none.
pub(super) async fn element(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Path((thread, element)): Path<(ThreadId, ElementId)>,
) -> Result<Json<Option<Element>>, ApiError> {
    let thread = own(&http, user, thread).await?;
    let Some(element) = usable(element) else { return Ok(Json(None)) };
    let mut element = http.store.element(&thread.id, &element).await?;
    if let Some(element) = &mut element {
        address(&thread.id, element, http.config.root_path.as_str(), None);
    }
    Ok(Json(element))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rename {
    thread_id: ThreadId,
    name: String,
}

/// Gives a thread another name. When this answers, the record is stored.
pub(super) async fn rename(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(body): Body<Rename>,
) -> Result<Json<Value>, ApiError> {
    let thread = own(&http, user, body.thread_id).await?;
    if body.name.chars().count() > LONGEST_NAME {
        return Err(ApiError::invalid("string_too_long", &["body", "name"], "The name is too long"));
    }
    // PostgreSQL does not store it, and a record that is refused there would mark the thread as incomplete.
    if body.name.contains('\0') {
        return Err(ApiError::invalid("value_error", &["body", "name"], "The name holds a character that is none"));
    }
    let update = ThreadUpdate { name: Some(body.name.clone()), ..ThreadUpdate::default() };
    append(&http, &thread, Fact::ThreadUpdated(update)).await?;
    http.live.thread_renamed(&thread.id, &body.name).await;
    Ok(Json(json!({"success": true})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Named {
    thread_id: ThreadId,
}

/// Deletes a thread: what is stored first, so that whatever still speaks into it is refused; then what is live.
pub(super) async fn delete(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Body(body): Body<Named>,
) -> Result<Json<Value>, ApiError> {
    let thread = own(&http, user, body.thread_id).await?;
    if !delete_now(&http, &thread.id).await? {
        return Err(unknown());
    }
    Ok(Json(json!({"success": true})))
}

/// Deletes a thread that the caller may delete. False when there is none any more.
pub(super) async fn delete_now(http: &Http, thread: &ThreadId) -> Result<bool, StoreError> {
    if !http.store.delete_thread(thread).await? {
        return Ok(false);
    }
    http.files.look();
    http.live.thread_deleted(thread).await;
    Ok(true)
}

/// A thread that the caller may read and write.
pub(super) struct Own {
    pub(super) id: ThreadId,
    pub(super) owner: Option<String>,
}

/// The caller's own thread. To everybody else it is unknown: a 401 would also send the page to its login.
pub(super) async fn own(http: &Http, user: Option<User>, thread: ThreadId) -> Result<Own, ApiError> {
    let user = user.ok_or_else(unknown)?;
    let id = usable(thread).ok_or_else(unknown)?;
    let head = http.store.thread_head(&id).await?.ok_or_else(unknown)?;
    if head.owner.as_deref() != Some(user.identifier.as_str()) {
        return Err(unknown());
    }
    Ok(Own { id, owner: Some(user.identifier) })
}

/// Whether somebody may read a thread and what its elements show: it is theirs, or shown to them.
///
/// # Errors
/// 404 when they may not, or there is none.
pub(super) async fn may_read(http: &Http, user: Option<&User>, thread: &ThreadId) -> Result<(), ApiError> {
    let id = usable(thread.clone()).ok_or_else(unknown)?;
    let head = http.store.thread_head(&id).await?.ok_or_else(unknown)?;
    let is_theirs = user.is_some_and(|user| head.owner.as_deref() == Some(user.identifier.as_str()));
    if is_theirs || is_shown_to(http, user, &id).await? { Ok(()) } else { Err(unknown()) }
}

/// A thread as pages read it, its elements addressed.
pub(super) async fn whole(http: &Http, id: &ThreadId) -> Result<Thread, ApiError> {
    let mut thread = http.store.thread(id).await?.ok_or_else(unknown)?.thread;
    for element in &mut thread.elements {
        address(id, element, http.config.root_path.as_str(), None);
    }
    Ok(thread)
}

/// Stores one fact of a thread. Another owner who took its place meanwhile is refused by the statement itself.
pub(super) async fn append(http: &Http, thread: &Own, fact: Fact) -> Result<(), ApiError> {
    let record =
        Record { id: RecordId::random(), execution: None, source: Source::User, produced_at: http.clock.now(), fact };
    let append = Append { thread: thread.id.clone(), owner: thread.owner.clone(), records: vec![record], hinge: None };
    match http.journal.submit_or_withdraw(append).await.await? {
        Ok(stored) => match stored.first() {
            Some(Stored::Appended(_) | Stored::Duplicate(_)) => Ok(()),
            Some(Stored::Rejected(_)) => {
                Err(ApiError::invalid("value_error", &["body"], "The database cannot store this text"))
            }
            other => Err(ApiError::internal(&format!("a change of a thread was not stored: {other:?}"))),
        },
        Err(Refused::NotYours | Refused::Deleted | Refused::NoThread) => Err(unknown()),
    }
}

/// An id that a database can look for: some never take control characters.
pub(super) fn usable<T: Borrow<str>>(id: T) -> Option<T> {
    let text: &str = id.borrow();
    (!text.is_empty() && text.len() <= 255 && !text.chars().any(char::is_control)).then_some(id)
}

pub(super) fn unknown() -> ApiError {
    ApiError::not_found("Thread not found")
}
