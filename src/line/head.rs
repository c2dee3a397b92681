//! Finds the end of the answer that makes a websocket of an HTTP connection.

/// Reads what leaves, byte by byte, until the head of the answer 101 has passed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    /// How much of the needle matched.
    matched: usize,
    /// The status line was seen.
    is_ours: bool,
}

const STATUS: &[u8] = b"HTTP/1.1 101 ";
const END: &[u8] = b"\r\n\r\n";

impl Head {
    /// Reads on. When the head ends in `bytes`, gives how many of them belong to it.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<usize> {
        for (index, byte) in bytes.iter().enumerate() {
            let needle = if self.is_ours { END } else { STATUS };
            if *byte == needle[self.matched] {
                self.matched += 1;
            } else {
                // For these two needles a mismatch can only be a new beginning.
                self.matched = usize::from(*byte == needle[0]);
            }
            if self.matched == needle.len() {
                self.matched = 0;
                if self.is_ours {
                    return Some(index + 1);
                }
                self.is_ours = true;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_ends_where_it_ends_however_it_is_cut() {
        let before = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.HTTP/1.1 404\r\n\r\n";
        let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nx: \r\r\n\r\n";
        let bytes = format!("{before}{head}\u{1}frames");
        let end = before.len() + head.len();
        for first in 0..bytes.len() {
            for second in first..bytes.len() {
                let mut finder = Head::default();
                let (mut found, mut at) = (None, 0);
                for part in [&bytes[..first], &bytes[first..second], &bytes[second..]] {
                    if let Some(index) = finder.read(part.as_bytes()) {
                        found = Some(at + index);
                        break;
                    }
                    at += part.len();
                }
                assert_eq!(found, Some(end));
            }
        }
    }
}
