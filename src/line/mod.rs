//! The listener under everything: write timeout, proof of arrival. It knows bytes, frames and polls, nothing of chats.
//!
//! A [`Connection`] is one Engine.IO session as the line sees it: how many events left over it, and how many of them
//! are known to have reached the page's JavaScript. Whoever emits counts the same events and so knows which.

mod connection;
mod frame;
mod head;
mod listener;
mod polling;
mod shim;
mod stream;
mod wire;

pub use connection::{Connection, Connections, Poll};
pub use listener::{Listener, Peer, Timeouts};
pub use polling::{Tally, pongs, sid, tally};
pub use shim::Shim;
pub use wire::Wire;

/// The name of the event that asks the page for a sign of life. It travels through the ordinary queue, so that it keeps
/// its place there, and never reaches the page: the line sends an Engine.IO ping instead. Its argument is the number
/// of events that were emitted before it.
pub const MARKER: &str = "\u{1}";
