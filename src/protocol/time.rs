//! Times on the wire and in the tables: UTC, ISO 8601, microseconds, `Z` (chat-wire 5.1).

use std::fmt;
use std::time::Duration;

use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment in microseconds since 1970, UTC.
///
/// Text is `2026-11-29T22:35:39.129157Z`; the fraction is left out when it is zero, as the frontends know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since 1970.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since 1970.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero when it lies the other way round.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads a time as Chainlit's layers store it: with `Z`, with an offset, or without a zone, which is UTC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(moment) = text.parse::<jiff::Timestamp>() {
            return Some(Self(moment.as_microsecond()));
        }
        let civil: jiff::civil::DateTime = text.trim_end_matches('Z').parse().ok()?;
        Some(Self(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_microsecond()))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX)))
    }
}

const WHOLE: DateTimePrinter = DateTimePrinter::new().precision(Some(0));
const MICROS: DateTimePrinter = DateTimePrinter::new().precision(Some(6));

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(moment) = jiff::Timestamp::from_microsecond(self.0) else { return f.write_str("1970-01-01T00:00:00Z") };
        let printer = if self.0 % 1_000_000 == 0 { &WHOLE } else { &MICROS };
        printer.print_timestamp(&moment, StdFmtWrite(f)).map_err(|_| fmt::Error)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text)
    }
}

/// Reads a time from a text that nobody keeps.
struct Text;

impl Visitor<'_> for Text {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
        Timestamp::parse(text).ok_or_else(|| E::custom("not a time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["2026-11-29T22:35:39.129157Z", "2026-11-29T22:35:39Z", "2026-11-29T22:35:39.100000Z"] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_time_without_a_zone_is_utc() {
        assert_eq!(Timestamp::parse("2026-11-29T22:42:19.613000").unwrap().to_string(), "2026-11-29T22:42:19.613000Z");
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
