//! What several tests use.

pub mod database;
pub mod memory;
pub mod official;
pub mod poll;
pub mod probe;
pub mod raw;
pub mod records;
