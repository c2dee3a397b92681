//! The chained mark: eight bytes that name a record together with everything before it.

use sha2::{Digest, Sha256};

/// A mark. Before the first record it is all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark([u8; 8]);

impl Mark {
    /// The mark of the record that follows this one.
    #[must_use]
    pub fn next(self, record_id: &str, content_hash: &[u8; 32]) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(record_id.as_bytes());
        hasher.update(content_hash);
        let digest = hasher.finalize();
        let mut mark = [0; 8];
        mark.copy_from_slice(&digest[..8]);
        Self(mark)
    }

    /// Sixteen hex digits.
    #[must_use]
    pub fn hex(self) -> String {
        hex(&self.0)
    }

    /// As it is stored.
    #[must_use]
    pub fn bytes(self) -> [u8; 8] {
        self.0
    }

    /// From sixteen hex digits of either case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 16 || !text.is_ascii() {
            return None;
        }
        Some(Self(u64::from_str_radix(text, 16).ok()?.to_be_bytes()))
    }
}

impl serde::Serialize for Mark {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.hex())
    }
}

/// Bytes as lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_all_that_came_before() {
        let one = Mark::default().next("a", &[1; 32]).next("b", &[2; 32]);
        let other = Mark::default().next("a", &[9; 32]).next("b", &[2; 32]);
        assert_ne!(one, other);
        assert_eq!(Mark::parse(&one.hex()), Some(one));
        assert_eq!(Mark::parse(&one.hex().to_uppercase()), Some(one));
        assert_eq!(Mark::parse("zz"), None);
    }
}
