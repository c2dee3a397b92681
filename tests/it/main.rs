//! Every integration test, in one binary: it is linked once.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod bad_input;
mod behind;
mod blocked;
mod chainlit;
mod cli;
mod crash;
mod examples;
mod file;
mod fixture;
mod histories;
mod http;
mod journal;
mod layers;
mod line;
mod outage;
mod page;
mod profile;
mod quiet;
mod resume;
mod round_trip;
mod screen;
mod session;
mod socket;
mod stop;
mod store;
mod stream;
mod streamed;
mod support;
mod watchdog;
mod wire;
