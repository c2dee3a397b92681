//! The suite that every store passes. A new backend passes it as it is.

mod adoption;
mod cancel;
mod finding;
mod fold;
mod order;
mod owners;
mod reading;
mod retry;
mod runs;
