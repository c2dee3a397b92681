//! What several tests use.

pub mod database;
pub mod memory;
pub mod probe;
pub mod raw;
pub mod records;
