//! Routes and sockets as one service.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::HeaderMap;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tower::Layer;

use crate::auth::Auth;
use crate::config::Config;
use crate::http::{Caller, Http, Line, mounted, routes};
use crate::line::Peer;
use crate::protocol::User;
use crate::socket::{self, AuthError, Authenticate, OneSlashLayer, Origins, Sockets};

/// Everything that is answered. Sockets are not compressed and have limits of their own.
pub(super) fn router(http: Http, sockets: &Sockets) -> Router {
    let http = Arc::new(http);
    let all = routes(Arc::clone(&http))
        .route_service(socket::PATH, sockets.service())
        .route_service(&format!("{}/", socket::PATH), sockets.service());
    mounted(OneSlashLayer.layer(all), &http.config).layer(from_fn(name_caller))
}

/// Tells the routes where a request comes from; sockets look for themselves.
async fn name_caller(mut request: Request, next: Next) -> Response {
    if let Some(ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<Peer>>() {
        let (caller, line) = (Caller(peer.address), Line(Arc::clone(&peer.wire)));
        request.extensions_mut().insert(caller);
        request.extensions_mut().insert(line);
    }
    next.run(request).await
}

/// How sockets are set.
pub(super) fn sockets(config: &Config) -> socket::Config {
    let any = config.allow_origins.iter().any(|origin| origin == "*");
    socket::Config {
        origins: if any { Origins::Any } else { Origins::List(config.allow_origins.clone()) },
        ping_interval: config.ping_interval,
        ping_timeout: config.ping_timeout,
        ..socket::Config::default()
    }
}

/// Lets sockets in by their cookie.
pub(super) struct Doorman(pub(super) Auth);

#[async_trait]
impl Authenticate for Doorman {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<User>, AuthError> {
        self.0.authenticate_socket(headers).await.map_err(|_| AuthError::NotSignedIn)
    }
}
