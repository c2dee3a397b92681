//! The application: what its developer registered.

mod answers;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::time::timeout;
use tracing::{error, warn};

pub use answers::Answers;

use crate::hook::{
    ActionEvent, AppEvent, Author, AuthorEvent, ChatEvent, ChoicesEvent, FeedbackEvent, Handler, HeaderLoginEvent,
    Hook, Input, LogoutEvent, MessageEvent, Need, PasswordLoginEvent, ResumeEvent, SettingsEvent, SharedViewEvent,
    States, WindowMessageEvent,
};
use crate::protocol::{ChatProfile, Starter, StarterCategory, User};

/// How long a message waits for the name of its author.
const RENAMING: Duration = Duration::from_secs(5);

/// Collects hooks and state. `build()` makes an [`App`] of it.
///
/// ```
/// use rejoinder::{App, Chat, UserMessage};
///
/// async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
///     chat.say(format!("you said {}", message.text())).await?;
///     Ok(())
/// }
///
/// let app = App::new().on_message(answer).build().unwrap();
/// ```
#[derive(Default)]
#[must_use = "an application is made by `build`"]
pub struct AppBuilder {
    hooks: Hooks,
    states: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    needs: Vec<(&'static str, Need)>,
}

/// The registered hooks.
#[derive(Clone, Default)]
pub(crate) struct Hooks {
    pub(crate) app_startup: Option<Handler<AppEvent>>,
    pub(crate) app_shutdown: Option<Handler<AppEvent>>,
    pub(crate) password_login: Option<Handler<PasswordLoginEvent, Option<User>>>,
    pub(crate) header_login: Option<Handler<HeaderLoginEvent, Option<User>>>,
    pub(crate) chat_start: Option<Handler<ChatEvent>>,
    pub(crate) chat_resume: Option<Handler<ResumeEvent>>,
    pub(crate) chat_end: Option<Handler<ChatEvent>>,
    pub(crate) message: Option<Handler<MessageEvent>>,
    pub(crate) stop: Option<Handler<ChatEvent>>,
    pub(crate) disconnect: Option<Handler<ChatEvent>>,
    pub(crate) reconnect: Option<Handler<ChatEvent>>,
    pub(crate) settings_update: Option<Handler<SettingsEvent>>,
    pub(crate) settings_edit: Option<Handler<SettingsEvent>>,
    pub(crate) window_message: Option<Handler<WindowMessageEvent>>,
    /// By the button's name.
    pub(crate) actions: HashMap<String, Handler<ActionEvent, Value>>,
    pub(crate) logout: Option<Handler<LogoutEvent, Value>>,
    pub(crate) feedback: Option<Handler<FeedbackEvent>>,
    pub(crate) shared_view: Option<Handler<SharedViewEvent, bool>>,
    pub(crate) chat_profiles: Option<Handler<ChoicesEvent, Vec<ChatProfile>>>,
    pub(crate) starters: Option<Handler<ChoicesEvent, Vec<Starter>>>,
    pub(crate) starter_categories: Option<Handler<ChoicesEvent, Vec<StarterCategory>>>,
    pub(crate) author_rename: Option<Handler<AuthorEvent, String>>,
}

/// What is wrong with an application.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A hook wants a state that was not registered.
    #[error("{hook} wants a state of type {state}; register it with `with_state`")]
    MissingState {
        /// The hook.
        hook: &'static str,
        /// The type.
        state: &'static str,
    },
    /// Nothing would ever be said.
    #[error("an application needs `on_chat_start` or `on_message`")]
    NoHook,
}

/// Hooks and state, ready to be served. Cheap to clone.
#[derive(Clone)]
pub struct App(Arc<Inner>);

struct Inner {
    hooks: Hooks,
    states: States,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("App")
    }
}

