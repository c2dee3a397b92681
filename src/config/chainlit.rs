//! `.chainlit/config.toml`: the file that applications have beside them (chat-wire 7.1 to 7.3). Unknown keys are
//! left alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Config, Features, Ui};

/// The file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Chainlit {
    project: Project,
    features: Features,
    #[serde(rename = "UI")]
    ui: Ui,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Project {
    allow_origins: Vec<String>,
    transports: Option<Vec<String>>,
    user_env: Option<Vec<String>>,
    session_timeout: u64,
    user_session_timeout: u64,
    persist_user_env: bool,
    mask_user_env: bool,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            allow_origins: vec!["*".to_owned()],
            transports: None,
            user_env: None,
            session_timeout: 300,
            user_session_timeout: 15 * 24 * 3600,
            persist_user_env: false,
            mask_user_env: false,
        }
    }
}

impl Chainlit {
    /// Puts what the file says into `config`.
    pub(super) fn apply(self, config: &mut Config) {
        self.project.apply(config);
        config.features = self.features;
        config.ui = self.ui;
    }
}

impl Project {
    /// The table as it is in force.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            allow_origins: config.allow_origins.clone(),
            transports: config.transports.clone(),
            user_env: config.user_env.clone(),
            session_timeout: config.session_timeout.as_secs(),
            user_session_timeout: config.user_session_timeout.as_secs(),
            persist_user_env: config.persist_user_env,
            mask_user_env: config.mask_user_env,
        }
    }

    /// Puts what the table says into `config`.
    pub(super) fn apply(self, config: &mut Config) {
        config.allow_origins = self.allow_origins;
        config.transports = self.transports;
        config.user_env = self.user_env;
        config.session_timeout = Duration::from_secs(self.session_timeout);
        config.user_session_timeout = Duration::from_secs(self.user_session_timeout);
        config.persist_user_env = self.persist_user_env;
        config.mask_user_env = self.mask_user_env;
    }
}
