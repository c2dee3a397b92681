//! What tests share.

pub mod database;
pub mod records;
