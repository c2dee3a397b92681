//! The suite that every store passes. A new backend passes it as it is.

pub mod adoption;
mod cancel;
mod finding;
pub mod fold;
mod history;
mod leases;
mod many;
mod order;
mod owners;
mod reading;
mod retry;
mod runs;
mod upgrade;
mod verify;
