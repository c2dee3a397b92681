//! `GET /sessions/{id}/events`: a thread's events after a position, then live, for as long as the reader wants
//! (records.md 3.8).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, COOKIE};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::access::Access;
use super::error::RecordError;
use super::follow::{Beginning, Follower};
use super::frame::Frames;
use super::patience::Patience;
use super::position;
use super::preview::Shown;
use super::slots::{Slots, StreamLimits};
use super::source::Source;
use crate::http::extract::Query;
use crate::http::{Line, Shared};
use crate::metrics::counts;
use crate::record::Position;

/// How streams behave.
#[derive(Clone)]
pub struct StreamSettings {
    /// How many there may be.
    pub limits: StreamLimits,
    /// After so much silence a sign of life is written.
    pub heartbeat: Duration,
    /// How often a reader is told how far it has read where no event tells.
    pub checkpoint_every: Duration,
    /// How often login and rights are checked at least.
    pub check_every: Duration,
    /// How old a stream gets.
    pub age: Duration,
    /// How long one write may be stuck.
    pub patience: Duration,
    /// How long the database may be away.
    pub away: Duration,
    /// A pause that a test wants.
    #[doc(hidden)]
    pub probe: Option<Arc<dyn StreamProbe>>,
}

impl Default for StreamSettings {
    fn default() -> Self {
        Self {
            limits: StreamLimits::default(),
            heartbeat: Duration::from_secs(15),
            checkpoint_every: Duration::from_secs(1),
            check_every: Duration::from_secs(60),
            age: Duration::from_secs(15 * 60),
            patience: Duration::from_secs(30),
            away: Duration::from_secs(10),
            probe: None,
        }
    }
}

impl std::fmt::Debug for StreamSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamSettings").field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A point on a stream's way at which a test may come between (I-32).
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Its wakes are followed; nothing is read.
    Following,
    /// Everything is read up to where the thread was when the stream began; `ready` is not written.
    Replayed,
    /// It is about to wait.
    Waiting,
}

/// What a test does at a point.
#[doc(hidden)]
#[async_trait]
pub trait StreamProbe: Send + Sync {
    /// A stream is at this point.
    async fn reach(&self, point: Point);
}

/// The streams of a server.
#[derive(Debug, Default)]
pub struct Streams {
    settings: StreamSettings,
    slots: Slots,
}

impl Streams {
    /// No streams yet.
    #[must_use]
    pub fn new(settings: StreamSettings) -> Self {
        Self { settings, slots: Slots::default() }
    }

    /// How many are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.slots.open()
    }

    pub(super) fn settings(&self) -> &StreamSettings {
        &self.settings
    }
}

#[derive(Deserialize)]
pub(super) struct Asked {
    after: Option<String>,
    previews: Option<String>,
}

/// Where a browser's EventSource comes back to.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The stream. Whatever can be refused is refused before the first byte.
pub(super) async fn events(
    State(http): State<Shared>,
    access: Access,
    headers: HeaderMap,
    line: Option<Extension<Line>>,
    Query(asked): Query<Asked>,
) -> Result<Response, RecordError> {
    if http.stopping.is_cancelled() {
        return Err(RecordError::unavailable());
    }
    let thread = access.thread.clone();
    let with_previews = match asked.previews.as_deref() {
        None | Some("1") => true,
        Some("0") => false,
        Some(_) => return Err(RecordError::invalid("previews is 0 or 1.")),
    };
    let header = headers.get(LAST_EVENT_ID).map(|value| value.to_str().unwrap_or("?").trim());
    let header = header.filter(|id| !id.is_empty());
    let position = match (header, &asked.after) {
        (Some(id), _) => id.parse::<Position>(),
        (None, Some(after)) => after.parse(),
        (None, None) => Ok(Position::Sequence(0)),
    };
    let checked = match position {
        Ok(position) => position::check(&http, &thread, &position).await,
        Err(_) if header.is_some() => Err(position::none(&http, &thread).await?),
        Err(bad) => Err(bad.into()),
    };
    let after = match checked {
        Ok(after) => after,
        // A browser's EventSource gives up for good on anything but 200, and cannot read why.
        Err(refused) if header.is_some() && refused.is_of_position() => return Ok(reset(&refused)),
        Err(refused) => return Err(refused),
    };
    let settings = http.streams.settings();
    let user = access.user.as_ref().map(|user| user.identifier.as_str());
    let slot = http.streams.slots.take(user, &thread, &settings.limits).ok_or(RecordError::too_many_streams())?;
    // Before anything is read, or what is stored in between wakes nobody.
    let wakes = http.journal.follow(&thread);
    let previews = with_previews.then(|| Shown::new(http.conversations.previews(&thread)));
    if let Some(probe) = &settings.probe {
        probe.reach(Point::Following).await;
    }
    let page = http.store.follow(&thread, after, None).await?;
    counts().records_read.inc_by(page.records.len() as u64);
    let snapshot = http.store.snapshot(&thread).await?;
    let incomplete = snapshot.filter(|_| !page.deleted).ok_or(RecordError::no_session())?.incomplete;
    let patience = Patience::new(settings.patience, line.map(|Extension(Line(wire))| wire));
    let follower = Follower::new(Beginning {
        source: Source::new(http.clone(), access, credential(&headers)),
        wakes,
        previews,
        after,
        page,
        incomplete,
        patience,
        slot,
    });
    let bytes = futures_util::stream::unfold(follower, |mut follower| async {
        follower.next().await.map(|bytes| (Ok::<_, Infallible>(bytes), follower))
    });
    Ok(respond(Body::from_stream(bytes)))
}

/// What is needed to see again who reads.
fn credential(headers: &HeaderMap) -> HeaderMap {
    let mut credential = HeaderMap::new();
    for name in [COOKIE, AUTHORIZATION] {
        for value in headers.get_all(&name) {
            credential.append(name.clone(), value.clone());
        }
    }
    credential
}

/// One frame that says why, and the end.
fn reset(refused: &RecordError) -> Response {
    let mut frames = Frames::default();
    frames.reset(refused.code(), refused.latest());
    respond(Body::from(frames.take()))
}

fn respond(body: Body) -> Response {
    let head = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store, no-transform"),
        // A proxy that buffers would hold back what is live.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (head, body).into_response()
}
