//! rejoinder: a realtime chat server in which a broken line loses nothing and doubles nothing.

pub mod app;
pub mod auth;
pub mod chat;
pub mod cli;
pub mod clock;
pub mod config;
pub mod conversation;
pub mod demo;
pub mod error;
pub mod file;
#[cfg(feature = "fixtures")]
pub mod fixture;
pub mod frontend;
pub mod hook;
pub mod http;
pub mod id;
pub mod journal;
pub mod line;
pub mod metrics;
pub mod protocol;
pub mod record;
pub mod screen;
pub mod server;
pub mod session;
pub mod socket;
pub mod store;

pub use app::{App, AppBuilder, BuildError};
pub use chat::{Chat, Message, SessionValue};
pub use config::Config;
pub use hook::{HookError, Result, State, UserMessage, UserSession, UserState};
pub use server::Server;

/// Keeps the README's example compiling.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
