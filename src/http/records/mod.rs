//! The records of a thread over HTTP (records.md 3.7): one file a noun. A session is a thread (decision 1).
//!
//! Switched off (`records.sequence`) these routes answer as if they were not there.

mod access;
mod cancel;
mod error;
mod follow;
mod frame;
mod once;
mod orphan;
mod page;
mod patience;
mod position;
mod preview;
mod remove;
mod slots;
mod snapshot;
mod source;
mod stream;

use axum::Router;
use axum::routing::{get, post};
use serde::Serialize;

use super::Shared;
use crate::record::CursorToken;
use crate::store::Cursor;

pub use once::Commands;
pub use slots::StreamLimits;
#[doc(hidden)]
pub use stream::{Point, StreamProbe};
pub use stream::{StreamSettings, Streams};

/// The routes.
pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/sessions/{session}", get(snapshot::get).delete(remove::remove))
        .route("/sessions/{session}/records", get(page::get))
        .route("/sessions/{session}/events", get(stream::events))
        .route("/sessions/{session}/cancel", post(cancel::cancel))
}

/// The token for where a numbering stands.
fn token(cursor: Option<&Cursor>) -> CursorToken {
    cursor.map_or_else(CursorToken::none, |cursor| CursorToken::new(&cursor.epoch, cursor.latest, &cursor.mark))
}

/// How whole a history is, and up to where it was read.
#[derive(Serialize)]
struct Read {
    cursor: CursorToken,
    latest_sequence: u64,
    history_complete: bool,
    incomplete_reasons: Vec<String>,
}

impl Read {
    fn new(cursor: Option<&Cursor>, incomplete: impl IntoIterator<Item = String>) -> Self {
        let incomplete_reasons: Vec<String> = incomplete.into_iter().collect();
        Self {
            cursor: token(cursor),
            latest_sequence: cursor.map_or(0, |cursor| cursor.latest),
            history_complete: incomplete_reasons.is_empty(),
            incomplete_reasons,
        }
    }
}
