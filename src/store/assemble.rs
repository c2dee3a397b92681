//! What was read, put together: a thread as pages want it, a page of the list, records. The same for both databases,
//! which give each list as a JSON array of rows.

use std::collections::{BTreeSet, HashMap};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::incomplete::{FOREIGN_ROWS, LEGACY_ROWS};
use super::mark::Mark;
use super::place::Place;
use super::row::{ElementRow, FeedbackRow, StoredStep, StoredThreadRow, object};
use super::{Cursor, LiveSession, StoreError, StoredRecord, StoredThread, incomplete};
use crate::id::{ExecutionId, RecordId, ThreadId, UserId};
use crate::protocol::{Element, PageInfo, Step, Thread, ThreadPage, Timestamp, User};
use crate::record::{arrange, join_feedback, with_url};

/// The rows of one thread, read at one moment.
#[derive(Debug, Default)]
pub(super) struct ThreadRows {
    /// The row of `threads`, as an object.
    pub thread: String,
    /// The cursor row, as an object; absent before the first record.
    pub cursor: Option<String>,
    /// In the order in which they came.
    pub steps: String,
    pub elements: String,
    /// Votes, oldest first.
    pub feedback: String,
    /// Steps that are streaming.
    pub partials: String,
}

/// A cursor row as readers need it.
#[derive(Debug, Deserialize)]
pub(super) struct CursorRow {
    epoch: String,
    latest: u64,
    mark: String,
    #[serde(default)]
    incomplete: Option<String>,
    #[serde(default)]
    step_count: Option<usize>,
    #[serde(default)]
    step_newest: Option<String>,
    #[serde(default)]
    updated_at: Option<i64>,
}

impl CursorRow {
    pub fn updated_at(&self) -> Option<Timestamp> {
        self.updated_at.map(Timestamp::from_micros)
    }

    pub fn into_cursor(self) -> Result<Cursor, StoreError> {
        let mark = Mark::parse(&self.mark).ok_or_else(|| StoreError::Corrupt("mark of a cursor".into()))?;
        Ok(Cursor { epoch: self.epoch, latest: self.latest, mark: mark.hex() })
    }
}

impl ThreadRows {
    /// Steps parents first with their votes, elements with urls, and what is streaming as it stands.
    pub fn into_thread(self) -> Result<StoredThread, StoreError> {
        let mut thread: Thread = one::<StoredThreadRow>(&self.thread)?.into_thread();
        let rows: Vec<StoredStep> = many(&self.steps)?;
        let cursor = self.cursor.as_deref().map(one::<CursorRow>).transpose()?;
        let newest = rows.iter().filter_map(StoredStep::created_text).max();
        let incomplete = why_incomplete(cursor.as_ref(), rows.len(), newest);

        let mut steps: Vec<Step> = rows.into_iter().map(StoredStep::into_step).collect();
        for mut partial in many::<Step>(&self.partials)? {
            partial.streaming = true;
            match steps.iter_mut().find(|step| step.id == partial.id) {
                Some(step) => *step = partial,
                None => steps.push(partial),
            }
        }
        thread.steps = arrange(steps);
        let votes: Vec<FeedbackRow> = many(&self.feedback)?;
        join_feedback(&mut thread.steps, votes.into_iter().map(FeedbackRow::into_feedback));
        let elements: Vec<ElementRow> = many(&self.elements)?;
        thread.elements = elements.into_iter().map(|row| with_url(&thread.id, row.into_element())).collect();
        let cursor = cursor.map(CursorRow::into_cursor).transpose()?.filter(|cursor| cursor.latest > 0);
        Ok(StoredThread { thread, cursor, incomplete })
    }
}

/// Why a history is not whole, from the cursor's row and the number and newest time of the thread's steps.
pub(super) fn why_incomplete(cursor: Option<&CursorRow>, count: usize, newest: Option<&str>) -> BTreeSet<String> {
    let mut incomplete = incomplete::parse(cursor.and_then(|row| row.incomplete.as_deref()));
    match cursor.and_then(|row| Some((row.step_count?, row.step_newest.as_deref()))) {
        Some((known, last)) if known != count || newest > last => {
            incomplete.insert(FOREIGN_ROWS.to_owned());
        }
        Some(_) => {}
        None if count == 0 => {}
        None => {
            incomplete.insert(LEGACY_ROWS.to_owned());
        }
    }
    incomplete
}

/// An element of a thread, with its url.
pub(super) fn element(thread: &ThreadId, row: &str) -> Result<Element, StoreError> {
    Ok(with_url(thread, one::<ElementRow>(row)?.into_element()))
}

/// A cursor that has numbered something.
pub(super) fn cursor(row: &str) -> Result<Option<Cursor>, StoreError> {
    Ok(Some(one::<CursorRow>(row)?.into_cursor()?).filter(|cursor| cursor.latest > 0))
}

