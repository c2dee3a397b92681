//! A page connects: who it is was checked; here it gets its session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};

use super::{ConnectionNumber, Link, Sessions};
use crate::config::Config;
use crate::id::{SessionId, ThreadId};
use crate::metrics::counts;
use crate::protocol::User;

/// What a page brings along when it connects, its login checked already.
#[derive(Clone, Debug)]
pub struct Connect {
    /// When its transport was opened, in order.
    pub number: ConnectionNumber,
    /// The tab.
    pub session: SessionId,
    /// The thread it wants or is on; not checked.
    pub thread: Option<ThreadId>,
    /// Who it is; none where no login is required.
    pub user: Option<User>,
    /// `webapp`, `copilot`, …
    pub client_type: String,
    /// Values the person entered.
    pub user_env: Map<String, Value>,
    /// The chosen profile.
    pub chat_profile: Option<String>,
    /// From `Accept-Language`: `fr-CA`; `en-US` when absent.
    pub language: String,
    /// The request's headers, for hooks. Cookies and authorization are left out.
    pub headers: Vec<(String, String)>,
}

/// Why a page is refused. The text is sent in CONNECT_ERROR; clients do not come back by themselves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session belongs to somebody else.
    #[error("authorization failed")]
    NotYours,
    /// The application wants values, and none was given.
    #[error("Missing user environment variables")]
    NoEnv,
    /// A value that the application wants is missing.
    #[error("Missing user environment variable: {0}")]
    MissingEnv(String),
    /// The server is going away.
    #[error("the server is shutting down")]
    ShuttingDown,
}

impl Sessions {
    /// Attaches a socket to its session, which is made when it is new. Takes no lock that a hook could hold. When it
    /// returns, the session's former socket is told to leave — unless that one is the newer.
    ///
    /// # Errors
    /// [`Refusal`], to be sent as CONNECT_ERROR.
    pub async fn connect(self: &Arc<Self>, page: Connect) -> Result<Link, Refusal> {
        let link = self.attach(page).await;
        if link.is_err() {
            counts().reconnects.count("refused");
        }
        link
    }

    async fn attach(self: &Arc<Self>, page: Connect) -> Result<Link, Refusal> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Refusal::ShuttingDown);
        }
        // A former process may have known this tab. Should the store not answer, the page's own thread id must do.
        let key = page.session.key();
        let asks = self.former.contains(&key) && !self.live.contains_key(&page.session);
        let former = if asks { self.store.session(&key).await.ok().flatten() } else { None };
        let identifier = page.user.as_ref().map(|user| user.identifier.clone());
        let former = former.filter(|former| former.owner == identifier);
        let files = match &former {
            Some(_) => self.store.session_files(&key).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let files: Vec<_> = files.into_iter().map(|row| row.file).collect();
        // The profile of a tab that is here already is not asked for again: its session keeps what it began with.
        let profile = page.chat_profile.as_deref().filter(|_| !self.live.contains_key(&page.session));
        let config = self.answers.settings(page.user.as_ref(), &page.language, profile).await;
        loop {
            let session = self.session(&page, former.clone(), &config)?;
            session.knows(&files);
            if let Some(link) = Link::attach(session, page.number) {
                return Ok(link);
            }
            // It ended this moment, and is off the list: make a new one.
            self.live.remove_if(&page.session, |_, session| session.lock().is_over());
        }
    }
}

impl Connect {
    /// Whether the page has the values that the application wants.
    pub(super) fn has_values(&self, config: &Config) -> Result<(), Refusal> {
        let wanted = config.user_env.as_deref().unwrap_or_default();
        if !wanted.is_empty() && self.user_env.is_empty() {
            return Err(Refusal::NoEnv);
        }
        let missing = wanted.iter().find(|key| !self.user_env.contains_key(*key));
        missing.map_or(Ok(()), |key| Err(Refusal::MissingEnv(key.clone())))
    }
}
