//! A line of log a request: its route, not its path. Paths and queries carry session ids, names of people, and whatever
//! somebody typed into the address bar.

use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tokio::time::Instant;
use tracing::debug;

/// `routes`, logged at level debug.
pub(super) fn logged(routes: Router) -> Router {
    routes.layer(from_fn(log))
}

/// `routes` whose answers know by which of them they were made, for [`logged`] outside of them.
pub(super) fn named<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes.layer(from_fn(async |route: Option<MatchedPath>, request: Request, next: Next| {
        let mut response = next.run(request).await;
        if let Some(route) = route {
            response.extensions_mut().insert(route);
        }
        response
    }))
}

async fn log(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = known(request.method());
    let response = next.run(request).await;
    let route = response.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let status = response.status().as_u16();
    debug!(method, route, status, ms = began.elapsed().as_millis(), "request");
    response
}

/// A method is a word that a client chooses.
fn known(method: &Method) -> &'static str {
    let usual = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS, Method::PATCH];
    let names = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    usual.iter().zip(names).find(|(one, _)| *one == method).map_or("other", |(_, name)| name)
}
