//! The frontends' wire as data: events, handshake and shapes, typed. No I/O.
//!
//! Wire names are written here and nowhere else. What breaks a page (chat-wire 9.2) cannot be written with these types.

mod action;
mod ask;
mod audio;
mod client;
mod command;
mod day;
mod element;
mod feedback;
mod file;
mod handshake;
mod profile;
mod server;
mod step;
mod tasklist;
mod thread;
mod time;
mod user;
mod widget;

pub use action::Action;
pub use ask::{Accept, Ask, AskKind, AskSpec, whole_seconds};
pub use audio::{AudioChunk, RecordedChunk};
pub use client::{BadEvent, ClientEvent, ClientMessage, EditedMessage, FavoriteMessage, FileReference};
pub use command::{Command, Mode, ModeOption};
pub use day::Day;
pub use element::{Display, Element, ElementKind};
pub use feedback::Feedback;
pub use file::StoredFile;
pub use handshake::{Handshake, HandshakeError};
pub use profile::{ChatProfile, Starter, StarterCategory};
pub use server::{CallId, ServerEvent, Toast, ToastKind, Token};
pub use step::{ShowInput, Step, StepKind};
pub use tasklist::{Task, TaskList, TaskStatus};
pub use thread::{PageInfo, Thread, ThreadPage};
pub use time::Timestamp;
pub use user::User;
pub use widget::{Choice, DateMode, SettingsForm, Tab, Widget, WidgetKind};
