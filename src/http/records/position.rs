//! Where a reader says it is, held against the history (records.md 3.7): a restored backup, another session's cursor or
//! a cursor from the future is refused at once, and nobody is served silently wrong data (I-41, I-42).

use super::error::RecordError;
use crate::http::Http;
use crate::id::ThreadId;
use crate::record::Position;

/// The sequence after which a reader goes on.
///
/// # Errors
/// `cursor_ahead` when the history does not reach that far, `cursor_mismatch` when the token is of another history.
pub(in crate::http) async fn check(http: &Http, thread: &ThreadId, position: &Position) -> Result<u64, RecordError> {
    let sequence = position.sequence();
    let at = http.store.mark_at(thread, sequence).await?;
    let latest = at.cursor.as_ref().map_or(0, |cursor| cursor.latest);
    if let Position::Token(token) = position {
        let epoch = at.cursor.as_ref().map_or("none", |cursor| cursor.epoch.as_str());
        // Of another epoch, a number means nothing: whether it is ahead cannot be said.
        if !token.is_none() && token.epoch() != epoch {
            return Err(RecordError::mismatch(latest));
        }
        if sequence <= latest && !token.proves(epoch, at.mark.as_deref()) {
            return Err(RecordError::mismatch(latest));
        }
    }
    if sequence > latest { Err(RecordError::ahead(latest)) } else { Ok(sequence) }
}

/// What a reader is told whose position is none: in a header nobody can correct it (I-40).
///
/// # Errors
/// When the store does not answer.
pub(super) async fn none(http: &Http, thread: &ThreadId) -> Result<RecordError, RecordError> {
    let cursor = http.store.cursor(thread).await?;
    Ok(RecordError::mismatch(cursor.map_or(0, |cursor| cursor.latest)))
}
