//! One binary for all integration tests.

mod screen;
