//! What is written behind: of each thing only its latest state counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;

use crate::id::StepId;
use crate::store::{LiveSession, Partial};

/// Steps that stream at once. A further one is not noted: it only loses the second before a crash.
const MOST_PARTIALS: usize = 1_000;
/// Tabs that wait to be written. A further one is not noted: after a restart its page begins anew.
const MOST_SESSIONS: usize = 100_000;

/// How streaming steps stand.
#[derive(Debug, Default)]
pub(super) struct Partials(Mutex<IndexMap<StepId, Partial>>);

impl Partials {
    pub fn put(&self, partial: Partial) {
        let mut map = lock(&self.0);
        if map.len() < MOST_PARTIALS || map.contains_key(&partial.step.id) {
            map.insert(partial.step.id.clone(), partial);
        }
    }

    pub fn remove(&self, step: &StepId) {
        lock(&self.0).swap_remove(step);
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    pub fn take(&self) -> Vec<Partial> {
        std::mem::take(&mut *lock(&self.0)).into_values().collect()
    }
}

/// Live tabs as they stand; none for one that ended.
#[derive(Debug, Default)]
pub(super) struct Sessions(Mutex<IndexMap<String, Option<LiveSession>>>);

impl Sessions {
    pub fn remember(&self, session: LiveSession) {
        let hash = session.hash.clone();
        self.put(hash, Some(session));
    }

    pub fn forget(&self, hash: String) {
        self.put(hash, None);
    }

    fn put(&self, hash: String, state: Option<LiveSession>) {
        let mut map = lock(&self.0);
        if map.len() < MOST_SESSIONS || map.contains_key(&hash) {
            map.insert(hash, state);
        }
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// The rows to write and the hashes to remove.
    pub fn take(&self) -> (Vec<LiveSession>, Vec<String>) {
        let mut rows = Vec::new();
        let mut gone = Vec::new();
        for (hash, state) in std::mem::take(&mut *lock(&self.0)) {
            match state {
                Some(session) => rows.push(session),
                None => gone.push(hash),
            }
        }
        (rows, gone)
    }

    /// Puts back what could not be written, unless something newer came.
    pub fn put_back(&self, rows: Vec<LiveSession>, gone: Vec<String>) {
        let mut map = lock(&self.0);
        for session in rows {
            map.entry(session.hash.clone()).or_insert(Some(session));
        }
        for hash in gone {
            map.entry(hash).or_insert(None);
        }
    }
}

/// A panic elsewhere leaves the map whole: nothing is done to it in several steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
