//! Sound both ways (chat-wire 3.7, 4.1). The samples travel beside the JSON, as a binary attachment of the packet.

use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use super::BadEvent;

/// A piece of what the recorder hears, without its samples: the argument of `audio_chunk` from a page.
///
/// The samples are an attachment, and only the JSON with a placeholder for it comes as far as
/// [`ClientEvent::parse`](super::ClientEvent::parse). They get a field here with the audio feature, when `socket/` hands
/// attachments over. Keys that nobody knows are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedChunk {
    /// Whether the recording begins with it.
    pub is_start: bool,
    /// How the samples are written; `pcm16` from the frontends that exist.
    pub mime_type: String,
    /// The time since the recording began, by the page's clock; zero when that went backwards.
    pub elapsed_time: Duration,
}

/// A piece of speech for the page to play: the argument of `audio_chunk` to a page.
///
/// It is no [`ServerEvent`](super::ServerEvent) yet: those are written as JSON alone, and a page throws over a chunk whose
/// samples are not an attachment. Only its JSON part is serialised; the key `data` comes with the attachment, in
/// `socket/`, with the audio feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AudioChunk {
    /// What it belongs to; after an interruption the page drops what still comes of the same. Never anything but text.
    pub track: String,
    /// How the samples are written; pages play `pcm16`.
    pub mime_type: String,
    /// The samples: 16 bits, little endian, one channel, 24 kHz.
    #[serde(skip)]
    pub data: Bytes,
}

impl RecordedChunk {
    /// Reads the JSON part of the argument.
    ///
    /// # Errors
    /// [`BadEvent::Argument`] with the key at fault.
    pub fn parse(argument: &Value) -> Result<Self, BadEvent> {
        let key = |name: &'static str| argument.get(name).ok_or(BadEvent::Argument(name));
        let millis = key("elapsedTime")?.as_f64().ok_or(BadEvent::Argument("elapsedTime"))?;
        Ok(Self {
            is_start: key("isStart")?.as_bool().ok_or(BadEvent::Argument("isStart"))?,
            mime_type: key("mimeType")?.as_str().ok_or(BadEvent::Argument("mimeType"))?.to_owned(),
            elapsed_time: Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stock() -> Value {
        let placeholder = json!({"_placeholder": true, "num": 0});
        json!({"isStart": false, "mimeType": "pcm16", "elapsedTime": 1234, "data": placeholder})
    }

    #[test]
    fn every_key_of_a_recorded_chunk_is_checked() {
        for name in ["isStart", "mimeType", "elapsedTime"] {
            let mut argument = stock();
            argument[name] = json!([]);
            assert_eq!(RecordedChunk::parse(&argument), Err(BadEvent::Argument(name)));
            argument.as_object_mut().unwrap().remove(name);
            assert_eq!(RecordedChunk::parse(&argument), Err(BadEvent::Argument(name)));
        }
        assert!(RecordedChunk::parse(&Value::Null).is_err());
    }

    #[test]
    fn a_clock_that_went_backwards_harms_nobody() {
        for (millis, expected) in [(json!(-5), 0), (json!(1e300), 0), (json!(1500.0), 1500)] {
            let mut argument = stock();
            argument["elapsedTime"] = millis;
            let chunk = RecordedChunk::parse(&argument).unwrap();
            assert_eq!(chunk.elapsed_time, Duration::from_millis(expected));
        }
    }

    #[test]
    fn the_json_part_of_speech_on_the_wire() {
        let data = Bytes::from_static(&[0, 1]);
        insta::assert_json_snapshot!(AudioChunk { track: "t".into(), mime_type: "pcm16".into(), data });
    }
}
