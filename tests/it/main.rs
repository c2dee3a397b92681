//! Every integration test, in one binary.

mod store;
mod support;
