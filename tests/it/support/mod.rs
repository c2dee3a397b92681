//! What several tests use.

pub mod database;
pub mod http;
pub mod probe;
pub mod raw;
pub mod records;
pub mod server;
