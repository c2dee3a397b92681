//! A reader of an event stream: every frame as it came, with its id.

use std::time::Duration;

use rejoinder::record::{CursorToken, Position};
use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;

use super::http::Answer;
use super::raw::SOON;

/// An open stream.
pub struct Sse {
    response: Response,
    reader: Reader,
}

/// Frames out of bytes, however they are cut.
#[derive(Default)]
pub struct Reader {
    buffer: Vec<u8>,
    at: usize,
}

/// A frame as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub id: Option<String>,
    /// `message` without a name, `:` for a comment, `retry` for the wait.
    pub name: String,
    pub data: String,
}

impl Frame {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    pub fn is_event(&self) -> bool {
        self.name == "message"
    }

    pub fn sequence(&self) -> u64 {
        self.json()["sequence"].as_u64().unwrap_or_else(|| panic!("no sequence: {self:?}"))
    }

    /// The position that its id is.
    pub fn position(&self) -> Option<CursorToken> {
        match self.id.as_ref()?.parse().unwrap_or_else(|why| panic!("{why}: {self:?}")) {
            Position::Token(token) => Some(token),
            Position::Sequence(_) => panic!("a number alone: {self:?}"),
        }
    }

    /// An event without what depends on who reads it.
    pub fn without_watermark(&self) -> String {
        without_watermark(&self.data)
    }
}

/// The bytes of an event without its watermark.
pub fn without_watermark(event: &str) -> String {
    let (before, rest) = event.split_once(",\"watermark\":").unwrap_or_else(|| panic!("no watermark: {event}"));
    let end = rest.find(',').unwrap();
    format!("{before}{}", &rest[end..])
}

impl Reader {
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.at));
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame that is whole.
    pub fn next(&mut self) -> Option<Frame> {
        let rest = &self.buffer[self.at..];
        let end = rest.windows(2).position(|two| two == b"\n\n")?;
        let text = std::str::from_utf8(&rest[..end]).unwrap();
        let mut frame = Frame { id: None, name: "message".into(), data: String::new() };
        for line in text.lines() {
            match line.split_once(": ").unwrap_or_else(|| panic!("not a line of a stream: {line:?}")) {
                ("id", id) => frame.id = Some(id.to_owned()),
                ("event", name) => frame.name = name.to_owned(),
                ("data", data) => frame.data = data.to_owned(),
                ("", comment) => (frame.name, frame.data) = (":".into(), comment.to_owned()),
                ("retry", wait) => (frame.name, frame.data) = ("retry".into(), wait.to_owned()),
                other => panic!("unknown field {other:?}"),
            }
        }
        // I-39, wherever a stream is read. Red when a preview, a notice or a sign of life carries one.
        let proves = ["message", "ready", "checkpoint", "reset"].contains(&frame.name.as_str());
        assert!(frame.id.is_none() || proves, "a position on what proves none: {frame:?}");
        self.at += end + 2;
        Some(frame)
    }
}

impl Sse {
    /// Opens a stream.
    pub async fn open(request: RequestBuilder) -> Self {
        match Self::try_open(request).await {
            Ok(stream) => stream,
            Err(answer) => panic!("{}: {}", answer.status, answer.text),
        }
    }

    /// Opens a stream, or gives what was answered instead.
    pub async fn try_open(request: RequestBuilder) -> Result<Self, Answer> {
        Self::of(request.send().await.unwrap()).await
    }

    /// Opens a stream of a server that may be killed this moment; none when it is gone.
    pub async fn open_if_there(request: RequestBuilder) -> Option<Self> {
        match Self::of(request.send().await.ok()?).await {
            Ok(stream) => Some(stream),
            Err(answer) => panic!("{}: {}", answer.status, answer.text),
        }
    }

    async fn of(response: Response) -> Result<Self, Answer> {
        if response.status() != StatusCode::OK {
            let (status, headers) = (response.status(), response.headers().clone());
            return Err(Answer { status, headers, text: response.text().await.unwrap() });
        }
        let head = |name: &str| response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        assert_eq!(head("content-type"), "text/event-stream");
        assert_eq!(head("cache-control"), "no-store, no-transform");
        assert_eq!(head("x-accel-buffering"), "no");
        assert_eq!(head("content-encoding"), "");
        Ok(Self { response, reader: Reader::default() })
    }

    /// The next frame of any kind; none at the end.
    pub async fn any(&mut self) -> Option<Frame> {
        self.any_within(SOON).await.expect("nothing came")
    }

    /// The same, or nothing in that time.
    pub async fn any_within(&mut self, time: Duration) -> Option<Option<Frame>> {
        let deadline = tokio::time::Instant::now() + time;
        loop {
            if let Some(frame) = self.reader.next() {
                return Some(Some(frame));
            }
            match tokio::time::timeout_at(deadline, self.response.chunk()).await.ok()?.unwrap_or_default() {
                Some(bytes) => self.reader.add(&bytes),
                None => return Some(None),
            }
        }
    }

    /// The next frame that says something.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            match self.any().await {
                Some(frame) if matches!(frame.name.as_str(), ":" | "retry") => {}
                other => return other,
            }
        }
    }

    /// Everything up to the first frame of this name, which is the last one.
    pub async fn until(&mut self, name: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("it ended without {name}: {frames:#?}"));
            let is_it = frame.name == name;
            frames.push(frame);
            if is_it {
                return frames;
            }
        }
    }

    /// The next event of this type, whatever comes before it.
    pub async fn until_event(&mut self, event_type: &str) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("it ended without {event_type}"));
            if frame.is_event() && frame.json()["type"] == event_type {
                return frame.json();
            }
        }
    }

    /// Everything up to the end.
    pub async fn rest(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            frames.push(frame);
        }
        frames
    }

    /// The next events, whatever comes between them.
    pub async fn events(&mut self, count: usize) -> Vec<Frame> {
        let mut events = Vec::new();
        while events.len() < count {
            let frame = self.next().await.unwrap_or_else(|| panic!("it ended after {events:#?}"));
            if frame.is_event() {
                events.push(frame);
            }
        }
        events
    }
}

/// The sequences of the events among them.
pub fn sequences(frames: &[Frame]) -> Vec<u64> {
    frames.iter().filter(|frame| frame.is_event()).map(Frame::sequence).collect()
}
