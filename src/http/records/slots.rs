//! How many streams there may be: of one person, of one person on one thread, of all (records.md 3.12).

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::ThreadId;
use crate::metrics as counted;

/// Bounds for streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Of one person on one thread.
    pub per_thread: usize,
    /// Of one person.
    pub per_user: usize,
    /// Of this process.
    pub per_process: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { per_thread: 8, per_user: 64, per_process: 10_000 }
    }
}

/// The streams that are open. Clones share the count.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    all: usize,
    users: HashMap<String, usize>,
    threads: HashMap<Key, usize>,
}

type Key = (Option<String>, ThreadId);

/// A place that was taken; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    key: Key,
    _reader: counted::Open,
}

impl Slots {
    /// Takes a place; none when there is none. Visitors without a login share nothing but their thread's.
    pub(super) fn take(&self, user: Option<&str>, thread: &ThreadId, limits: &StreamLimits) -> Option<Slot> {
        let key = (user.map(str::to_owned), thread.clone());
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_user = user.and_then(|user| open.users.get(user)).copied().unwrap_or_default();
        let of_thread = open.threads.get(&key).copied().unwrap_or_default();
        if open.all >= limits.per_process || of_user >= limits.per_user || of_thread >= limits.per_thread {
            return None;
        }
        open.all += 1;
        if let Some(user) = user {
            *open.users.entry(user.to_owned()).or_default() += 1;
        }
        *open.threads.entry(key.clone()).or_default() += 1;
        drop(open);
        Some(Slot { slots: self.clone(), key, _reader: counted::Open::one(&counted::counts().readers) })
    }

    /// How many are open.
    pub(super) fn open(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.all = open.all.saturating_sub(1);
        if let Some(user) = &self.key.0 {
            one_less(&mut open.users, user);
        }
        one_less(&mut open.threads, &self.key);
    }
}

/// One less, and no entry for nothing.
fn one_less<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let slots = Slots::default();
        let limits = StreamLimits { per_thread: 2, per_user: 3, per_process: 4 };
        let take = |user: Option<&str>, thread: &str| slots.take(user, &thread.into(), &limits);
        let (one, _two) = (take(Some("ada"), "a").unwrap(), take(Some("ada"), "a").unwrap());
        assert!(take(Some("ada"), "a").is_none(), "her third on that thread");
        let _three = take(Some("ada"), "b").unwrap();
        assert!(take(Some("ada"), "c").is_none(), "her fourth");
        let _four = take(None, "a").unwrap();
        assert!(take(None, "d").is_none(), "the fifth of all");
        drop(one);
        assert!(take(Some("ada"), "a").is_some());
        assert_eq!(slots.open(), 3, "it was given back at once");
        drop((_two, _three, _four));
        let open = slots.0.lock().unwrap();
        assert!(open.users.is_empty() && open.threads.is_empty() && open.all == 0);
    }
}
