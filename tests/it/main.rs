//! Everything that is tested from outside.

mod socket;
mod support;
