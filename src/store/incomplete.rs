//! Why a thread's history is not whole: a set of reason codes that only grows.

use std::collections::BTreeSet;

/// Steps that are older than the thread's first record.
pub const LEGACY_ROWS: &str = "legacy_rows";
/// Rows came or went without records: another program wrote to the same tables.
pub const FOREIGN_ROWS: &str = "foreign_rows";
/// Records stored while numbering was switched off.
pub const UNSEQUENCED_ROWS: &str = "unsequenced_rows";
/// The database would not take a record.
pub const RECORD_REJECTED: &str = "record_rejected";
/// Too much waited for the store, so something was refused.
pub const PENDING_OVERFLOW: &str = "pending_overflow";
/// A run died with its process.
pub const EXECUTION_LOST: &str = "execution_lost";

/// From the column: codes with spaces between.
pub(super) fn parse(column: Option<&str>) -> BTreeSet<String> {
    column.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// For the column: sorted, with spaces between; null when there is nothing to say.
pub(super) fn format(reasons: &BTreeSet<String>) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.iter().map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// The column with one reason more.
pub(super) fn with(column: Option<&str>, reason: &str) -> Option<String> {
    let mut reasons = parse(column);
    reasons.insert(reason.to_owned());
    format(&reasons)
}
