//! Streaming steps as rows of `rejoinder_partials`.

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::Partial;
use crate::record::cleaned_step;

/// Rows of tabs that nobody came back to for thirty days are removed.
pub(super) const FORGOTTEN_AFTER_MICROS: i64 = 30 * 24 * 3600 * 1_000_000;

/// One row a step; the newest of a step comes last and wins.
pub(super) fn partial_rows(partials: &[Partial]) -> Vec<Value> {
    let mut rows = IndexMap::new();
    for partial in partials {
        let mut step = cleaned_step(&partial.step).unwrap_or_else(|| partial.step.clone());
        step.thread_id = partial.thread.clone();
        let key = (partial.thread.clone(), step.id.clone());
        let row = json!({ "thread": partial.thread, "id": step.id, "execution": partial.execution, "step": step });
        rows.insert(key, row);
    }
    rows.into_values().collect()
}
