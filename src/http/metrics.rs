//! How the server stands, for whoever keeps it running. Anybody else finds nothing here.

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderMap};
use axum::response::{IntoResponse, Response};

use super::extract::Peer;
use super::{ApiError, Shared};
use crate::config::MetricsFor;
use crate::metrics::{self, Standing};

/// Counts and gauges. Costs a look at every session.
pub(super) async fn show(State(http): State<Shared>, peer: Peer, headers: HeaderMap) -> Result<Response, ApiError> {
    let may = match http.config.metrics {
        // A proxy on this machine speaks for the whole world.
        MetricsFor::Local => peer.is_local(&headers),
        MetricsFor::Anyone => true,
        MetricsFor::Nobody => false,
    };
    if !may {
        return Err(ApiError::not_found("Not found"));
    }
    let (sessions, journal) = (http.sessions.figures(), &http.journal);
    let (pending, pending_bytes) = journal.waiting();
    let standing = Standing {
        sessions: sessions.live,
        sockets: sessions.with_line,
        unproven_bytes: sessions.unproven_bytes,
        pending,
        pending_bytes,
        pending_age: journal.oldest(),
        followed: journal.followed(),
    };
    Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(standing)).into_response())
}
