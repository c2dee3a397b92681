//! What a stream reads from: pages of a thread, for as long as its reader may read them.

use std::time::Duration;

use axum::http::HeaderMap;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::access::Access;
use super::frame::Close;
use super::stream::StreamSettings;
use crate::http::Shared;
use crate::metrics::counts;
use crate::store::{FollowPage, StoreError};

/// How long a database that is away is left alone.
const PAUSE: Duration = Duration::from_millis(250);

/// How often rights are checked at most while a replay reads many pages a second.
const CHECKED: Duration = Duration::from_secs(1);

/// A thread, as one reader may read it.
pub(super) struct Source {
    http: Shared,
    access: Access,
    /// What the reader showed, to be looked at again.
    credential: HeaderMap,
    checked: Instant,
    /// Since when the database has not answered.
    away: Option<Instant>,
}

/// How often login and rights are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checks {
    /// With every page.
    Always,
    /// Once a second: in a replay.
    Sometimes,
}

/// The database does not answer.
struct Away;

impl Source {
    /// `access` was checked just now.
    pub(super) fn new(http: Shared, access: Access, credential: HeaderMap) -> Self {
        Self { http, access, credential, checked: Instant::now(), away: None }
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn settings(&self) -> &StreamSettings {
        self.http.streams.settings()
    }

    /// When the server stops.
    pub(super) fn stopping(&self) -> CancellationToken {
        self.http.stopping.clone()
    }

    /// When login and rights were last checked.
    pub(super) fn checked(&self) -> Instant {
        self.checked
    }

    /// The page after a position. A database that is away is asked again, for a while.
    ///
    /// # Errors
    /// Why there is nothing more to read for this reader, now or for good.
    pub(super) async fn page(&mut self, after: u64, through: Option<u64>, checks: Checks) -> Result<FollowPage, Close> {
        let stopping = self.stopping();
        let patience = self.settings().away;
        loop {
            let began = Instant::now();
            let reading = timeout(patience, self.http.store.follow(&self.access.thread, after, through));
            let page = tokio::select! {
                biased;
                () = stopping.cancelled() => return Err(Close::ServerShutdown),
                page = reading => page,
            };
            match page {
                Ok(Ok(page)) if page.deleted => return Err(Close::SessionDeleted),
                Ok(Ok(page)) => match self.check(checks).await {
                    Ok(true) => {
                        self.away = None;
                        counts().records_read.inc_by(page.records.len() as u64);
                        return Ok(page);
                    }
                    Ok(false) => return Err(Close::AuthorizationRevoked),
                    Err(Away) => {}
                },
                Ok(Err(StoreError::Unavailable(why))) => debug!(%why, "a stream waits for the database"),
                Ok(Err(why)) => {
                    warn!(%why, "a stream cannot be read");
                    return Err(Close::Unavailable);
                }
                Err(_) => {}
            }
            if self.away.get_or_insert(began).elapsed() >= patience {
                return Err(Close::Unavailable);
            }
            tokio::select! {
                () = stopping.cancelled() => {}
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Whether the reader may still read: its login, and its right to the thread.
    async fn check(&mut self, checks: Checks) -> Result<bool, Away> {
        let recently = self.checked.elapsed() < CHECKED.min(self.settings().check_every);
        if checks == Checks::Sometimes && recently {
            return Ok(true);
        }
        let Ok(user) = self.http.auth.authenticate(&self.credential).await else { return Ok(false) };
        let mut access = self.access.clone();
        access.user = user;
        match access.again(&self.http).await {
            Ok(access) => {
                // Somebody who owned the thread and is shown it now is not told more than other guests.
                self.access = access;
                self.checked = Instant::now();
                Ok(true)
            }
            Err(why) if why.code() == "service_unavailable" => Err(Away),
            Err(_) => Ok(false),
        }
    }
}
