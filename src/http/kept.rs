//! Files that are kept, and what elements of threads show: whole or in ranges, read from the storage as fast as the
//! client takes them (chat-wire 5.4, 6.7).

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_range_header::{StartPosition, parse_range_header};
use serde::Deserialize;
use tracing::error;

use super::extract::{Path, Query, Visitor};
use super::file::not_found;
use super::thread::{may_read, usable};
use super::{ApiError, Http, Shared};
use crate::chat::FileError;
use crate::file::Opened;
use crate::id::{ElementId, FileId, SessionId, ThreadId};
use crate::protocol::{Element, ElementKind, Timestamp};

#[derive(Deserialize)]
pub(super) struct OfSession {
    session_id: Option<String>,
}

/// A file for the page of a session: one of its own, or of the thread that it is on. Any other looks like none.
pub(super) async fn of_session(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Path(file): Path<FileId>,
    Query(query): Query<OfSession>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = query.session_id.ok_or_else(|| ApiError::missing(&["query", "session_id"]))?;
    let visit = http.sessions.visit(&SessionId::from(session.as_str()), user.as_ref()).ok_or_else(not_found)?;
    let file = usable(file).ok_or_else(not_found)?;
    let row = http.files.find(&file).await?.filter(|row| visit.may_see(&row.session, &row.thread));
    let row = row.ok_or_else(not_found)?;
    let content = Content { key: file.as_str(), mime: &row.file.mime, since: Some(row.created_at) };
    content.answer(&http, &headers).await
}

/// The bytes of a thread's element, for whoever may read the thread.
pub(super) async fn of_element(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Path((thread, element)): Path<(ThreadId, ElementId)>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    may_read(&http, user.as_ref(), &thread).await?;
    let element = usable(element).ok_or_else(not_found)?;
    let element = http.store.element(&thread, &element).await?.ok_or_else(not_found)?;
    let row = match element.chainlit_key.clone().and_then(usable) {
        Some(key) => http.files.find(&key).await?,
        None => None,
    };
    let stored = row.as_ref().map(|row| row.file.mime.as_str());
    let mime = content_type(&element, stored);
    let content = match (&row, &element.object_key) {
        (Some(row), _) => Content { key: row.file.id.as_str(), mime: &mime, since: Some(row.created_at) },
        // Another program kept it in the same storage.
        (None, Some(key)) => Content { key, mime: &mime, since: None },
        (None, None) => return Err(not_found()),
    };
    content.answer(&http, &headers).await
}

/// What the page needs the bytes of an element to be called, or it breaks (chat-wire 5.4).
fn content_type(element: &Element, stored: Option<&str>) -> String {
    let known = stored.or(element.mime.as_deref()).map(str::to_ascii_lowercase);
    let by_name = || mime_guess::from_path(&element.name).first_raw().map(str::to_owned);
    let some_of = |families: &[&str]| {
        let fits = |mime: &String| families.iter().any(|family| mime.starts_with(family));
        known.clone().filter(fits).or_else(|| by_name().filter(fits))
    };
    let bytes = || "application/octet-stream".to_owned();
    match element.kind {
        ElementKind::Image => some_of(&["image/"]).unwrap_or_else(bytes),
        ElementKind::Audio | ElementKind::Video => some_of(&["audio/", "video/"]).unwrap_or_else(bytes),
        ElementKind::Pdf => "application/pdf".to_owned(),
        // Never as JSON: the page would be given an object.
        ElementKind::Text => "text/plain".to_owned(),
        ElementKind::Dataframe => bytes(),
        ElementKind::Plotly | ElementKind::Tasklist | ElementKind::Custom => "application/json".to_owned(),
        ElementKind::File => known.or_else(by_name).unwrap_or_else(bytes),
    }
}

/// Bytes in the storage and how they are called.
struct Content<'a> {
    key: &'a str,
    mime: &'a str,
    since: Option<Timestamp>,
}

/// Marks an answer that goes as it is: compressed, it would have neither a length nor ranges.
#[derive(Clone)]
pub(super) struct AsItIs;

