//! Hooks: async functions whose arguments say what they want.
//!
//! A hook is any async function whose arguments implement [`FromHook`] for its event, so that a hook which wants
//! something that its event does not have does not compile.

mod argument;
mod event;
mod form;
mod function;
mod project;
mod runtime;
mod state;

pub use crate::error::{HookError, Result};
pub use argument::{FromHook, Need, UserSession, UserState};
pub use event::{
    AppEvent, ChatEvent, HeaderLogin, HeaderLoginEvent, InChat, MessageEvent, PasswordLogin, PasswordLoginEvent,
    ResumeEvent, ResumedThread, UserMessage,
};
pub use form::{ActionEvent, Settings, SettingsEvent, WindowMessage, WindowMessageEvent};
pub use function::{Handler, HandlerFuture, Hook, HookOutput};
pub use project::{
    Author, AuthorEvent, ChoicesEvent, FeedbackEvent, Language, LogoutEvent, ProfileName, SharedThread, SharedViewEvent,
};
pub use runtime::HookRuntime;
pub use state::{State, States};

/// What a hook is called with: the event and the application's state.
#[derive(Clone, Debug)]
pub struct Input<E> {
    /// What happened.
    pub event: E,
    /// What the application shares between its hooks.
    pub states: States,
}
