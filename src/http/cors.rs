//! Which other sites' pages may use the server (chat-wire 1.2).

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{ACCESS_CONTROL_ALLOW_CREDENTIALS, ORIGIN};
use axum::http::{HeaderValue, Method, request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

/// Origins that may use the server with a login.
enum Origins {
    Any,
    These(Vec<String>),
}

impl Origins {
    /// From the setting; `*` is any.
    fn new(origins: &[String]) -> Self {
        let plain = |origin: &String| origin.trim_end_matches('/').to_ascii_lowercase();
        match origins.iter().any(|origin| origin == "*") {
            true => Self::Any,
            false => Self::These(origins.iter().map(plain).collect()),
        }
    }

    fn allow(&self, origin: &HeaderValue) -> bool {
        match self {
            Self::Any => true,
            Self::These(known) => origin.to_str().is_ok_and(|origin| known.contains(&origin.to_ascii_lowercase())),
        }
    }
}

/// The methods that routes have, and those that clients ask for all the same.
const METHODS: [Method; 7] =
    [Method::DELETE, Method::GET, Method::HEAD, Method::OPTIONS, Method::PATCH, Method::POST, Method::PUT];

/// `routes` for these origins: each is echoed, since browsers do not take `*` together with a login. Requests of other
/// origins are served all the same; their browsers keep the answer from the page.
pub(super) fn shared(routes: Router, origins: &[String]) -> Router {
    let origins = Origins::new(origins);
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(move |origin, _: &request::Parts| origins.allow(origin)))
        .allow_credentials(true)
        .allow_methods(METHODS)
        .allow_headers(AllowHeaders::mirror_request())
        .max_age(Duration::from_secs(600));
    routes.layer(cors).layer(from_fn(only_for_browsers))
}

/// Who names no origin is no other site's page, and is told nothing of origins.
async fn only_for_browsers(request: Request, next: Next) -> Response {
    let named = request.headers().contains_key(ORIGIN);
    let mut response = next.run(request).await;
    if !named {
        response.headers_mut().remove(ACCESS_CONTROL_ALLOW_CREDENTIALS);
    }
    response
}
