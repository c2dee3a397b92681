//! What the application answers outside of conversations: logins, choices, votes, goodbyes. Its hooks run on their own
//! runtime and for a bounded time, so that none of them holds up the server; what fails is logged here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tracing::{error, warn};

use super::App;
use crate::config::Config;
use crate::hook::{
    ChoicesEvent, FeedbackEvent, Handler, HeaderLogin, HeaderLoginEvent, HookRuntime, Language, LogoutEvent,
    PasswordLogin, PasswordLoginEvent, ProfileName, SharedThread, SharedViewEvent,
};
use crate::protocol::{ChatProfile, Feedback, Starter, StarterCategory, Thread, User};

/// How long somebody who signs in waits for the application.
const LOGIN: Duration = Duration::from_secs(30);

/// How long a page waits for everything else. Less than a socket that connects is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The application as requests ask it. Cheap to clone.
#[derive(Clone)]
pub struct Answers {
    app: App,
    hooks: HookRuntime,
    config: Arc<Config>,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answers")
    }
}

impl Answers {
    /// The answers of `app`, whose hooks run on `hooks`, under these settings.
    #[must_use]
    pub fn new(app: App, hooks: HookRuntime, config: Arc<Config>) -> Self {
        Self { app, hooks, config }
    }

    /// Asks the password hook. `None` means no: also when there is no such hook, or it failed.
    pub async fn password_login(&self, login: PasswordLogin) -> Option<User> {
        let hook = self.app.hooks().password_login.as_ref();
        self.ask("on_password_login", hook, PasswordLoginEvent { login }, LOGIN).await.flatten()
    }

    /// Asks the header hook. `None` as above.
    pub async fn header_login(&self, login: HeaderLogin) -> Option<User> {
        let hook = self.app.hooks().header_login.as_ref();
        self.ask("on_header_login", hook, HeaderLoginEvent { login }, LOGIN).await.flatten()
    }

    /// What the hook of goodbyes returned, unless that is null, or there is none, or it failed.
    pub async fn logout(&self, user: Option<User>) -> Option<Value> {
        let hook = self.app.hooks().logout.as_ref();
        let said = self.ask("on_logout", hook, LogoutEvent { user }, PATIENCE).await;
        said.filter(|said| !said.is_null())
    }

    /// Tells the application of a vote that is stored.
    pub async fn voted(&self, feedback: Feedback, user: Option<User>) {
        let hook = self.app.hooks().feedback.as_ref();
        self.ask("on_feedback", hook, FeedbackEvent { feedback, user }, PATIENCE).await;
    }

    /// Whether the application lets somebody see a thread that its owner did not share.
    pub async fn may_view(&self, thread: Thread, user: Option<User>) -> bool {
        let Some(hook) = &self.app.hooks().shared_view else { return false };
        let event = SharedViewEvent { thread: SharedThread(Arc::new(thread)), user };
        self.ask("on_shared_thread_view", Some(hook), event, PATIENCE).await.unwrap_or(false)
    }

    /// Whether the application decides who may see threads that are not theirs.
    #[must_use]
    pub fn decides_views(&self) -> bool {
        self.app.hooks().shared_view.is_some()
    }

    /// The profiles that there are for this visitor.
    pub async fn profiles(&self, asks: &ChoicesEvent) -> Vec<ChatProfile> {
        let hook = self.app.hooks().chat_profiles.as_ref();
        self.ask("set_chat_profiles", hook, asks.clone(), PATIENCE).await.unwrap_or_default()
    }

    /// The messages that an empty page offers.
    pub async fn starters(&self, asks: &ChoicesEvent) -> Vec<Starter> {
        let hook = self.app.hooks().starters.as_ref();
        self.ask("set_starters", hook, asks.clone(), PATIENCE).await.unwrap_or_default()
    }

    /// The same under headings.
    pub async fn starter_categories(&self, asks: &ChoicesEvent) -> Vec<StarterCategory> {
        let hook = self.app.hooks().starter_categories.as_ref();
        self.ask("set_starter_categories", hook, asks.clone(), PATIENCE).await.unwrap_or_default()
    }

    /// The settings that hold when no profile is chosen.
    #[must_use]
    pub fn base(&self) -> Arc<Config> {
        self.config.clone()
    }

    /// The settings that hold for a page under the profile that it names; without one, or where there is none of that
    /// name, or its changes are wrong (which is logged), the base.
    pub async fn settings(&self, user: Option<&User>, language: &str, profile: Option<&str>) -> Arc<Config> {
        let (Some(name), Some(_)) = (profile, &self.app.hooks().chat_profiles) else { return self.base() };
        let asks = ChoicesEvent {
            user: user.cloned(),
            language: Language(language.to_owned()),
            profile: ProfileName(Some(name.to_owned())),
        };
        self.under(&self.profiles(&asks).await, Some(name))
    }

    /// The settings under one of these profiles, as above.
    #[must_use]
    pub fn under(&self, profiles: &[ChatProfile], name: Option<&str>) -> Arc<Config> {
        let profile = profiles.iter().find(|profile| Some(profile.name.as_str()) == name);
        let Some((profile, overrides)) = profile.and_then(|it| Some((it, it.config_overrides.as_ref()?))) else {
            return self.base();
        };
        match self.config.overridden(overrides) {
            Ok(config) => Arc::new(config),
            Err(wrong) => {
                error!(profile = profile.name, %wrong, "a profile's config_overrides are wrong and do not count");
                self.base()
            }
        }
    }

    /// What a hook answers; `None` when there is none, or it failed.
    async fn ask<E, T>(
        &self,
        name: &'static str,
        hook: Option<&Handler<E, T>>,
        event: E,
        patience: Duration,
    ) -> Option<T>
    where
        E: Send + 'static,
        T: Send + 'static,
    {
        let answer = self.hooks.ask(hook?, self.app.input(event), patience).await;
        answer.inspect_err(|failure| warn!(hook = name, "hook failed: {}", failure.for_log())).ok()
    }
}
