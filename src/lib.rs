//! rejoinder: a realtime chat server in which a broken line loses nothing and doubles nothing.

pub mod app;
pub mod chat;
pub mod clock;
pub mod conversation;
pub mod demo;
pub mod hook;
pub mod id;
pub mod journal;
pub mod line;
pub mod protocol;
pub mod record;
pub mod screen;
pub mod session;
pub mod socket;
pub mod store;

pub use app::{App, AppBuilder, BuildError};
pub use chat::{Chat, Message, SessionValue};
pub use hook::{HookError, Result, State, UserMessage, UserSession, UserState};
