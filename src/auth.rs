//! Who a request is from: tokens, the cookie that carries them, and the rows of people.

mod cookie;
mod people;
mod token;
mod visitor;

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderValue};

use crate::app::App;
use crate::clock::Clock;
use crate::config::{Config, CookieConfig, Secret};
use crate::protocol::User;
use crate::store::Store;

pub use people::REMEMBERED;
pub use visitor::local_visitor;

use people::People;
use token::Keys;

/// A request that is not from whom it must be from. The answer is the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No token came along.
    #[error("no token")]
    Missing,
    /// The token is none of ours, or says nobody's name.
    #[error("token invalid")]
    Invalid,
    /// It was one.
    #[error("token expired")]
    Expired,
}

/// The application has a login and nothing signs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this app asks people to sign in, and nothing is there to sign their logins with: set CHAINLIT_AUTH_SECRET to a \
     secret of your own; `rejoinder secret` makes one, so does `openssl rand -hex 32`"
)]
pub struct NoSecret;

/// Logins of one server. Cheap to clone.
#[derive(Clone)]
pub struct Auth(Arc<Inner>);

struct Inner {
    required: bool,
    keys: Option<Keys>,
    cookie: CookieConfig,
    lifetime: Duration,
    clock: Clock,
    people: People,
}

impl Auth {
    /// Whether what `app` asks for can be had: to be known before anything is opened.
    ///
    /// # Errors
    /// When a login is required and there is no secret.
    pub fn check(config: &Config, app: &App) -> Result<(), NoSecret> {
        if Self::is_required(config, app) && secret(config).is_none() { Err(NoSecret) } else { Ok(()) }
    }

    /// Logins as `app` wants them: required when it has a login hook, or the setting says so.
    ///
    /// # Errors
    /// As [`Auth::check`].
    pub fn new(config: &Config, app: &App, store: Arc<dyn Store>, clock: Clock) -> Result<Self, NoSecret> {
        Self::check(config, app)?;
        Ok(Self(Arc::new(Inner {
            required: Self::is_required(config, app),
            keys: secret(config).map(Keys::new),
            cookie: config.cookie.clone(),
            lifetime: config.user_session_timeout,
            clock,
            people: People::new(store),
        })))
    }

    fn is_required(config: &Config, app: &App) -> bool {
        config.require_login || app.has_password_login() || app.has_header_login()
    }

    /// Whether nobody gets in without a login.
    #[must_use]
    pub fn required(&self) -> bool {
        self.0.required
    }

    /// Who an HTTP request is from: by cookie or, without one, by `Authorization: Bearer`. `None` where no login is
    /// required. The person is loaded from the store, and stored when new; what was loaded is good for
    /// [`REMEMBERED`], and when the store does not answer the token's word is taken.
    ///
    /// # Errors
    /// When a login is required and the token is missing, wrong or old.
    pub async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<User>, AuthError> {
        self.by_token(|| cookie::read(headers, &self.0.cookie.name).or_else(|| bearer(headers))).await
    }

    /// Who a socket is from: by cookie only, as pages send it. Otherwise as [`Auth::authenticate`].
    ///
    /// # Errors
    /// As [`Auth::authenticate`].
    pub async fn authenticate_socket(&self, headers: &HeaderMap) -> Result<Option<User>, AuthError> {
        self.by_token(|| cookie::read(headers, &self.0.cookie.name)).await
    }

    async fn by_token(&self, token: impl FnOnce() -> Option<String>) -> Result<Option<User>, AuthError> {
        if !self.0.required {
            return Ok(None);
        }
        let user = self.verify(&token().ok_or(AuthError::Missing)?)?;
        Ok(Some(self.0.people.known(user).await))
    }

    /// Whom a token names. It may have been made elsewhere with the same secret.
    ///
    /// # Errors
    /// When it is wrong or old.
    pub fn verify(&self, token: &str) -> Result<User, AuthError> {
        self.0.keys.as_ref().ok_or(AuthError::Invalid)?.verify(token, self.0.clock.now())
    }

    /// Signs somebody in: stores them and gives the `Set-Cookie` headers, which also remove what is left of an
    /// earlier and longer token. A store that fails is logged and keeps nobody out.
    ///
    /// # Errors
    /// When nothing is there to sign with.
    pub async fn sign_in(&self, user: &User, request: &HeaderMap) -> Result<Vec<HeaderValue>, NoSecret> {
        let keys = self.0.keys.as_ref().ok_or(NoSecret)?;
        self.0.people.signed_in(user).await;
        let token = keys.sign(user, self.0.clock.now(), self.0.lifetime);
        Ok(cookie::write(request, &self.0.cookie, &token, self.0.lifetime))
    }

    /// The `Set-Cookie` headers that sign a browser out.
    #[must_use]
    pub fn sign_out(&self, request: &HeaderMap) -> Vec<HeaderValue> {
        cookie::remove(request, &self.0.cookie)
    }
}

/// The secret that was set; an empty one is none.
fn secret(config: &Config) -> Option<&Secret> {
    config.auth_secret.as_ref().filter(|secret| !secret.expose().is_empty())
}

/// The token of `Authorization: Bearer …`.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}
