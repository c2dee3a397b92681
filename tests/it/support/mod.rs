//! What several tests use.

pub mod database;
pub mod raw;
pub mod records;
