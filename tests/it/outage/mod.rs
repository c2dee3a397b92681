//! The database goes away and comes back: records.md 3.5 and 3.12, I-24 to I-28.

mod chat;
mod lease;
mod lost;
mod overflow;
mod records;
mod world;
