//! Every integration test, in one binary.

mod cli;
mod http;
mod socket;
mod store;
mod support;
