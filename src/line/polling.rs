//! What HTTP long-polling carries: packets, separated by one byte.

/// What an answer to a poll held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets of any kind, without the noop that ends a poll.
    pub packets: u32,
    /// Socket.IO events.
    pub events: u32,
    /// Heartbeat pings.
    pub pings: u32,
    /// Markers: there should be none, for a page would see them.
    pub markers: u32,
}

impl Tally {
    /// Whether it held nothing that could be missed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

/// Between two packets.
const SEPARATOR: u8 = 0x1e;

/// Counts what an answer holds.
#[must_use]
pub fn tally(payload: &[u8]) -> Tally {
    let mut tally = Tally::default();
    for packet in payload.split(|byte| *byte == SEPARATOR) {
        match packet {
            [] | b"6" => continue,
            b"2" => tally.pings += 1,
            [b'4', b'2', rest @ ..] if rest.starts_with(br#"["\u0001","#) => tally.markers += 1,
            [b'4', b'2' | b'5', ..] => tally.events += 1,
            _ => {}
        }
        tally.packets += 1;
    }
    tally
}

/// Counts the pongs in what a page posts.
#[must_use]
pub fn pongs(body: &[u8]) -> u32 {
    let count = body.split(|byte| *byte == SEPARATOR).filter(|packet| *packet == b"3").count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The Engine.IO id in the answer that opens a session.
#[must_use]
pub fn sid(open: &[u8]) -> Option<&str> {
    let rest = std::str::from_utf8(open).ok()?.strip_prefix(r#"0{"sid":""#)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_an_answer_are_counted() {
        let answer = b"40{\"sid\":\"x\"}\x1e42[\"task_end\",{}]\x1e2\x1e421[\"ask\",{}]\x1e45-[\"a\"]\x1ebAQI=";
        assert_eq!(tally(answer), Tally { packets: 6, events: 3, pings: 1, markers: 0 });
        assert!(tally(b"6").is_empty() && tally(b"").is_empty());
        assert_eq!(tally(b"42[\"\\u0001\",7]").markers, 1);
    }

    #[test]
    fn pongs_are_told_from_acks_and_texts() {
        assert_eq!(pongs(b"3\x1e431[]\x1e42[\"3\"]\x1e3"), 2);
        assert_eq!(pongs(b""), 0);
    }

    #[test]
    fn the_opening_names_the_session() {
        assert_eq!(sid(br#"0{"sid":"abc","upgrades":[]}"#), Some("abc"));
        assert_eq!(sid(br#"{"code":"1"}"#), None);
    }
}
