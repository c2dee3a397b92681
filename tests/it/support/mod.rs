//! What several tests use.

pub mod database;
pub mod probe;
pub mod raw;
pub mod records;
