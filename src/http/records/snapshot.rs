//! `GET /sessions/{id}`: a thread at one moment, as the first thing that a reader asks for.

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::access::Access;
use super::error::RecordError;
use super::token;
use crate::http::Shared;
use crate::http::share::PRIVATE;
use crate::store::{Execution, OpenInteraction, ThreadSnapshot};

/// A thread's snapshot.
pub(super) async fn get(State(http): State<Shared>, access: Access) -> Result<Json<Value>, RecordError> {
    let snapshot = http.store.snapshot(&access.thread).await?.ok_or(RecordError::no_session())?;
    let stopping = http.live.is_stopping(&access.thread);
    let pending = http.journal.pending_of(&access.thread);
    Ok(Json(body(&access, snapshot, stopping, pending)))
}

fn body(access: &Access, snapshot: ThreadSnapshot, stopping: bool, pending: usize) -> Value {
    let id = &access.thread;
    let cursor = snapshot.cursor.as_ref();
    let latest = cursor.map_or(0, |cursor| cursor.latest);
    let mut metadata = snapshot.head.metadata;
    if access.guest {
        metadata.retain(|key, _| !PRIVATE.contains(&key.as_str()));
    }
    let state = match snapshot.running.last() {
        Some(_) if stopping => "stopping",
        Some(_) => "running",
        None => "idle",
    };
    let newest = snapshot.running.last().or(snapshot.newest.as_ref());
    json!({
        "session": {
            "session_id": id,
            "thread_id": id,
            "name": snapshot.head.name,
            "metadata": metadata,
            "created_at": snapshot.head.created_at,
            "updated_at": snapshot.updated_at,
        },
        "execution": newest.map(|run| execution(run, stopping)),
        "executions": snapshot.running.iter().map(|run| execution(run, stopping)).collect::<Vec<_>>(),
        "execution_state": { "id": newest.map(|run| &run.id), "state": state },
        "pending": {
            "inputs": [],
            "interactions": snapshot.interactions.iter().map(interaction).collect::<Vec<_>>(),
        },
        "read": {
            "cursor": token(cursor),
            "epoch": cursor.map_or("none", |cursor| cursor.epoch.as_str()),
            "latest_sequence": latest,
            "oldest_sequence": latest.min(1),
            "history_complete": snapshot.incomplete.is_empty(),
            "incomplete_reasons": snapshot.incomplete,
            "legacy_records": snapshot.legacy,
            "pending": pending,
        },
        "capabilities": { "events": true, "previews": true, "cancel": !access.guest, "ingest": false },
    })
}

fn execution(run: &Execution, stopping: bool) -> Value {
    let state = if stopping && run.settled().is_none() { "stopping" } else { run.state.as_str() };
    json!({
        "execution_id": run.id,
        "state": state,
        "started_at": run.started(),
        "settled_at": run.settled(),
        "settled_by": run.settled_by,
        "reason": run.reason,
    })
}

fn interaction(open: &OpenInteraction) -> Value {
    Value::Object(Map::from_iter([
        ("interaction_id".to_owned(), json!(open.id)),
        ("kind".to_owned(), json!(open.kind)),
        ("requested_sequence".to_owned(), json!(open.sequence)),
        ("timeout_at".to_owned(), json!(open.timeout_at)),
    ]))
}
