//! rejoinder: a realtime chat server in which a broken line loses nothing and doubles nothing.

pub mod app;
pub mod clock;
pub mod id;
pub mod line;
pub mod protocol;
pub mod session;
pub mod socket;
