//! The suite that every store passes. A new backend passes it as it is.

mod fold;
mod order;
mod owners;
mod retry;
mod runs;
