//! Cursor tokens (records.md 3.7): a position in a thread that carries its own check. Written and read here and nowhere
//! else; for clients they are opaque.

use std::fmt;
use std::str::FromStr;

/// A position that proves itself: `<epoch>.<sequence>.<mark>`, where the mark is the beginning of the chained mark at that
/// sequence. After a rollback, or in another thread, the mark there is another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CursorToken {
    epoch: String,
    sequence: u64,
    mark: String,
}

/// The epoch of a thread that has no numbering yet.
const NO_EPOCH: &str = "none";
/// The mark before the first record.
const NO_MARK: &str = "0";
/// How much of a stored mark a token carries.
const MARK_DIGITS: usize = 8;

impl CursorToken {
    /// The token for a sequence; `mark` is the stored mark there, in hex, and of no meaning at sequence 0.
    #[must_use]
    pub fn new(epoch: &str, sequence: u64, mark: &str) -> Self {
        let mark = if sequence == 0 { NO_MARK } else { mark.get(..MARK_DIGITS).unwrap_or(mark) };
        Self { epoch: epoch.to_owned(), sequence, mark: mark.to_lowercase() }
    }

    /// The token of a thread that has no numbering yet. As a position it is the beginning.
    #[must_use]
    pub fn none() -> Self {
        Self { epoch: NO_EPOCH.to_owned(), sequence: 0, mark: NO_MARK.to_owned() }
    }

    /// The life of the numbering it belongs to; `none` for one that had not begun.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// The sequence, compared as a number and never as text.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether it is [`CursorToken::none`].
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.epoch == NO_EPOCH
    }

    /// Whether this is a position of the numbering `epoch` in which the record at its sequence has the stored mark `mark`
    /// (hex; none when there is no such record). The beginning has no record, so only the epoch counts there.
    #[must_use]
    pub fn proves(&self, epoch: &str, mark: Option<&str>) -> bool {
        if self.is_none() {
            return self.sequence == 0;
        }
        let same_mark = self.sequence == 0
            || mark.and_then(|mark| mark.get(..MARK_DIGITS)).is_some_and(|mark| mark.eq_ignore_ascii_case(&self.mark));
        self.epoch == epoch && same_mark
    }
}

impl fmt::Display for CursorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.epoch, self.sequence, self.mark)
    }
}

impl serde::Serialize for CursorToken {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where a reader says it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// A number alone. It is believed: a restored backup goes unnoticed.
    Sequence(u64),
    /// A token.
    Token(CursorToken),
}

/// Not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor")]
pub struct BadCursor;

impl Position {
    /// The sequence it names.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Sequence(sequence) => *sequence,
            Self::Token(token) => token.sequence,
        }
    }
}

impl FromStr for Position {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let mut parts = text.split('.');
        let position = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(number), None, None, None) => Self::Sequence(sequence(number)?),
            (Some(epoch), Some(number), Some(mark), None) => {
                let token = CursorToken { epoch: epoch.to_owned(), sequence: sequence(number)?, mark: mark.to_owned() };
                if !is_epoch(epoch) || !is_mark(mark, token.sequence) {
                    return Err(BadCursor);
                }
                Self::Token(token)
            }
            _ => return Err(BadCursor),
        };
        Ok(position)
    }
}

/// Where a page of history goes on: at a record, or among the rows of before the numbering, which have no sequence.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RecordPlace {
    /// A row without a sequence: its time as the database sorts it, and its id.
    Legacy {
        /// The time.
        created: String,
        /// The step.
        id: String,
    },
    /// A position among the numbered records.
    Numbered(Position),
}

const LEGACY: &str = "legacy:";

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Letters and digits only: clients put it into an address as it is.
            Self::Legacy { created, id } => write!(f, "{LEGACY}{}:{}", hex(created), hex(id)),
            Self::Numbered(Position::Sequence(sequence)) => write!(f, "{sequence}"),
            Self::Numbered(Position::Token(token)) => write!(f, "{token}"),
        }
    }
}

