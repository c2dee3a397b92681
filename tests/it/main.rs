//! Everything that is tested from outside.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod line;
mod socket;
mod support;
