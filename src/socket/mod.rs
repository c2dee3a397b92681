//! The Socket.IO side: lets pages in, hands their events to their session in order, pumps the session's events out.
//! The only place that knows socketioxide.
//!
//! [`Sockets::service`] answers `<root>/ws/socket.io`, with and without the slash at the end.

mod ask;
mod config;
mod desk;
mod door;
mod front;
mod headers;
mod inbox;
mod origin;
mod pump;
mod slash;
mod tab;
mod token;
mod track;

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use axum::http::HeaderMap;
use socketioxide::SocketIo;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use config::Config;
pub use front::Front;
pub use origin::Origins;
pub use slash::{OneSlash, OneSlashLayer};
pub use tab::{Tab, Tabs};

use crate::line::Connections;
use crate::protocol::User;
use door::Door;
use front::{Engine, Nowhere};

/// The path under the root path, without the slash at the end.
pub const PATH: &str = "/ws/socket.io";

/// Says who a page belongs to.
#[async_trait]
pub trait Authenticate: Send + Sync + 'static {
    /// Reads who somebody is from the headers of the request that opened the transport. `None` where no login is
    /// required.
    ///
    /// # Errors
    /// When a login is required and this is none, or nobody can tell at the moment.
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<User>, AuthError>;
}

/// Why somebody is not let in. The text is for the person at the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// No login, or one that does not count (any more).
    #[error("authentication failed")]
    NotSignedIn,
    /// Whoever would know does not answer; logged there.
    #[error("the server cannot check who you are, try again in a moment")]
    Unavailable,
}

/// All sockets of this process.
#[derive(Clone)]
pub struct Sockets {
    house: Arc<House>,
    io: SocketIo,
    engine: Engine,
}

/// What every connection needs.
struct House {
    config: Config,
    connections: Arc<Connections>,
    pumps: TaskTracker,
    /// Small things that nobody waits for. They stop by the token.
    errands: TaskTracker,
    /// Pumps write what there is and end.
    stop: CancellationToken,
    /// Nobody is let in any more.
    closing: AtomicBool,
    /// Whoever is heard until the transports are closed. None afterwards.
    kept: Mutex<Option<Vec<Arc<dyn Any + Send + Sync>>>>,
    /// For closing what only a request can close. Taken out at the end: it holds the house in turn.
    engine: Mutex<Option<Engine>>,
}

impl Sockets {
    /// Sockets whose pages are tabs of `tabs`. They are served by [`Sockets::service`].
    pub fn new<T: Tabs>(config: Config, tabs: Arc<T>, authenticate: Arc<dyn Authenticate>) -> Self {
        let (engine, io) = SocketIo::builder()
            .req_path(PATH)
            .ping_interval(config.ping_interval)
            .ping_timeout(config.ping_timeout)
            .connect_timeout(config.connect_timeout)
            .max_payload(config.max_payload as u64)
            .ws_max_message_size(config.max_payload)
            .ws_max_frame_size(config.max_payload)
            .max_buffer_size(config.buffer)
            .build_with_inner_svc(Nowhere);
        let house = Arc::new(House {
            config,
            connections: Arc::default(),
            pumps: TaskTracker::new(),
            errands: TaskTracker::new(),
            stop: CancellationToken::new(),
            closing: AtomicBool::new(false),
            kept: Mutex::new(Some(Vec::new())),
            engine: Mutex::new(Some(engine.clone())),
        });
        io.ns("/", Door::new(Arc::clone(&house), tabs, authenticate));
        Self { house, io, engine }
    }

    /// Answers every request under [`PATH`]. Routes it is mounted at may have any prefix.
    #[must_use]
    pub fn service(&self) -> Front {
        Front::new(Arc::clone(&self.house), self.engine.clone())
    }

    /// How many pages are being served.
    #[must_use]
    pub fn live(&self) -> usize {
        self.house.pumps.len()
    }

    /// How many transports are open, those without a page included.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.house.connections.live()
    }

    /// Ends all connections: writes out what the sessions' outboxes hold, then closes the transports without a Socket.IO
    /// DISCONNECT, so that pages come back. New ones are turned away with 503 from now on, which they take for a reason
    /// to try again. Best called while the listener still listens, since a page on polling fetches its last events by
    /// another request. Takes no longer than [`Config::close_timeout`] twice, whatever the clients do.
    pub async fn close(&self) {
        self.house.closing.store(true, Ordering::Release);
        self.house.stop.cancel();
        self.house.pumps.close();
        let timeout = self.house.config.close_timeout;
        if tokio::time::timeout(timeout, self.house.pumps.wait()).await.is_err() {
            tracing::warn!(left = self.live(), "sockets did not take everything in time");
        }
        if tokio::time::timeout(timeout, self.io.close()).await.is_err() {
            tracing::warn!("transports did not close in time: they are cut");
        }
        // Those that did not, and those that no page used.
        self.house.connections.cut_all();
        self.house.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.house.engine.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl std::fmt::Debug for Sockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sockets").field("live", &self.live()).finish_non_exhaustive()
    }
}
