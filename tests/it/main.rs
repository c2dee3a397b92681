//! Every integration test, in one binary.

mod screen;
mod store;
mod support;
