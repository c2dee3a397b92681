//! A line of log a request. Queries are left out: they carry session ids.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tokio::time::Instant;
use tracing::debug;

/// `routes`, logged at level debug.
pub(super) fn logged(routes: Router) -> Router {
    routes.layer(from_fn(log))
}

async fn log(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    debug!(%method, path, status, ms = began.elapsed().as_millis(), "request");
    response
}
