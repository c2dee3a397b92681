//! What several tests use.

pub mod official;
pub mod poll;
pub mod raw;
