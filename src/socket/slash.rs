//! A client whose address of the server ends in a slash asks for `/base//ws/socket.io/`, which no route matches.

use std::task::{Context, Poll};

use axum::http::{Request, Uri, uri::PathAndQuery};
use tower::{Layer, Service};

/// In front of [`super::PATH`].
const TWO_SLASHES: &str = "//ws/socket.io";

/// Makes one slash of two in front of [`super::PATH`]. Goes around the router, for routes are chosen before layers run.
#[derive(Clone, Copy, Debug, Default)]
pub struct OneSlashLayer;

/// See [`OneSlashLayer`].
#[derive(Clone, Copy, Debug)]
pub struct OneSlash<S>(S);

impl<S> Layer<S> for OneSlashLayer {
    type Service = OneSlash<S>;

    fn layer(&self, inner: S) -> Self::Service {
        OneSlash(inner)
    }
}

impl<S: Service<Request<B>>, B> Service<Request<B>> for OneSlash<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if let Some(uri) = with_one_slash(request.uri()) {
            *request.uri_mut() = uri;
        }
        self.0.call(request)
    }
}

fn with_one_slash(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    let at = path.find(TWO_SLASHES)?;
    let head = path[..at].trim_end_matches('/');
    with_path(uri, &format!("{head}{}", &path[at + 1..]))
}

/// The same address with another path.
pub(super) fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let text = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(text.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slashes_become_one_and_nothing_else_changes() {
        for (before, after) in [
            ("/base//ws/socket.io/?EIO=4", Some("/base/ws/socket.io/?EIO=4")),
            ("//ws/socket.io", Some("/ws/socket.io")),
            ("/a///ws/socket.io/", Some("/a/ws/socket.io/")),
            ("/ws/socket.io/?a=//ws/socket.io", None),
            ("/a//b", None),
        ] {
            let uri: Uri = before.parse().unwrap();
            assert_eq!(with_one_slash(&uri).map(|uri| uri.to_string()).as_deref(), after, "{before}");
        }
        assert_eq!(TWO_SLASHES, format!("/{}", crate::socket::PATH));
    }
}
