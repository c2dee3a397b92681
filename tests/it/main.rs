//! Every integration test, in one binary: it is linked once.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod bad_input;
mod cli;
mod crash;
mod histories;
mod http;
mod line;
mod resume;
mod screen;
mod socket;
mod store;
mod support;
