//! Heads of WebSocket frames, as far as the line needs them.

/// What a frame from the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outgoing {
    /// More bytes are needed to tell.
    Incomplete,
    /// Passes as it is. Its length with its head.
    Pass { length: u64, kind: Kind },
    /// A marker: never passes. Counts the events before it.
    Marker { count: u64 },
}

/// What the line counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A Socket.IO event.
    Event,
    /// The heartbeat's ping.
    Ping,
    /// Anything else.
    Other,
}

impl Kind {
    pub(super) fn is_event(self) -> bool {
        self == Self::Event
    }

    pub(super) fn is_ping(self) -> bool {
        self == Self::Ping
    }
}

/// What a frame from the client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Incoming {
    /// More bytes are needed to tell.
    Incomplete,
    /// Passes as it is. Its length with its head.
    Pass { length: u64 },
    /// A whole text of one byte, in [`SINGLE`] bytes.
    Single { byte: u8 },
    /// No frame that a client may send.
    Broken,
}

/// A whole text frame.
const TEXT: u8 = 0x81;

/// The length of a masked frame with one byte in it.
pub(super) const SINGLE: usize = 7;

/// More bytes than it ever takes to tell what a frame from the server is.
pub(super) const MOST_OUT: usize = 40;

/// More bytes than it ever takes to tell what a frame from the client is.
pub(super) const MOST_IN: usize = 16;

/// The Engine.IO ping that a marker becomes.
pub(super) const PING: [u8; 3] = [TEXT, 1, b'2'];

/// How a marker begins, as socketioxide writes the event [`super::MARKER`].
pub(super) const MARKER_HEAD: &[u8] = br#"42["\u0001","#;

/// Tells what the frame at the start of `bytes` is.
pub(super) fn outgoing(bytes: &[u8]) -> Outgoing {
    let Some((head, payload)) = lengths(bytes) else { return Outgoing::Incomplete };
    let length = payload.saturating_add(head as u64);
    let pass = |kind| Outgoing::Pass { length, kind };
    if bytes[0] != TEXT {
        return pass(Kind::Other);
    }
    let known = &bytes[head..bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
    match known {
        [b'4', b'2', ..] => {}
        [b'4', b'5', ..] => return pass(Kind::Event),
        [b'2', ..] if payload == 1 => return pass(Kind::Ping),
        [b'4'] if payload > 1 => return Outgoing::Incomplete,
        [] if payload > 0 => return Outgoing::Incomplete,
        _ => return pass(Kind::Other),
    }
    let compared = known.len().min(MARKER_HEAD.len());
    if length >= MOST_OUT as u64 || known[..compared] != MARKER_HEAD[..compared] {
        return pass(Kind::Event);
    }
    if (known.len() as u64) < payload {
        return Outgoing::Incomplete;
    }
    match known.get(MARKER_HEAD.len()..) {
        Some([digits @ .., b']']) => number(digits).map_or(pass(Kind::Event), |count| Outgoing::Marker { count }),
        _ => pass(Kind::Event),
    }
}

/// Tells what the frame at the start of `bytes` is.
pub(super) fn incoming(bytes: &[u8]) -> Incoming {
    let Some((head, payload)) = lengths(bytes) else { return Incoming::Incomplete };
    if bytes[1] & 0x80 == 0 {
        return Incoming::Broken;
    }
    if bytes[0] != TEXT || payload != 1 || head != 2 {
        return Incoming::Pass { length: payload.saturating_add(head as u64 + 4) };
    }
    match bytes {
        [_, _, mask, _, _, _, byte, ..] => Incoming::Single { byte: mask ^ byte },
        _ => Incoming::Incomplete,
    }
}

/// The lengths of head (without mask) and payload.
fn lengths(bytes: &[u8]) -> Option<(usize, u64)> {
    let (_, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    Some(match length & 0x7f {
        126 => (4, u64::from(u16::from_be_bytes(*rest.first_chunk()?))),
        127 => (10, u64::from_be_bytes(*rest.first_chunk()?)),
        short => (2, u64::from(short)),
    })
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![TEXT];
        match payload.len() {
            short @ 0..126 => frame.push(short as u8),
            long => frame.extend([&[126][..], &(long as u16).to_be_bytes()].concat()),
        }
        frame.extend(payload);
        frame
    }

    #[test]
    fn markers_pings_and_events_are_told_apart() {
        let event = |length| Outgoing::Pass { length, kind: Kind::Event };
        let other = |length| Outgoing::Pass { length, kind: Kind::Other };
        for (payload, expected) in [
            (&br#"42["\u0001",7]"#[..], Outgoing::Marker { count: 7 }),
            (br#"42["\u0001",18446744073709551615]"#, Outgoing::Marker { count: u64::MAX }),
            (br#"42["\u0001",x]"#, event(16)),
            (br#"42["\u0001",]"#, event(15)),
            (br#"42["\u0001","#, event(14)),
            (br#"42["\u0002",7]"#, event(16)),
            (br#"421["ask",{}]"#, event(15)),
            (b"451-[\"a\"]", event(11)),
            (b"2", Outgoing::Pass { length: 3, kind: Kind::Ping }),
            (b"2probe", other(8)),
            (b"3probe", other(8)),
            (b"43", other(4)),
            (b"4", other(3)),
            (b"", other(2)),
            (b"40{\"sid\":\"x\"}", other(15)),
        ] {
            let frame = frame(payload);
            assert_eq!(outgoing(&frame), expected, "{}", payload.escape_ascii());
            // With fewer bytes it says the same or asks for more.
            for end in 0..frame.len() {
                assert!([Outgoing::Incomplete, expected].contains(&outgoing(&frame[..end])));
            }
        }
        assert_eq!(outgoing(&frame(&[b'4'; 300])), other(304));
        assert_eq!(outgoing(&[0x82, 2, b'4', b'2']), other(4));
        assert_eq!(outgoing(&[TEXT, 127, 0, 0, 0, 0, 0, 1, 0, 0, b'4', b'2']), event(65546));
    }

    #[test]
    fn the_answer_of_one_byte_is_found_under_its_mask() {
        assert_eq!(incoming(&[TEXT, 0x81, 1, 2, 3, 4, b'3' ^ 1]), Incoming::Single { byte: b'3' });
        assert_eq!(incoming(&[TEXT, 0x81, 1, 2, 3, 4]), Incoming::Incomplete);
        assert_eq!(incoming(&[TEXT, 0x85, 1]), Incoming::Pass { length: 11 });
        assert_eq!(incoming(&[TEXT, 0xfe, 1, 0]), Incoming::Pass { length: 264 });
        assert_eq!(incoming(&[TEXT, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]), Incoming::Pass { length: 65550 });
        // A fragment, and a control frame, are no answers.
        assert_eq!(incoming(&[0x01, 0x81, 1]), Incoming::Pass { length: 7 });
        assert_eq!(incoming(&[0x8a, 0x81, 1]), Incoming::Pass { length: 7 });
        assert_eq!(incoming(&[TEXT, 0x01, b'3']), Incoming::Broken);
        assert_eq!(incoming(&[TEXT]), Incoming::Incomplete);
    }
}
