//! Tokens that pile up for a slow client become fewer and longer.

use std::collections::VecDeque;

use crate::metrics::counts;
use crate::protocol::{ServerEvent, Token};
use crate::session::Entry;

/// A merged token grows no longer than this.
const LONGEST: usize = 64 * 1024;

/// Merges adjacent plain tokens of the same step and field. A merged entry has the number of its last token, so that
/// its proof proves all of them.
pub(super) fn merge(entries: VecDeque<Entry>) -> VecDeque<Entry> {
    let before = entries.len();
    let mut merged: VecDeque<Entry> = VecDeque::with_capacity(entries.len());
    for entry in entries {
        match (merged.back_mut(), &entry.event) {
            (Some(Entry { number, event: ServerEvent::StreamToken(last) }), ServerEvent::StreamToken(token))
                if goes_on(last, token) =>
            {
                last.token.push_str(&token.token);
                *number = entry.number;
            }
            _ => merged.push_back(entry),
        }
    }
    counts().tokens_merged.inc_by((before - merged.len()) as u64);
    merged
}

fn goes_on(last: &Token, next: &Token) -> bool {
    last.id == next.id
        && last.is_input == next.is_input
        && !last.is_sequence
        && !next.is_sequence
        && last.token.len() + next.token.len() <= LONGEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::StepId;

    fn token(number: u64, step: &str, text: &str, is_sequence: bool, is_input: bool) -> Entry {
        let token = Token { id: StepId::from(step), token: text.to_owned(), is_sequence, is_input };
        Entry { number, event: ServerEvent::StreamToken(token) }
    }

    #[test]
    fn only_neighbours_of_one_step_and_field_merge() {
        let entries = VecDeque::from([
            token(1, "a", "x", false, false),
            token(2, "a", "y", false, false),
            token(3, "a", "z", true, false),
            token(4, "a", "w", false, false),
            token(5, "a", "v", false, true),
            token(6, "b", "u", false, true),
            Entry { number: 7, event: ServerEvent::TaskEnd },
            token(8, "b", "t", false, true),
            token(9, "b", "s", false, true),
        ]);
        let merged = merge(entries);
        assert_eq!(merged.iter().map(|entry| entry.number).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 9]);
        assert_eq!(merged[0], token(2, "a", "xy", false, false));
        assert_eq!(merged[6], token(9, "b", "ts", false, true));
    }

    #[test]
    fn a_merged_token_stays_bounded() {
        let text = "x".repeat(LONGEST / 2);
        let entries = (1..=5).map(|number| token(number, "a", &text, false, false)).collect();
        assert_eq!(merge(entries).len(), 3);
    }
}
