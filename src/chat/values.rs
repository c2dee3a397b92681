//! The values of a user session: string keys, JSON values.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::protocol::SettingsForm;

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
    /// The values of the settings form, by the ids of its widgets.
    settings: Map<String, Value>,
    settings_changed: bool,
    /// They came with a stored thread, and no form was offered since.
    settings_restored: bool,
}

impl Values {
    /// Values as the metadata of a thread keeps them, none of them changed.
    #[must_use]
    pub fn restored(map: Map<String, Value>, settings: Map<String, Value>) -> Self {
        Self { state: Mutex::new(State { map, settings_restored: !settings.is_empty(), settings, ..State::default() }) }
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

    /// The values of the settings form.
    pub fn settings(&self) -> Map<String, Value> {
        self.lock().settings.clone()
    }

    /// A form is offered: its values are the session's from now on. A form that is the first after a resume goes on with
    /// what the thread had.
    pub fn offer(&self, form: &SettingsForm) -> Map<String, Value> {
        let mut state = self.lock();
        let mut values = form.initial();
        if std::mem::take(&mut state.settings_restored) {
            for (id, value) in &mut values {
                if let Some(known) = state.settings.get(id) {
                    value.clone_from(known);
                }
            }
        }
        if state.settings != values {
            state.settings_changed = true;
            state.settings.clone_from(&values);
        }
        values
    }

    /// The form was confirmed: its values replace those they have names with. Gives all of them.
    pub fn confirm(&self, values: &Map<String, Value>) -> Map<String, Value> {
        let mut state = self.lock();
        state.settings_changed = true;
        for (id, value) in values {
            state.settings.insert(id.clone(), value.clone());
        }
        state.settings.clone()
    }

    /// The values of the settings form, when they changed since the last call.
    pub fn take_settings(&self) -> Option<Map<String, Value>> {
        let mut state = self.lock();
        std::mem::take(&mut state.settings_changed).then(|| state.settings.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
