//! What one stream shows of the texts that stream: each is whole or absent. Pieces that were missed are told, and after a
//! while the text comes again from its beginning (records.md 3.8, decision 6).

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::frame::{Frames, Preview};
use crate::conversation::{Lagged, Piece, Previews};
use crate::id::{ExecutionId, StepId};
use crate::record::Event;

/// The longest text of one frame, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// The shortest time between two writes of previews: two hundred a second. What comes meanwhile is merged.
const BETWEEN: Duration = Duration::from_millis(5);

/// How long a reader that missed something waits for the text from its beginning. A slow one would miss it again at once.
const BREATH: Duration = Duration::from_secs(1);

/// How many entities are remembered to be complete, so that a late piece does not revive them.
const COMPLETE: usize = 256;

/// The previews of one stream.
pub(super) struct Shown {
    previews: Previews,
    /// The texts so far, which were asked for.
    so_far: Option<oneshot::Receiver<Vec<Piece>>>,
    /// When to ask for them again.
    ask_at: Option<Instant>,
    texts: HashMap<StepId, Text>,
    complete: VecDeque<StepId>,
    /// What is gathered for the next frame.
    pending: Option<Pending>,
    /// When that is written, at the earliest.
    due: Instant,
}

/// How far a text was shown.
struct Text {
    execution: Option<ExecutionId>,
    frames: u64,
    end: usize,
}

/// Something to show.
pub(super) enum Happened {
    SoFar(Vec<Piece>),
    Piece(Piece),
    Missed,
    /// What was gathered is to be written.
    Due,
}

/// A frame that may still grow.
struct Pending {
    execution: Option<ExecutionId>,
    entity: StepId,
    index: u64,
    offset: usize,
    end: usize,
    text: String,
}

impl Shown {
    pub(super) fn new(previews: Previews) -> Self {
        let mut shown = Self {
            previews,
            so_far: None,
            ask_at: None,
            texts: HashMap::new(),
            complete: VecDeque::new(),
            pending: None,
            due: Instant::now(),
        };
        shown.ask();
        shown
    }

    fn ask(&mut self) {
        self.ask_at = None;
        self.so_far = self.previews.so_far();
    }

