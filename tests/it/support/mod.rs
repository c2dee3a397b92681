//! What several tests use.

pub mod database;
pub mod http;
pub mod raw;
pub mod records;
pub mod server;
