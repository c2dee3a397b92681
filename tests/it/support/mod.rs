//! What several tests use.

pub mod counted;
pub mod database;
pub mod http;
pub mod page;
pub mod parse;
pub mod probe;
pub mod process;
pub mod raw;
pub mod records;
pub mod server;