macro_rules! register {
    ($($(#[$doc:meta])* $method:ident, $field:ident, $event:ty, $output:ty;)*) => {
        $(
            $(#[$doc])*
            pub fn $method<A>(mut self, hook: impl Hook<$event, $output, A>) -> Self {
                self.needs.extend(needs_of(&hook).into_iter().map(|need| (stringify!($method), need)));
                self.hooks.$field = Some(hook.handler());
                self
            }
        )*
    };
}

fn needs_of<E, T, A, H: Hook<E, T, A>>(_hook: &H) -> Vec<Need> {
    H::needs()
}

impl AppBuilder {
    /// Shares a value with every hook that has a `State` of its type; the last one of a type counts.
    pub fn with_state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(TypeId::of::<T>(), Box::new(state));
        self
    }

    register! {
        /// Before the server takes connections. An error stops the start.
        on_app_startup, app_startup, AppEvent, ();
        /// When the server stops, after the last run.
        on_app_shutdown, app_shutdown, AppEvent, ();
        /// Signs people in by name and password; its presence makes the page show a form. `None` refuses.
        on_password_login, password_login, PasswordLoginEvent, Option<User>;
        /// Signs people in by their request's headers, as a proxy sets them. `None` refuses.
        on_header_login, header_login, HeaderLoginEvent, Option<User>;
        /// Once for a session that has no first interaction; never for one that resumes a thread.
        on_chat_start, chat_start, ChatEvent, ();
        /// Succeeds at most once per session that opens a stored thread; its presence lets threads be opened again.
        on_chat_resume, chat_resume, ResumeEvent, ();
        /// Once, when a session ends; not when its line breaks.
        on_chat_end, chat_end, ChatEvent, ();
        /// For every message of a person, once.
        on_message, message, MessageEvent, ();
        /// When somebody pressed stop, after what ran was told.
        on_stop, stop, ChatEvent, ();
        /// When a session's line broke.
        on_disconnect, disconnect, ChatEvent, ();
        /// When a session whose line broke is back.
        on_reconnect, reconnect, ChatEvent, ();
        /// When the settings form was confirmed; the values are the session's already.
        on_settings_update, settings_update, SettingsEvent, ();
        /// For every change of a field of the settings form, before it is confirmed. The session's values stay.
        on_settings_edit, settings_edit, SettingsEvent, ();
        /// For whatever the window around the page posts. Anybody can post: nothing about it is checked.
        on_window_message, window_message, WindowMessageEvent, ();
        /// When somebody signs out. What it returns is the answer, if it is not null.
        on_logout, logout, LogoutEvent, Value;
        /// When somebody has voted on an answer in a thread of theirs; the vote is stored. A failure is logged.
        on_feedback, feedback, FeedbackEvent, ();
        /// Whether somebody may see a thread that is not theirs and whose owner did not share it. A failure means no.
        on_shared_thread_view, shared_view, SharedViewEvent, bool;
        /// The profiles that a page offers; the picker shows from two on. A failure means none.
        set_chat_profiles, chat_profiles, ChoicesEvent, Vec<ChatProfile>;
        /// The messages that an empty page offers. A failure means none.
        set_starters, starters, ChoicesEvent, Vec<Starter>;
        /// The same under headings, which replace the loose ones.
        set_starter_categories, starter_categories, ChoicesEvent, Vec<StarterCategory>;
        /// The name under which a message or a step is shown, asked for each. A failure leaves the name as it is.
        author_rename, author_rename, AuthorEvent, String;
    }

    /// When somebody presses a button of this name; the last hook of a name counts. What it returns is the answer of
    /// the request, for custom elements that wait for it.
    pub fn on_action<A>(mut self, name: impl Into<String>, hook: impl Hook<ActionEvent, Value, A>) -> Self {
        self.needs.extend(needs_of(&hook).into_iter().map(|need| ("on_action", need)));
        self.hooks.actions.insert(name.into(), hook.handler());
        self
    }

    /// Makes the application.
    ///
    /// # Errors
    /// When a hook wants a state that nobody registered, or there is neither a start nor a message hook.
    pub fn build(self) -> Result<App, BuildError> {
        let states = States::new(self.states);
        if let Some((hook, need)) = self.needs.iter().find(|(_, need)| !states.has(need.id)) {
            return Err(BuildError::MissingState { hook, state: need.name });
        }
        if self.hooks.chat_start.is_none() && self.hooks.message.is_none() {
            return Err(BuildError::NoHook);
        }
        Ok(App(Arc::new(Inner { hooks: self.hooks, states })))
    }
}

impl App {
    /// An application without hooks, to be built.
    #[expect(clippy::new_ret_no_self, reason = "App::new() begins the sentence that build() ends")]
    pub fn new() -> AppBuilder {
        AppBuilder::default()
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    pub(crate) fn input<E>(&self, event: E) -> Input<E> {
        Input { event, states: self.0.states.clone() }
    }

    /// Whether people sign in with a name and a password.
    #[must_use]
    pub fn has_password_login(&self) -> bool {
        self.0.hooks.password_login.is_some()
    }

    /// Whether people are signed in by the headers of their request.
    #[must_use]
    pub fn has_header_login(&self) -> bool {
        self.0.hooks.header_login.is_some()
    }

    /// Whether stored threads can be opened again.
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.0.hooks.chat_resume.is_some()
    }

    /// The name under which `author` is shown: what `author_rename` says of it, or as it is when there is no such hook or
    /// it fails, which is logged. It works where it is called: on the hooks' runtime.
    pub fn renamed(&self, author: String) -> impl Future<Output = String> + Send + use<> {
        let hook = self.0.hooks.author_rename.clone();
        let input = self.input(AuthorEvent { author: Author(author.clone()) });
        async move {
            let Some(hook) = hook else { return author };
            let work = AssertUnwindSafe(async move { hook(input).await }).catch_unwind();
            match timeout(RENAMING, work).await {
                Ok(Ok(Ok(name))) => name,
                Ok(Ok(Err(failure))) => {
                    warn!("author_rename failed: {}", failure.for_log());
                    author
                }
                Ok(Err(_)) => {
                    error!("author_rename panicked");
                    author
                }
                Err(_) => {
                    warn!("author_rename took too long");
                    author
                }
            }
        }
    }

    /// Calls the start hook.
    ///
    /// # Errors
    /// What it fails with.
    pub async fn startup(&self) -> crate::hook::Result {
        match &self.0.hooks.app_startup {
            Some(hook) => hook(self.input(AppEvent)).await,
            None => Ok(()),
        }
    }

    /// Calls the stop hook; a failure is logged.
    pub async fn shutdown(&self) {
        if let Some(hook) = &self.0.hooks.app_shutdown
            && let Err(failure) = hook(self.input(AppEvent)).await
        {
            error!(failure = failure.for_log(), "on_app_shutdown failed");
        }
    }
}
