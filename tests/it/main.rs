//! Every integration test, in one binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod journal;
mod store;
mod support;
