//! rejoinder: a realtime chat server in which a broken line loses nothing and doubles nothing.

pub mod clock;
pub mod id;
pub mod journal;
pub mod protocol;
pub mod record;
pub mod store;
