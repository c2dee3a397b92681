//! The two directions of one websocket: what passes, what is replaced, what is swallowed. No I/O.

use super::frame::{self, Kind, MOST_IN, MOST_OUT, PING, SINGLE, incoming, outgoing};

/// What leaves.
#[derive(Debug)]
pub(super) struct Out {
    /// How much of the current frame passes without a look.
    skip: u64,
    /// The beginning of a frame of which nobody knows yet what it is.
    held: Held<MOST_OUT>,
}

/// How far a look at bytes to write came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    /// So many bytes may be written as they are.
    pub(super) pass: usize,
    /// Events that begin in them.
    pub(super) events: u32,
    /// They begin with a heartbeat ping, and hold nothing else.
    pub(super) is_ping: bool,
    skip: u64,
}

/// What became of bytes that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nothing yet.
    Nothing,
    /// They pass after all, and are in the buffer.
    Pass(Kind),
    /// They were a marker; a ping is in the buffer.
    Marker(u64),
}

impl Out {
    pub(super) fn new() -> Self {
        Self { skip: 0, held: Held::new() }
    }

    /// How much of `bytes` may be written as it is: all up to the first frame that may be a marker. Nothing, then
    /// [`Out::take`] wants it. A heartbeat ping goes alone, so that it is known how many events are before it.
    pub(super) fn look(&self, bytes: &[u8]) -> Look {
        if self.held.is_empty() { self.walk(bytes, bytes.len()) } else { Look::default() }
    }

    /// The first `count` bytes of those that [`Out::look`] let pass were written. Gives what began in them.
    pub(super) fn passed(&mut self, look: Look, bytes: &[u8], count: usize) -> Look {
        let done = if count == look.pass { look } else { self.walk(bytes, count) };
        self.skip = done.skip;
        done
    }

    /// Takes bytes until it is clear what they are; gives how many. What is to be written instead goes to `staged`,
    /// which must be empty.
    pub(super) fn take(&mut self, bytes: &[u8], staged: &mut Held<MOST_OUT>) -> (usize, Taken) {
        for (index, byte) in bytes.iter().enumerate() {
            self.held.push(*byte);
            match outgoing(self.held.bytes()) {
                frame::Outgoing::Incomplete => {}
                frame::Outgoing::Pass { length, kind } => {
                    self.skip = length - self.held.bytes().len() as u64;
                    std::mem::swap(&mut self.held, staged);
                    return (index + 1, Taken::Pass(kind));
                }
                frame::Outgoing::Marker { count } => {
                    self.held.clear();
                    PING.iter().for_each(|byte| staged.push(*byte));
                    return (index + 1, Taken::Marker(count));
                }
            }
        }
        (bytes.len(), Taken::Nothing)
    }

    /// Goes over the frames that begin before `end`.
    fn walk(&self, bytes: &[u8], end: usize) -> Look {
        let mut look = Look::default();
        let mut at = self.skip;
        while at < end as u64 {
            let start = at as usize;
            let frame::Outgoing::Pass { length, kind } = outgoing(&bytes[start..]) else {
                look.pass = start;
                return look;
            };
            match kind {
                Kind::Event => look.events += 1,
                Kind::Ping if start > 0 => {
                    look.pass = start;
                    return look;
                }
                Kind::Ping => {
                    let pass = length.min(end as u64);
                    return Look { pass: pass as usize, events: 0, is_ping: true, skip: length - pass };
                }
                Kind::Other => {}
            }
            at = at.saturating_add(length);
        }
        look.pass = end;
        look.skip = at - end as u64;
        look
    }
}

/// What arrives.
#[derive(Debug)]
pub(super) struct In {
    /// How much of the current frame passes without a look.
    skip: u64,
    /// The beginning of a frame of which nobody knows yet what it is. Goes in front of what is read next.
    pub(super) held: Held<MOST_IN>,
}

impl In {
    pub(super) fn new() -> Self {
        Self { skip: 0, held: Held::new() }
    }

    /// Looks at `data`: what was held, then what was read. Moves what passes to the front, gives its length, and holds
    /// an unclear end. Texts of one byte are shown to `is_swallowed`.
    pub(super) fn filter(&mut self, data: &mut [u8], mut is_swallowed: impl FnMut(u8) -> bool) -> usize {
        self.held.clear();
        let (mut read, mut kept) = (0, 0);
        while read < data.len() {
            if self.skip == 0 {
                match incoming(&data[read..]) {
                    frame::Incoming::Incomplete => {
                        data[read..].iter().for_each(|byte| self.held.push(*byte));
                        break;
                    }
                    frame::Incoming::Single { byte } => {
                        if is_swallowed(byte) {
                            read += SINGLE;
                            continue;
                        }
                        self.skip = SINGLE as u64;
                    }
                    frame::Incoming::Pass { length } => self.skip = length,
                    // The library closes such a line. Until then nothing in it is ours.
                    frame::Incoming::Broken => self.skip = u64::MAX,
                }
            }
            let rest = data.len() - read;
            let count = usize::try_from(self.skip).unwrap_or(rest).min(rest);
            if read != kept {
                data.copy_within(read..read + count, kept);
            }
            self.skip -= count as u64;
            read += count;
            kept += count;
        }
        kept
    }
}

/// A few bytes without an allocation.
#[derive(Debug)]
pub(super) struct Held<const MOST: usize> {
    bytes: [u8; MOST],
    length: u8,
}

impl<const MOST: usize> Held<MOST> {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; MOST], length: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// Removes the first `count` bytes.
    pub(super) fn advance(&mut self, count: usize) {
        self.bytes.copy_within(count..usize::from(self.length), 0);
        self.length -= count as u8;
    }

    fn push(&mut self, byte: u8) {
        self.bytes[usize::from(self.length)] = byte;
        self.length += 1;
    }
}
