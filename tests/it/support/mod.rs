//! What several tests use.

pub mod bucket;
pub mod chainlit;
pub mod cluster;
pub mod counted;
pub mod database;
pub mod fake_store;
pub mod http;
pub mod memory;
pub mod official;
pub mod page;
pub mod parse;
pub mod person;
pub mod poll;
pub mod probe;
pub mod program;
pub mod raw;
pub mod records;
pub mod server;
pub mod sse;
pub mod tool;
pub mod upload;
