//! What tests share.

pub mod database;
pub mod probe;
pub mod records;
