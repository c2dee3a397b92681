//! Which other sites' pages may use the server (chat-wire 1.2).

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, request};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::ApiError;

/// Origins that may use the server with a login.
#[derive(Clone, Debug)]
pub struct Origins(Arc<Allowed>);

#[derive(Debug)]
enum Allowed {
    Any,
    These(Vec<String>),
}

impl Origins {
    /// From the setting; `*` is any.
    #[must_use]
    pub fn new(origins: &[String]) -> Self {
        let any = origins.iter().any(|origin| origin == "*");
        let plain = |origin: &String| origin.trim_end_matches('/').to_ascii_lowercase();
        Self(Arc::new(if any { Allowed::Any } else { Allowed::These(origins.iter().map(plain).collect()) }))
    }

    /// Whether pages of `origin` may.
    #[must_use]
    pub fn allow(&self, origin: &HeaderValue) -> bool {
        match &*self.0 {
            Allowed::Any => true,
            Allowed::These(known) => origin.to_str().is_ok_and(|origin| known.contains(&origin.to_ascii_lowercase())),
        }
    }

    /// Whether whoever sends these headers may open a socket. Browsers do not hold WebSockets to the rules of CORS,
    /// so the server must: another site's page would speak with the visitor's login. Clients that are no browser
    /// send no origin.
    #[must_use]
    pub fn allow_socket(&self, headers: &HeaderMap) -> bool {
        headers.get(ORIGIN).is_none_or(|origin| self.allow(origin) || is_own(origin, headers))
    }
}

/// Whether an origin is the server itself, by the name it is asked under. A page cannot set these headers.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
    let mut names = [headers.get(HOST), headers.get("x-forwarded-host")].into_iter().flatten();
    origin.is_some_and(|origin| names.any(|name| name.as_bytes().eq_ignore_ascii_case(origin.as_bytes())))
}

/// The methods that routes have, and those that clients ask for all the same.
const METHODS: [Method; 7] =
    [Method::DELETE, Method::GET, Method::HEAD, Method::OPTIONS, Method::PATCH, Method::POST, Method::PUT];

/// `routes` for these origins: each is echoed, since browsers do not take `*` together with a login.
pub(super) fn shared(routes: Router, origins: Origins) -> Router {
    let allowed = origins.clone();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _: &request::Parts| allowed.allow(origin)))
        .allow_credentials(true)
        .allow_methods(METHODS)
        .allow_headers(AllowHeaders::mirror_request())
        .max_age(std::time::Duration::from_secs(600));
    routes.layer(from_fn_with_state(origins, own_sockets_only)).layer(cors)
}

async fn own_sockets_only(State(origins): State<Origins>, request: Request, next: Next) -> Response {
    if request.headers().contains_key(UPGRADE) && !origins.allow_socket(request.headers()) {
        return ApiError::status(StatusCode::FORBIDDEN, "Origin not allowed").into_response();
    }
    next.run(request).await
}
