//! Which runs work here. Each keeps its lease in the store as long as somebody holds it: the conversation that works on
//! it, and its end while that waits for the store.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::{ExecutionId, ThreadId};
use crate::store::Working;

/// The runs of this process, each with how often it is held. Clones share one list.
#[derive(Clone, Default)]
pub struct Leases(Arc<Mutex<HashMap<Working, usize>>>);

impl fmt::Debug for Leases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Leases")
    }
}

/// A hold on a run. When the last one of a run is dropped, however that comes about, the run's lease is not renewed any
/// more: should its end never be stored, a watchdog settles it.
#[derive(Debug)]
pub struct RunLease {
    leases: Leases,
    run: Working,
}

impl Leases {
    /// Holds a run from now on.
    #[must_use]
    pub fn hold(&self, thread: &ThreadId, run: &ExecutionId) -> RunLease {
        let run = (thread.clone(), run.clone());
        self.change(|runs| *runs.entry(run.clone()).or_default() += 1);
        RunLease { leases: self.clone(), run }
    }

    /// Every run that is held.
    pub(super) fn held(&self) -> Vec<Working> {
        self.change(|runs| runs.keys().cloned().collect())
    }

    fn change<T>(&self, with: impl FnOnce(&mut HashMap<Working, usize>) -> T) -> T {
        // A panic elsewhere leaves the map whole: nothing is done to it in several steps.
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for RunLease {
    fn drop(&mut self) {
        self.leases.change(|runs| {
            if let Entry::Occupied(mut held) = runs.entry(self.run.clone()) {
                *held.get_mut() -= 1;
                if *held.get() == 0 {
                    held.remove();
                }
            }
        });
    }
}
