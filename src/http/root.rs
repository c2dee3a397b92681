//! The root path: what stands in front of every route.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use super::{ApiError, Routes};
use crate::config::RootPath;

/// `routes` below `root`; whatever lies elsewhere is not found. The routes themselves see paths without it.
pub(super) fn under<S: Routes>(routes: S, root: RootPath) -> Router
where
    S::Future: Send + 'static,
{
    Router::new().fallback_service(routes).layer(from_fn_with_state(root, strip))
}

async fn strip(State(root): State<RootPath>, mut request: Request, next: Next) -> Response {
    match below(&root, request.uri()) {
        Some(uri) => {
            *request.uri_mut() = uri;
            next.run(request).await
        }
        None => ApiError::not_found("Not Found").into_response(),
    }
}

fn below(root: &RootPath, uri: &Uri) -> Option<Uri> {
    let path = root.strip(uri.path())?;
    let text = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text).ok()?);
    Uri::from_parts(parts).ok()
}
