//! What stands before socketioxide: origin, path, connection numbers, and the line's view of every poll.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::IntoResponse;
use socketioxide::service::SocketIoService;
use tower::Service;

use super::slash::with_path;
use super::{House, PATH};
use crate::line::{self, Connection, Peer};

/// socketioxide's service.
pub(super) type Engine = SocketIoService<Nowhere>;

/// The connection that a request opened, for whoever handles its CONNECT.
#[derive(Clone)]
pub(super) struct Opened(pub(super) Arc<Connection>);

/// Answers every request to the Socket.IO path, however the path begins.
#[derive(Clone)]
pub struct Front {
    house: Arc<House>,
    engine: Engine,
}

/// What the query says.
#[derive(Debug, Default)]
struct Query {
    sid: Option<String>,
    is_websocket: bool,
}

impl Front {
    pub(super) fn new(house: Arc<House>, engine: Engine) -> Self {
        Self { house, engine }
    }

    async fn answer(mut self, mut request: Request<Body>) -> Response<Body> {
        if !self.house.config.origins.allow(request.headers()) {
            return refuse(StatusCode::FORBIDDEN, "this page may not connect");
        }
        if !request.uri().path().starts_with(PATH)
            && let Some(uri) = with_path(request.uri(), PATH)
        {
            *request.uri_mut() = uri;
        }
        let peer = request.extensions_mut().remove::<ConnectInfo<Peer>>().map(|info| info.0);
        let query = Query::read(request.uri().query().unwrap_or_default());
        let known = query.sid.as_deref().and_then(|sid| self.house.connections.find(sid));
        match (query.sid, known) {
            // After the end the library would let nobody in for good. Those who are in may fetch what is left.
            (None, _) if self.house.closing.load(Ordering::Acquire) => {
                refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")
            }
            (None, _) => self.open(request, query.is_websocket, peer).await,
            (Some(_), Some(connection)) if query.is_websocket => self.websocket(request, &connection, peer, true).await,
            (Some(sid), Some(connection)) if request.method() == Method::POST => {
                self.post(request, &sid, &connection).await
            }
            (Some(sid), Some(connection)) if request.method() == Method::GET => {
                self.poll(request, &sid, &connection).await
            }
            // Too late, or invented: socketioxide has the right words.
            (Some(_), _) => self.engine(request).await,
        }
    }

    /// A transport is opened: here it gets its number.
    async fn open(&mut self, mut request: Request<Body>, is_websocket: bool, peer: Option<Peer>) -> Response<Body> {
        let connection = self.house.connections.open();
        request.extensions_mut().insert(Opened(Arc::clone(&connection)));
        if is_websocket {
            return self.websocket(request, &connection, peer, false).await;
        }
        let (response, body) = self.whole(request).await;
        if let Some(sid) = line::sid(&body) {
            connection.set_sid(sid);
        }
        response
    }

    async fn websocket(
        &mut self,
        request: Request<Body>,
        connection: &Arc<Connection>,
        peer: Option<Peer>,
        is_upgrade: bool,
    ) -> Response<Body> {
        let response = self.engine(request).await;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            match peer {
                Some(peer) => peer.wire.arm(connection, is_upgrade),
                None => connection.unwatch(),
            }
        }
        response
    }

    async fn post(&mut self, request: Request<Body>, sid: &str, connection: &Connection) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, self.house.config.max_payload).await else {
            self.house.close_polling(sid).await;
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, "too much at once");
        };
        connection.pongs(line::pongs(&body));
        self.engine(Request::from_parts(parts, Body::from(body))).await
    }

    async fn poll(&mut self, request: Request<Body>, sid: &str, connection: &Connection) -> Response<Body> {
        // Clients make it up anew for every poll.
        let query = request.uri().query().unwrap_or_default();
        let mark = query.split('&').find_map(|pair| pair.strip_prefix("t="));
        if connection.poll(mark) == line::Poll::Lost {
            // Nobody can say it again: the page has to come back.
            self.house.close_polling(sid).await;
            return refuse(StatusCode::BAD_REQUEST, "this poll was answered before");
        }
        let (response, body) = self.whole(request).await;
        let tally = line::tally(&body);
        if tally.markers > 0 {
            // Taken by a poll that overlapped the upgrade. It must not be seen, and what it marks is lost.
            self.house.close_polling(sid).await;
            return refuse(StatusCode::BAD_REQUEST, "this poll overlapped the upgrade");
        }
        connection.answer(tally);
        response
    }

    /// Asks the engine. Its answers to polls are in memory, so reading one whole neither waits nor copies.
    async fn whole(&mut self, request: Request<Body>) -> (Response<Body>, Bytes) {
        let (parts, body) = self.engine(request).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
        (Response::from_parts(parts, Body::from(body.clone())), body)
    }

    async fn engine(&mut self, request: Request<Body>) -> Response<Body> {
        let response = Service::<Request<Body>>::call(&mut self.engine, request).await;
        response.unwrap_or_else(|never| match never {}).map(Body::new)
    }
}

impl Service<Request<Body>> for Front {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let front = self.clone();
        Box::pin(async move { Ok(front.answer(request).await) })
    }
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Front").finish_non_exhaustive()
    }
}

impl Query {
    fn read(query: &str) -> Self {
        let mut read = Self::default();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sid", sid)) => read.sid = Some(sid.to_owned()),
                Some(("transport", transport)) => read.is_websocket = transport == "websocket",
                _ => {}
            }
        }
        read
    }
}

impl House {
    /// Closes a session that is on polling, as if its page had said so. socketioxide has no other way.
    pub(super) async fn close_polling(&self, sid: &str) {
        let engine = self.engine.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let Some(mut engine) = engine else { return };
        let request = Request::post(format!("{PATH}/?EIO=4&transport=polling&sid={sid}")).body(Body::from("1"));
        if let Ok(request) = request {
            let _ = Service::<Request<Body>>::call(&mut engine, request).await;
        }
    }
}

fn refuse(status: StatusCode, text: &'static str) -> Response<Body> {
    (status, text).into_response()
}

/// There is nothing behind socketioxide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nowhere;

impl Service<Request<Body>> for Nowhere {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(StatusCode::NOT_FOUND.into_response()))
    }
}
