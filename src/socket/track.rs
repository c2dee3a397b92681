//! Which entry an emitted event was, and how much of what was emitted has not left yet.

use std::collections::VecDeque;

/// What was emitted over one connection and is not proven.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// How many events were emitted before the first in `flying`.
    before: u64,
    /// Bytes of those.
    before_end: u64,
    flying: VecDeque<Emitted>,
    /// Bytes of all events emitted.
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Emitted {
    entry: u64,
    /// Bytes of all events up to this one.
    end: u64,
}

/// Beyond this the oldest are forgotten: they are proven with the next that is proven.
const MOST: usize = 16 * 1024;

impl Track {
    /// An entry was emitted as the next event.
    pub(super) fn emitted(&mut self, entry: u64, bytes: usize) {
        self.bytes += bytes as u64;
        self.flying.push_back(Emitted { entry, end: self.bytes });
        if self.flying.len() > MOST {
            self.forget(1);
        }
    }

    /// How many events were emitted.
    pub(super) fn count(&self) -> u64 {
        self.before + self.flying.len() as u64
    }

    /// Whether anything emitted is not proven.
    pub(super) fn is_flying(&self) -> bool {
        !self.flying.is_empty()
    }

    /// Events and bytes that are still queued when `written` events have left.
    pub(super) fn queued(&self, written: u64) -> (u64, u64) {
        let left = index(written.saturating_sub(self.before)).min(self.flying.len());
        let end = left.checked_sub(1).map_or(self.before_end, |last| self.flying[last].end);
        (self.count().saturating_sub(written), self.bytes - end)
    }

    /// The first `count` events are proven. Gives the last entry among them, if any is newly so.
    pub(super) fn proven(&mut self, count: u64) -> Option<u64> {
        let newly = index(count.saturating_sub(self.before)).min(self.flying.len());
        let last = self.flying.get(newly.checked_sub(1)?)?.entry;
        self.forget(newly);
        if self.flying.is_empty() {
            // An idle connection should cost nothing.
            self.flying = VecDeque::new();
        }
        Some(last)
    }

    fn forget(&mut self, count: usize) {
        for event in self.flying.drain(..count) {
            self.before += 1;
            self.before_end = event.end;
        }
    }
}

fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_names_the_last_entry_it_covers() {
        let mut track = Track::default();
        for entry in [10, 11, 15] {
            track.emitted(entry, 100);
        }
        assert_eq!(track.queued(0), (3, 300));
        assert_eq!(track.queued(1), (2, 200));
        assert_eq!(track.proven(2), Some(11));
        assert_eq!(track.proven(2), None);
        assert_eq!(track.proven(1), None);
        assert_eq!(track.queued(2), (1, 100));
        assert_eq!(track.queued(3), (0, 0));
        assert_eq!(track.proven(9), Some(15));
        assert!(!track.is_flying());
        assert_eq!((track.count(), track.queued(3)), (3, (0, 0)));
    }

    #[test]
    fn what_is_forgotten_is_proven_with_the_next() {
        let mut track = Track::default();
        for entry in 0..=MOST as u64 {
            track.emitted(entry, 1);
        }
        assert_eq!(track.proven(1), None);
        assert_eq!(track.proven(2), Some(1));
        assert_eq!(track.queued(0), (track.count(), track.count() - 2));
    }
}