impl FromStr for RecordPlace {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let Some(rest) = text.strip_prefix(LEGACY) else { return Ok(Self::Numbered(text.parse()?)) };
        let (created, id) = rest.split_once(':').ok_or(BadCursor)?;
        Ok(Self::Legacy { created: unhex(created)?, id: unhex(id)? })
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<String, BadCursor> {
    if !is_hex(text) || !text.len().is_multiple_of(2) {
        return Err(BadCursor);
    }
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or_default());
    let bytes = digits.map(|pair| u8::from_str_radix(pair, 16)).collect::<Result<Vec<u8>, _>>();
    let text = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(BadCursor)?;
    // No database takes such a text.
    if text.contains('\0') { Err(BadCursor) } else { Ok(text) }
}

/// Digits only: `parse` would take a sign. The databases count to 2^63 - 1.
fn sequence(text: &str) -> Result<u64, BadCursor> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadCursor);
    }
    text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok()).ok_or(BadCursor)
}

fn is_epoch(text: &str) -> bool {
    text == NO_EPOCH || (text.len() == 16 && is_hex(text))
}

fn is_mark(text: &str, sequence: u64) -> bool {
    if sequence == 0 { text == NO_MARK } else { text.len() == MARK_DIGITS && is_hex(text) }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EPOCH: &str = "9f2c1b7a5e0d4c33";

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let token = CursorToken::new(EPOCH, 44, "A81F03BE00112233");
        assert_eq!(token.to_string(), "9f2c1b7a5e0d4c33.44.a81f03be");
        assert_eq!(token.to_string().parse(), Ok(Position::Token(token)));
        let first = CursorToken::new(EPOCH, 0, "0000000000000000");
        assert_eq!(first.to_string(), "9f2c1b7a5e0d4c33.0.0");
        assert_eq!(first.to_string().parse(), Ok(Position::Token(first)));
        assert_eq!("none.0.0".parse(), Ok(Position::Token(CursorToken::none())));
        assert_eq!("17".parse(), Ok(Position::Sequence(17)));
        assert_eq!("9223372036854775807".parse(), Ok(Position::Sequence(i64::MAX.unsigned_abs())));
    }

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let legacy = |created: &str, id: &str| RecordPlace::Legacy { created: created.into(), id: id.into() };
        for place in [
            legacy("2026-01-01T00:00:00.5", "a:b%é/1"),
            legacy("", "s"),
            RecordPlace::Numbered(Position::Sequence(44)),
            RecordPlace::Numbered(Position::Token(CursorToken::new(EPOCH, 44, "a81f03be00112233"))),
        ] {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for text in [
            "legacy:",
            "legacy:61",
            "legacy:ff:61",
            "legacy:00:61",
            "legacy:6:61",
            "legacy:6g:61",
            "legacy",
            "Legacy:61:61",
        ] {
            assert_eq!(text.parse::<RecordPlace>(), Err(BadCursor), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for text in [
            "",
            ".",
            "..",
            "-1",
            "+1",
            " 1",
            "1 ",
            "0x1",
            "1.2",
            "none",
            "abc",
            "9223372036854775808",
            "9f2c1b7a5e0d4c33.44",
            "9f2c1b7a5e0d4c33.44.a81f03be.1",
            "9f2c1b7a5e0d4c33.+4.a81f03be",
            "9f2c1b7a5e0d4c33.44.a81f03",
            "9f2c1b7a5e0d4c33.44.a81f03bg",
            "9f2c1b7a5e0d4c33.0.a81f03be",
            "9f2c1b7a5e0d4c33.44.0",
            "9f2c.44.a81f03be",
            "9F2C1B7A5E0D4C33.44.a81f03be",
            "١٢",
        ] {
            assert_eq!(text.parse::<Position>(), Err(BadCursor), "{text:?}");
        }
    }

    #[test]
    fn a_token_proves_its_epoch_and_its_mark() {
        let token = CursorToken::new(EPOCH, 44, "a81f03be00112233");
        assert!(token.proves(EPOCH, Some("A81F03BE99999999")));
        assert!(!token.proves(EPOCH, Some("b81f03be00112233")));
        assert!(!token.proves(EPOCH, None), "there is no record any more");
        assert!(!token.proves("0000000000000000", Some("a81f03be00112233")));
        assert!(CursorToken::new(EPOCH, 0, "").proves(EPOCH, None));
        assert!(!CursorToken::new(EPOCH, 0, "").proves("0000000000000000", None));
        assert!(CursorToken::none().proves(EPOCH, None), "the beginning");
    }
}
