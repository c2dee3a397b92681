//! The values of a user session: string keys, JSON values.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A typed value of the user session, under a key of its own.
///
/// ```
/// #[derive(Default, serde::Serialize, serde::Deserialize)]
/// struct Trip { days: u32 }
///
/// impl rejoinder::SessionValue for Trip {
///     const KEY: &str = "trip";
/// }
/// ```
pub trait SessionValue: Serialize + DeserializeOwned + Default + Send + 'static {
    /// The key under which it is kept.
    const KEY: &str;
}

/// The values of one session and which of them changed since they were last stored.
#[derive(Debug, Default)]
pub struct Values {
    state: Mutex<State>,
}

#[derive(Clone, Debug, Default)]
struct State {
    map: Map<String, Value>,
    changed: BTreeSet<String>,
}

impl Values {
    /// Values as the metadata of a thread keeps them, none of them changed.
    #[must_use]
    pub fn restored(map: Map<String, Value>) -> Self {
        Self { state: Mutex::new(State { map, changed: BTreeSet::new() }) }
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.lock().map.get(key).cloned()
    }

    /// Sets a value. Null removes it.
    pub fn set(&self, key: &str, value: Value) {
        let mut state = self.lock();
        state.changed.insert(key.to_owned());
        if value.is_null() {
            state.map.remove(key);
        } else {
            state.map.insert(key.to_owned(), value);
        }
    }

    /// What changed since the last call, with null for what was removed.
    pub fn take_changes(&self) -> Map<String, Value> {
        let mut state = self.lock();
        let changed = std::mem::take(&mut state.changed);
        changed.into_iter().map(|key| (key.clone(), state.map.get(&key).cloned().unwrap_or(Value::Null))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
