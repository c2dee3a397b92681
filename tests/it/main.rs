//! Every integration test, in one binary.

mod http;
mod socket;
mod store;
mod support;