    /// The next thing to show; waits for ever while nothing streams. Cancel safe.
    pub(super) async fn next(&mut self) -> Happened {
        loop {
            let Self { previews, so_far, ask_at, pending, due, .. } = self;
            let asked = async {
                match so_far {
                    Some(pieces) => pieces.await.unwrap_or_default(),
                    None => std::future::pending().await,
                }
            };
            let time = async {
                match ask_at {
                    Some(at) => sleep_until(*at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // First: what comes after it was told after it.
                pieces = asked => {
                    self.so_far = None;
                    return Happened::SoFar(pieces);
                }
                () = sleep_until(*due), if pending.is_some() => return Happened::Due,
                piece = previews.next() => return piece.map_or(Happened::Missed, Happened::Piece),
                () = time => {}
            }
            self.ask();
        }
    }

    /// Takes what happened, and what more there is already. It is written when it is time for it.
    pub(super) fn take(&mut self, happened: Happened, out: &mut Frames) {
        match happened {
            Happened::SoFar(pieces) => pieces.iter().for_each(|piece| self.add(piece, out)),
            Happened::Piece(piece) => self.add(&piece, out),
            Happened::Missed => self.missed(out),
            Happened::Due => {}
        }
        // While the texts so far are on their way, what comes now may be part of them.
        while self.so_far.is_none() {
            match self.previews.next_now() {
                Ok(Some(piece)) => self.add(&piece, out),
                Ok(None) => break,
                Err(Lagged) => {
                    self.missed(out);
                    break;
                }
            }
        }
        let now = Instant::now();
        if now >= self.due && self.pending.is_some() {
            flush(&mut self.pending, out);
            self.due = now + BETWEEN;
        }
    }

    /// An event passed: what it completes has no preview any more.
    pub(super) fn passed(&mut self, event: &Event) {
        match event.event_type() {
            "message.completed" | "message.deleted" | "tool.completed" | "step.completed" | "record.erased" => {
                if let Some(entity) = event.entity() {
                    let entity = StepId::from(entity);
                    self.texts.remove(&entity);
                    self.pending.take_if(|pending| pending.entity == entity);
                    if self.complete.len() == COMPLETE {
                        self.complete.pop_front();
                    }
                    self.complete.push_back(entity);
                }
            }
            "execution.stopped" | "execution.failed" | "execution.lost" => {
                self.texts.retain(|_, text| text.execution.as_ref() != event.execution());
                self.pending.take_if(|pending| pending.execution.as_ref() == event.execution());
            }
            _ => {}
        }
    }

    fn add(&mut self, piece: &Piece, out: &mut Frames) {
        if piece.text.is_empty() || self.complete.contains(&piece.entity) {
            return;
        }
        let Self { texts, pending, ask_at, .. } = self;
        let (text, rest) = match texts.get_mut(&piece.entity) {
            // It begins, or begins anew.
            None if piece.offset == 0 => {
                let text = Text { execution: piece.execution.clone(), frames: 0, end: 0 };
                (texts.entry(piece.entity.clone()).or_insert(text), &*piece.text)
            }
            Some(text) if piece.offset == 0 => {
                flush(pending, out);
                (text.frames, text.end) = (0, 0);
                (text, &*piece.text)
            }
            // Its beginning was never seen: it was asked for, or is complete.
            None => return,
            Some(text) if piece.offset > text.end => {
                flush(pending, out);
                out.preview_reset(text.execution.as_ref().map(ExecutionId::as_str), piece.entity.as_str());
                texts.remove(&piece.entity);
                ask_at.get_or_insert_with(|| Instant::now() + BREATH);
                return;
            }
            Some(text) => match after(&piece.text, text.end - piece.offset) {
                Some(rest) if !rest.is_empty() => (text, rest),
                Some(_) | None => return,
            },
        };
        for part in parts(rest) {
            let length = part.encode_utf16().count();
            match pending {
                Some(pending)
                    if pending.entity == piece.entity
                        && pending.end == text.end
                        && pending.text.len() + part.len() <= LONGEST_TEXT =>
                {
                    pending.text.push_str(part);
                    pending.end += length;
                }
                _ => {
                    flush(pending, out);
                    *pending = Some(Pending {
                        execution: piece.execution.clone(),
                        entity: piece.entity.clone(),
                        index: text.frames,
                        offset: text.end,
                        end: text.end + length,
                        text: part.to_owned(),
                    });
                    text.frames += 1;
                }
            }
            text.end += length;
        }
    }

    /// Pieces were missed, and nobody knows of which text.
    fn missed(&mut self, out: &mut Frames) {
        flush(&mut self.pending, out);
        for (entity, text) in self.texts.drain() {
            out.preview_reset(text.execution.as_ref().map(ExecutionId::as_str), entity.as_str());
        }
        self.so_far = None;
        self.ask_at = Some(Instant::now() + BREATH);
    }
}

fn flush(pending: &mut Option<Pending>, out: &mut Frames) {
    if let Some(pending) = pending.take() {
        out.preview(&Preview {
            execution_id: pending.execution.as_ref().map(ExecutionId::as_str),
            entity_id: pending.entity.as_str(),
            frame_index: pending.index,
            offset: pending.offset,
            text: &pending.text,
        });
    }
}

/// What comes after so many UTF-16 units of a text; none when it is shorter, or that is in the middle of a character.
fn after(text: &str, units: usize) -> Option<&str> {
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed >= units {
            return (passed == units).then(|| &text[at..]);
        }
        passed += character.len_utf16();
    }
    (passed == units).then_some("")
}

/// A text in parts that fit into a frame.
fn parts(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let mut end = text.len().min(LONGEST_TEXT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (part, rest) = text.split_at(end);
        text = rest;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_javascript_counts() {
        assert_eq!(after("héllo", 2), Some("llo"));
        assert_eq!(after("a😀b", 3), Some("b"));
        assert_eq!(after("a😀b", 2), None, "half a character");
        assert_eq!(after("ab", 2), Some(""));
        assert_eq!(after("ab", 3), None);
        let long = "é".repeat(LONGEST_TEXT);
        let cut: Vec<&str> = parts(&long).collect();
        assert_eq!(cut.concat(), long);
        assert!(cut.iter().all(|part| part.len() <= LONGEST_TEXT));
    }
}
