//! A thread's events as a stream: replay, then live, without a gap (records.md 3.8). Named by invariant.

mod anonymous;
mod beside;
mod crash;
mod end;
mod folded;
mod kills;
mod live;
mod preview;
mod resume;
mod slow;
mod talk;
pub mod world;