impl Content<'_> {
    async fn answer(&self, http: &Http, request: &HeaderMap) -> Result<Response, ApiError> {
        let opened = http.files.open(self.key).await.map_err(unreachable)?.ok_or_else(not_found)?;
        let length = opened.length;
        let modified = date(self.since.unwrap_or(opened.modified));
        // What is under a key never changes; a key of another program may be written again.
        let etag = match self.since {
            Some(_) => format!("\"{}\"", self.key),
            None => format!("\"{:x}-{length:x}\"", opened.modified.as_micros()),
        };
        let says = |name: HeaderName| request.get(name).and_then(|value| value.to_str().ok());
        let head = self.head(&etag, &modified)?;
        if says(IF_NONE_MATCH).is_some_and(|known| known.split(',').any(|known| same(known, &etag))) {
            return Ok((StatusCode::NOT_MODIFIED, head).into_response());
        }
        // A part of what has changed since is of no use.
        let unchanged = says(IF_RANGE).is_none_or(|known| known == etag || known == modified);
        let range = match says(RANGE).filter(|_| unchanged).map(|text| range(text, length)) {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(range))) => Some(range),
            Some(Err(Unsatisfiable)) => {
                let whole = [(CONTENT_RANGE, format!("bytes */{length}"))];
                return Ok((StatusCode::RANGE_NOT_SATISFIABLE, head, whole).into_response());
            }
        };
        let mut response = match range {
            None => {
                let size = [(CONTENT_LENGTH, length.to_string())];
                (head, size, body(opened, 0..length).await?).into_response()
            }
            Some(range) => {
                let (first, last) = (range.start, range.end - 1);
                let size = [
                    (CONTENT_LENGTH, (range.end - range.start).to_string()),
                    (CONTENT_RANGE, format!("bytes {first}-{last}/{length}")),
                ];
                (StatusCode::PARTIAL_CONTENT, head, size, body(opened, range).await?).into_response()
            }
        };
        response.extensions_mut().insert(AsItIs);
        Ok(response)
    }

    fn head(&self, etag: &str, modified: &str) -> Result<HeaderMap, ApiError> {
        let text = self.mime.starts_with("text/");
        let mime = if text { format!("{}; charset=utf-8", self.mime) } else { self.mime.to_owned() };
        let value = |text: &str| HeaderValue::from_str(text).map_err(|why| ApiError::internal(&why));
        let mut head = HeaderMap::new();
        // A type that another program wrote may be no header at all.
        let bytes = HeaderValue::from_static("application/octet-stream");
        head.insert(CONTENT_TYPE, HeaderValue::from_str(&mime).unwrap_or(bytes));
        head.insert(ETAG, value(etag)?);
        head.insert(LAST_MODIFIED, value(modified)?);
        head.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        head.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // It is somebody's: no cache on the way keeps it, and a browser asks each time whether it still may show it.
        head.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        if !is_passive(self.mime) {
            head.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX));
        }
        Ok(head)
    }
}

/// Opened by itself, such a document runs no script and has no origin: somebody's HTML must not act as the page.
const SANDBOX: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Whether a browser shows it without running anything. A PDF viewer would not open in a sandbox.
fn is_passive(mime: &str) -> bool {
    let media = ["image/", "audio/", "video/"].iter().any(|family| mime.starts_with(family));
    (media && !mime.contains("xml")) || matches!(mime, "application/pdf" | "application/json" | "text/plain")
}

/// An `If-None-Match` may name it as weak: a proxy that compressed it does.
fn same(known: &str, etag: &str) -> bool {
    let known = known.trim();
    known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag
}

fn date(time: Timestamp) -> String {
    let seconds = u64::try_from(time.as_micros() / 1_000_000).unwrap_or(0);
    httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
}

/// No such bytes.
struct Unsatisfiable;

/// The one range that is wanted; several at once are not given, which is allowed: everything is.
fn range(text: &str, length: u64) -> Result<Option<std::ops::Range<u64>>, Unsatisfiable> {
    let mut parsed = parse_range_header(text).map_err(|_| Unsatisfiable)?;
    if length == 0 {
        return Err(Unsatisfiable);
    }
    for range in &mut parsed.ranges {
        // The last hundred bytes of fifty are all of them.
        if let StartPosition::FromLast(wanted) = &mut range.start {
            *wanted = length.min(*wanted);
        }
    }
    let ranges = parsed.validate(length).map_err(|_| Unsatisfiable)?;
    match &ranges[..] {
        [range] => Ok(Some(*range.start()..range.end() + 1)),
        _ => Ok(None),
    }
}

async fn body(opened: Opened, range: std::ops::Range<u64>) -> Result<Body, ApiError> {
    Ok(Body::from_stream(opened.read(Some(range)).await.map_err(unreachable)?))
}

fn unreachable(why: std::io::Error) -> ApiError {
    error!(%why, "a file cannot be read");
    away()
}

impl From<FileError> for ApiError {
    fn from(failed: FileError) -> Self {
        match failed {
            FileError::NotFound => not_found(),
            FileError::Io(why) => unreachable(why),
        }
    }
}

/// 503: the storage of files is away.
pub(super) fn away() -> ApiError {
    ApiError::status(StatusCode::SERVICE_UNAVAILABLE, "The server cannot reach its files, try again in a moment")
}
