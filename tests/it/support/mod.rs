//! What several tests use.

pub mod raw;
