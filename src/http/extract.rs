//! Parts of a request, read tolerantly where clients are loose and refused as JSON where they are wrong.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use super::{ApiError, Shared};
use crate::line::Wire;
use crate::protocol::User;

/// Who asks: none where no login is required. Others get no further.
pub(super) struct Visitor(pub(super) Option<User>);

impl FromRequestParts<Shared> for Visitor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Shared) -> Result<Self, ApiError> {
        Ok(Self(http.auth.authenticate(&parts.headers).await?))
    }
}

/// The query. A dangling `&` or `?` is nothing.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query.map(|query| Self(query.0)).map_err(|why| ApiError::invalid("value_error", &["query"], why.body_text()))
    }
}

/// Parts of the path, percent-decoded once.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|path| Self(path.0)).map_err(|_| ApiError::bad_request("Invalid path"))
    }
}

/// A JSON body, whatever its content type and the request's method.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let body = Bytes::from_request(request, state).await.map_err(|why| match why.status() {
            StatusCode::PAYLOAD_TOO_LARGE => ApiError::status(StatusCode::PAYLOAD_TOO_LARGE, "Request body too large"),
            _ => ApiError::bad_request("Request body cannot be read"),
        })?;
        serde_json::from_slice(&body).map(Self).map_err(|why| {
            let kind = if why.is_data() { "value_error" } else { "json_invalid" };
            ApiError::invalid(kind, &["body"], why.to_string())
        })
    }
}

/// Where a request's connection comes from; whoever serves the routes puts it into the request's extensions.
#[derive(Clone, Copy, Debug)]
pub struct Caller(pub SocketAddr);

/// The connection that a request came over; whoever serves the routes puts it into the request's extensions.
#[derive(Clone, Debug)]
pub struct Line(pub Arc<Wire>);

/// Where the connection comes from, if that is known.
pub(super) struct Peer(Option<IpAddr>);

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.extensions.get::<Caller>().map(|Caller(address)| address.ip().to_canonical())))
    }
}

impl Peer {
    /// Whether the connection was made on this machine. A proxy on it counts.
    pub(super) fn is_loopback(&self) -> bool {
        self.0.is_some_and(|ip| ip.is_loopback())
    }

    /// Whether the browser is on this machine: as above, and no proxy says otherwise.
    pub(super) fn is_local(&self, headers: &HeaderMap) -> bool {
        let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| headers.contains_key(*name));
        self.is_loopback() && !forwarded
    }
}
