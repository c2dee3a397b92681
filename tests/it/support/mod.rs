//! What tests share.

pub mod database;
pub mod fake_store;
pub mod probe;
pub mod records;
