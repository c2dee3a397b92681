//! What a hook may know of the tab it works for.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::config::Config;
use crate::id::{SessionId, ThreadId};
use crate::protocol::User;

/// The tab, its visitor and its thread, as they were when the hook was called.
#[derive(Clone, Debug)]
pub struct About {
    /// The tab. A secret of its visitor.
    pub session: SessionId,
    /// The thread it is on.
    pub thread: ThreadId,
    /// Who is signed in.
    pub user: Option<User>,
    /// `webapp`, `copilot` or what an application passes.
    pub client_type: String,
    /// The chosen profile.
    pub chat_profile: Option<String>,
    /// The browser's first language: `fr-CA`.
    pub language: String,
    /// Values the person entered, by name.
    pub user_env: Map<String, Value>,
    /// The headers of the request, names in lower case, without cookies.
    pub headers: Arc<[(String, String)]>,
    /// The settings that hold for the tab, its profile applied.
    pub config: Arc<Config>,
}

impl About {
    /// How messages are signed when nobody says otherwise.
    pub(crate) fn author(&self) -> &str {
        &self.config.ui.name
    }

    /// A visitor without a name, for tests of hooks.
    pub(crate) fn for_tests() -> Self {
        Self {
            session: "test".into(),
            thread: "test".into(),
            user: None,
            client_type: "webapp".into(),
            chat_profile: None,
            language: "en-US".into(),
            user_env: Map::new(),
            headers: Arc::from([]),
            config: Arc::default(),
        }
    }
}
