//! The frames of a stream as bytes (records.md 3.8). Only what proves a position carries an id: an id on anything else
//! makes a browser come back with a position that it has not reached (I-39).

use std::io::Write;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;
use serde_json::json;
use tracing::error;

use crate::metrics::counts;
use crate::record::{CursorToken, Event};

/// Frames that are about to be written.
#[derive(Debug, Default)]
pub(super) struct Frames(BytesMut);

/// Why the server ends a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Close {
    /// A write was stuck for too long. What was not written is found by coming back.
    SlowReader,
    /// It is as old as a stream may get; coming back at once is right.
    Reauth,
    /// The reader may not read this any more. Coming back is of no use.
    AuthorizationRevoked,
    /// The thread was deleted. Coming back is of no use.
    SessionDeleted,
    /// The server stops.
    ServerShutdown,
    /// The database is away.
    Unavailable,
}

impl Close {
    /// As clients know it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::SlowReader => "slow_reader",
            Self::Reauth => "reauth",
            Self::AuthorizationRevoked => "authorization_revoked",
            Self::SessionDeleted => "session_deleted",
            Self::ServerShutdown => "server_shutdown",
            Self::Unavailable => "unavailable",
        }
    }

    /// Whether the reader may come back, so that it should know how far it has read.
    pub(super) fn is_for_now(self) -> bool {
        match self {
            Self::SlowReader | Self::Reauth | Self::ServerShutdown | Self::Unavailable => true,
            Self::AuthorizationRevoked | Self::SessionDeleted => false,
        }
    }
}

/// A piece of a preview.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Preview<'a> {
    pub(super) execution_id: Option<&'a str>,
    pub(super) entity_id: &'a str,
    /// From 0, one more for each frame of the entity on this stream.
    pub(super) frame_index: u64,
    /// Where the text begins in the entity's, as JavaScript counts.
    pub(super) offset: usize,
    #[serde(skip)]
    pub(super) text: &'a str,
}

impl Frames {
    /// Takes what there is.
    pub(super) fn take(&mut self) -> Bytes {
        self.0.split().freeze()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How long a browser waits before it comes back, in milliseconds.
    pub(super) fn retry(&mut self, milliseconds: u32) {
        self.put(b"retry: ");
        self.put(milliseconds.to_string().as_bytes());
        self.put(b"\n\n");
    }

    /// A typed event. It has no name, so that a client which knows nothing but events is right.
    pub(super) fn event(&mut self, cursor: &CursorToken, event: &Event) {
        self.id(cursor);
        self.data(event);
    }

    /// Everything up to `cursor` was sent, and what follows is live.
    pub(super) fn ready<'a>(&mut self, cursor: &CursorToken, incomplete: impl Iterator<Item = &'a String> + Clone) {
        self.id(cursor);
        self.name("ready");
        self.data(&json!({
            "cursor": cursor,
            "watermark": cursor.sequence(),
            "history_complete": incomplete.clone().next().is_none(),
            "incomplete_reasons": incomplete.collect::<Vec<_>>(),
        }));
    }

    /// Everything up to `cursor` was sent; not all of it has an event.
    pub(super) fn checkpoint(&mut self, cursor: &CursorToken) {
        self.id(cursor);
        self.name("checkpoint");
        self.data(&json!({"cursor": cursor, "watermark": cursor.sequence()}));
    }

    /// A piece of a text that streams.
    pub(super) fn preview(&mut self, preview: &Preview<'_>) {
        #[derive(Serialize)]
        struct Frame<'a> {
            version: u8,
            kind: &'static str,
            #[serde(flatten)]
            preview: &'a Preview<'a>,
            #[serde(rename = "type")]
            of: &'static str,
            payload: Payload<'a>,
        }
        #[derive(Serialize)]
        struct Payload<'a> {
            text: &'a str,
        }
        self.name("preview");
        let payload = Payload { text: preview.text };
        self.data(&Frame { version: 1, kind: "frame", preview, of: "token", payload });
    }

    /// What was shown of an entity that streams is not whole any more.
    pub(super) fn preview_reset(&mut self, execution: Option<&str>, entity: &str) {
        self.name("preview_reset");
        self.data(&json!({"execution_id": execution, "entity_id": entity}));
    }

    /// The history is not whole, for these reasons.
    pub(super) fn incomplete<'a>(&mut self, reasons: impl Iterator<Item = &'a String>) {
        self.name("notice");
        self.data(&json!({"code": "history_incomplete", "incomplete_reasons": reasons.collect::<Vec<_>>()}));
    }

    /// A sign of life.
    pub(super) fn heartbeat(&mut self) {
        self.put(b": hb\n\n");
    }

    /// The reader's position is of no use here: it has to take a new snapshot. The empty id makes a browser forget it.
    pub(super) fn reset(&mut self, reason: &'static str, latest: u64) {
        counts().resets.count(reason);
        self.put(b"id: \n");
        self.name("reset");
        self.data(&json!({"reason": reason, "latest_sequence": latest}));
    }

    /// The last frame of a stream that the server ends.
    pub(super) fn close(&mut self, close: Close, retry_after: u64) {
        self.name("close");
        self.data(&json!({"reason": close.as_str(), "retry_after_ms": retry_after}));
    }

    fn id(&mut self, cursor: &CursorToken) {
        // Memory takes every write.
        let _ = writeln!((&mut self.0).writer(), "id: {cursor}");
    }

    fn name(&mut self, name: &str) {
        self.put(b"event: ");
        self.put(name.as_bytes());
        self.put(b"\n");
    }

    /// JSON has no line breaks of its own, so one line takes it.
    fn data(&mut self, data: &impl Serialize) {
        let start = self.0.len();
        self.put(b"data: ");
        match serde_json::to_writer((&mut self.0).writer(), data) {
            Ok(()) => self.put(b"\n\n"),
            Err(why) => {
                // Cannot be: keys are texts and memory takes every write. Half a frame would spoil the next one.
                error!(%why, "a frame could not be written");
                self.0.truncate(start);
                self.put(b"\n");
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readers out there know these.
    #[test]
    fn every_frame_as_bytes() {
        let cursor = CursorToken::new("9f2c1b7a5e0d4c33", 44, "a81f03be00112233");
        let reasons = ["record_rejected".to_owned()];
        let mut frames = Frames::default();
        frames.retry(3000);
        frames.ready(&cursor, [].iter());
        frames.ready(&CursorToken::none(), reasons.iter());
        frames.checkpoint(&cursor);
        let text = "Hé\n\"there\"\u{2028}";
        frames.preview(&Preview { execution_id: Some("x"), entity_id: "m", frame_index: 0, offset: 3, text });
        frames.preview_reset(None, "m");
        frames.incomplete(reasons.iter());
        frames.heartbeat();
        frames.reset("cursor_ahead", 44);
        for close in [
            Close::SlowReader,
            Close::Reauth,
            Close::AuthorizationRevoked,
            Close::SessionDeleted,
            Close::ServerShutdown,
            Close::Unavailable,
        ] {
            frames.close(close, 0);
        }
        insta::assert_snapshot!(String::from_utf8(frames.take().to_vec()).unwrap());
        assert!(frames.is_empty());
    }
}
