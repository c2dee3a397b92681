//! Days as date pickers name them: an ISO date, or the moment that a browser gives back for one (chat-wire 5.9).

use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A day, in a spelling that every browser reads: `2026-01-02` or `2026-01-02T00:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day(Spelling);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Date(Date),
    Moment(jiff::Timestamp),
}

impl Day {
    /// A day of the calendar. `None` when the calendar has no such day.
    #[must_use]
    pub fn new(year: i16, month: i8, day: i8) -> Option<Self> {
        Date::new(year, month, day).ok().map(|date| Self(Spelling::Date(date)))
    }

    /// Reads what an application or a browser calls a day. A moment stays one: which day it is, only the browser knows.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // As a moment first: a date alone is none.
        let moment = text.parse().map(Spelling::Moment);
        moment.or_else(|_| text.parse().map(Spelling::Date)).ok().map(Self)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Spelling::Date(date) => date.fmt(f),
            Spelling::Moment(moment) => moment.fmt(f),
        }
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a day"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_moments_keep_their_spelling() {
        for text in ["2026-01-02", "2026-01-01T23:00:00Z"] {
            assert_eq!(Day::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Day::parse("2026-01-01T23:00:00.000Z").unwrap().to_string(), "2026-01-01T23:00:00Z");
        assert_eq!(Day::new(2026, 1, 2), Day::parse("2026-01-02"));
        assert_eq!((Day::parse("tomorrow"), Day::new(2026, 2, 30)), (None, None));
    }
}
