//! Records into a thread.

/// Stands in for the fold until the store brings it.
pub fn fold() {}
