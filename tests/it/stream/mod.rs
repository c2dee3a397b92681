//! A thread's events as a stream: replay, then live, without a gap (records.md 3.8). Named by invariant.

mod beside;
mod crash;
mod end;
mod live;
mod preview;
mod resume;
mod slow;
pub mod world;