/// A page of the list from rows in order, of which there is one more than asked for when a further page exists.
/// Each comes with its newest activity.
pub(super) fn page(rows: &[(String, String)], first: u32, place: &Place) -> Result<ThreadPage, StoreError> {
    let wanted = usize::try_from(first).unwrap_or(usize::MAX);
    let data: Vec<Thread> = rows
        .iter()
        .take(wanted)
        .map(|(row, _)| Ok(one::<StoredThreadRow>(row)?.into_thread()))
        .collect::<Result<_, StoreError>>()?;
    let since = place.since.as_deref().or(rows.first().map(|(_, active)| active.as_str())).unwrap_or_default();
    let end = data.last().zip(data.len().checked_sub(1).and_then(|last| rows.get(last)));
    let page_info = PageInfo {
        has_next_page: rows.len() > wanted,
        start_cursor: data.first().map(|thread| thread.id.to_string()),
        end_cursor: end.map(|(thread, (_, active))| Place::write(thread.id.as_str(), active, since)),
    };
    Ok(ThreadPage { page_info, data })
}

/// Those of the rows that are starred indeed: their metadata were only searched as text.
pub(super) fn favorites(rows: &[String]) -> Result<Vec<Step>, StoreError> {
    let mut steps = Vec::new();
    for row in rows {
        let step = one::<StoredStep>(row)?.into_step();
        if step.is_message() && step.metadata.get("favorite") == Some(&Value::Bool(true)) {
            steps.push(step);
        }
    }
    Ok(steps)
}

/// A record as the two databases give it.
#[derive(Debug, Deserialize)]
pub(super) struct RecordRow {
    id: RecordId,
    sequence: Option<u64>,
    execution: Option<ExecutionId>,
    #[serde(rename = "type")]
    record_type: String,
    source: String,
    entity: Option<String>,
    attributes: Value,
    produced_at: i64,
    created_at: i64,
    mark: Option<String>,
    quarantined_at: Option<i64>,
    erased_at: Option<i64>,
    #[serde(default)]
    origin: Option<ExecutionId>,
    #[serde(default)]
    hash: Option<String>,
}

impl RecordRow {
    pub fn read(row: &str) -> Result<StoredRecord, StoreError> {
        Ok(one::<Self>(row)?.into_record())
    }

    pub fn into_record(self) -> StoredRecord {
        StoredRecord {
            id: self.id,
            sequence: self.sequence,
            execution: self.execution,
            record_type: self.record_type,
            source: self.source,
            entity: self.entity,
            attributes: match self.attributes {
                Value::String(text) => text,
                value => value.to_string(),
            },
            produced_at: Timestamp::from_micros(self.produced_at),
            created_at: Timestamp::from_micros(self.created_at),
            mark: self.mark.as_deref().and_then(Mark::parse).map(Mark::hex),
            quarantined_at: self.quarantined_at.map(Timestamp::from_micros),
            erased_at: self.erased_at.map(Timestamp::from_micros),
            origin: self.origin,
            content_hash: self.hash.map(|hash| hash.to_lowercase()),
        }
    }
}

/// Where threads stand.
pub(super) fn latest(rows: Vec<(String, i64)>) -> HashMap<ThreadId, u64> {
    let rows = rows.into_iter();
    rows.map(|(thread, latest)| (ThreadId::from(thread.as_str()), latest.unsigned_abs())).collect()
}

/// A row that a database gave as a JSON object.
pub(super) fn one<T: DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt(format!("a row: {error}")))
}

/// Rows that a database gave as a JSON array.
pub(super) fn many<T: DeserializeOwned>(json: &str) -> Result<Vec<T>, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Corrupt(format!("rows: {error}")))
}

/// A row of `users`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserRow {
    id: UserId,
    identifier: String,
    created_at: Option<String>,
    metadata: Value,
}

/// A user as the two databases give one.
pub(super) fn user(row: &str) -> Result<User, StoreError> {
    let row: UserRow = one(row)?;
    let metadata = match &row.metadata {
        Value::Object(map) => map.clone(),
        Value::String(text) => object(Some(text)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => serde_json::Map::new(),
    };
    Ok(User {
        id: Some(row.id),
        created_at: row.created_at.as_deref().and_then(Timestamp::parse),
        identifier: row.identifier,
        display_name: None,
        metadata,
    })
}

/// A live tab, both ways.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct SessionRow {
    hash: String,
    thread: ThreadId,
    owner: Option<String>,
    greeted: u8,
    stored: u8,
    seen_at: i64,
}

impl From<&LiveSession> for SessionRow {
    fn from(session: &LiveSession) -> Self {
        Self {
            hash: session.hash.clone(),
            thread: session.thread.clone(),
            owner: session.owner.clone(),
            greeted: session.greeted.into(),
            stored: session.stored.into(),
            seen_at: session.seen_at.as_micros(),
        }
    }
}

/// The row of a tab that a former process knew.
pub(super) fn session(row: &str) -> Result<LiveSession, StoreError> {
    let row: SessionRow = one(row)?;
    Ok(LiveSession {
        hash: row.hash,
        thread: row.thread,
        owner: row.owner,
        greeted: row.greeted != 0,
        stored: row.stored != 0,
        seen_at: Timestamp::from_micros(row.seen_at),
    })
}
