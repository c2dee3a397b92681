//! `GET /sessions/{id}/records`: the history in pages, by key and never by offset, so that a record that comes in between
//! moves nothing (I-31).

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::Read;
use super::access::Access;
use super::error::RecordError;
use super::position::check;
use crate::http::Shared;
use crate::id::{ExecutionId, RecordId, ThreadId};
use crate::protocol::Timestamp;
use crate::record::{Event, Position, RecordPlace};
use crate::store::{LARGEST_PAGE, PAGE_BYTES, PageQuery, StoredRecord};

/// Records of a page, when nobody says how many.
const USUAL_PAGE: u32 = 100;

#[derive(Deserialize)]
struct Asked {
    after: Option<String>,
    before: Option<String>,
    limit: Option<String>,
    through_sequence: Option<String>,
    order: Option<String>,
}

#[derive(Serialize)]
pub(super) struct Page {
    records: Vec<Box<RawValue>>,
    page: Bounds,
    read: Read,
}

/// Where a page ends, and up to where all of its like go.
#[derive(Serialize)]
struct Bounds {
    /// Given to the next request as `after`, or as `before` when it goes backwards; null on an empty page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<Option<String>>,
    has_more: bool,
    through_sequence: u64,
}

#[derive(Serialize)]
struct Shown<'a> {
    record_id: &'a RecordId,
    sequence: Option<u64>,
    record_type: &'a str,
    record_source: &'a str,
    execution_id: Option<&'a ExecutionId>,
    entity_id: Option<&'a str>,
    attributes: Value,
    created_at: Timestamp,
    produced_at: Timestamp,
    erased: bool,
    event: Option<Event>,
}

/// A page of a thread's history.
pub(super) async fn get(State(http): State<Shared>, access: Access, uri: Uri) -> Result<Json<Page>, RecordError> {
    let asked = axum::extract::Query::<Asked>::try_from_uri(&uri);
    let asked = asked.map_err(|_| RecordError::invalid("The query cannot be read."))?.0;
    let mut query = query(&asked)?;
    if let Some(RecordPlace::Numbered(position)) = &query.from {
        let sequence = if query.backwards && matches!(position, Position::Sequence(_)) {
            // Before a number beyond the end is before the end.
            position.sequence()
        } else {
            check(&http, &access.thread, position).await?
        };
        query.from = Some(RecordPlace::Numbered(Position::Sequence(sequence)));
    }
    let page = http.store.record_page(&access.thread, &query).await?.ok_or(RecordError::no_session())?;
    let latest = page.cursor.as_ref().map_or(0, |cursor| cursor.latest);
    let through = query.through.unwrap_or(latest);

    let mut records = Vec::with_capacity(page.records.len());
    let (mut bytes, mut last, mut more) = (0, None, page.more);
    for placed in page.records {
        let record = access.shown(placed.record);
        // Written once and kept as it is: an event is the same bytes wherever it is read.
        let shown = to_raw_value(&shown(&access.thread, &record, latest)).map_err(|why| RecordError::internal(&why))?;
        bytes += shown.get().len();
        // Attributes and event say much the same, so what was little enough for the store may be too much here.
        if !records.is_empty() && bytes > PAGE_BYTES {
            more = true;
            break;
        }
        records.push(shown);
        last = Some(placed.place.to_string());
    }
    let (next_after, next_before) = if query.backwards { (None, Some(last)) } else { (Some(last), None) };
    Ok(Json(Page {
        records,
        page: Bounds { next_after, next_before, has_more: more, through_sequence: through },
        read: Read::new(page.cursor.as_ref(), page.incomplete),
    }))
}

fn query(asked: &Asked) -> Result<PageQuery, RecordError> {
    let backwards = match asked.order.as_deref() {
        None | Some("asc") => false,
        Some("desc") => true,
        Some(_) => return Err(RecordError::invalid("The order is asc or desc.")),
    };
    let from = match (&asked.after, &asked.before) {
        (Some(_), _) if backwards => return Err(RecordError::invalid("Backwards, a page is before something.")),
        (_, Some(_)) if !backwards => return Err(RecordError::invalid("Forwards, a page is after something.")),
        (Some(place), _) | (_, Some(place)) => Some(place.parse()?),
        (None, None) => None,
    };
    let limit = match &asked.limit {
        None => USUAL_PAGE,
        Some(text) => {
            let limit = text.parse().ok().filter(|limit| (1..=LARGEST_PAGE).contains(limit));
            limit.ok_or(RecordError::invalid("The limit is a number from 1 to 200."))?
        }
    };
    let through = match asked.through_sequence.as_deref().map(str::parse::<Position>) {
        None => None,
        Some(Ok(Position::Sequence(sequence))) => Some(sequence),
        Some(_) => return Err(RecordError::invalid("through_sequence is a sequence.")),
    };
    Ok(PageQuery { from, through, backwards, limit })
}

fn shown<'a>(thread: &ThreadId, record: &'a StoredRecord, watermark: u64) -> Shown<'a> {
    Shown {
        record_id: &record.id,
        sequence: record.sequence,
        record_type: &record.record_type,
        record_source: &record.source,
        execution_id: record.execution.as_ref(),
        entity_id: record.entity.as_deref(),
        attributes: record.attributes(),
        created_at: record.created_at,
        produced_at: record.produced_at,
        erased: record.erased_at.is_some(),
        event: record.event(thread, watermark),
    }
}
