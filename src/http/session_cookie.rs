//! The cookie by which load balancers keep a tab on one server (chat-wire 6.4). This server never reads it.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::extract::{Json, Peer};
use super::{ApiError, Shared};

#[derive(Deserialize)]
pub(super) struct Body {
    session_id: String,
}

/// Sets it. The page shows an error whenever it connects if this fails.
pub(super) async fn set(
    State(_): State<Shared>,
    peer: Peer,
    headers: HeaderMap,
    Json(body): Json<Body>,
) -> Result<Response, ApiError> {
    let id = body.session_id;
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b';' | b',' | b'"' | b'\\');
    if id.is_empty() || id.len() > 128 || !id.bytes().all(plain) {
        return Err(ApiError::invalid("value_error", &["body", "session_id"], "Not a session id"));
    }
    // A browser on this machine speaks plain HTTP, and would not take a cookie that is for HTTPS only.
    let place = if peer.is_local(&headers) { "SameSite=lax" } else { "SameSite=none; Secure" };
    let cookie = format!("X-Chainlit-Session-id={id}; HttpOnly; Path=/; {place}");
    Ok(([(SET_COOKIE, cookie)], axum::Json(json!({"message": "Session cookie set"}))).into_response())
}
