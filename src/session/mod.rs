//! One live tab: registry, attach and end, its own state, its outbox.

mod outbox;

pub use outbox::{ConnectionNumber, Entry, Outbox};

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::id::{SessionId, ThreadId};
use crate::protocol::{BadEvent, ClientEvent, User};

/// What a page brings along when it connects, its login checked already.
#[derive(Clone, Debug)]
pub struct Connect {
    /// When its transport was opened, in order.
    pub number: ConnectionNumber,
    /// The tab.
    pub session: SessionId,
    /// The thread it wants or is on; not checked.
    pub thread: Option<ThreadId>,
    /// Who it is; none where no login is required.
    pub user: Option<User>,
    /// `webapp`, `copilot`, …
    pub client_type: String,
    /// Values the person entered.
    pub user_env: Map<String, Value>,
    /// The chosen profile.
    pub chat_profile: Option<String>,
    /// From `Accept-Language`: `fr-CA`; `en-US` when absent.
    pub language: String,
    /// The request's headers, for hooks. Cookies and authorization are left out.
    pub headers: Vec<(String, String)>,
}

/// Why a page is refused. The text is sent in CONNECT_ERROR; clients do not come back by themselves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The session belongs to somebody else.
    #[error("authorization failed")]
    NotYours,
    /// A value that the application wants is missing.
    #[error("Missing user environment variable: {0}")]
    MissingEnv(String),
    /// The store does not answer; the page may try again.
    #[error("the server cannot reach its store, try again in a moment")]
    Store,
    /// The server is going away.
    #[error("the server is shutting down")]
    ShuttingDown,
}

/// A page sends faster than anybody can handle; its transport is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many events waiting")]
pub struct Flooded;

/// The live tabs of this process.
#[derive(Debug)]
pub struct Sessions {}

/// One socket's hold on its session. Dropping it says that the socket is gone.
#[derive(Debug)]
pub struct Link {
    number: ConnectionNumber,
    outbox: Arc<Outbox>,
    replaced: CancellationToken,
}

impl Sessions {
    /// Attaches a socket to its session, which is made when it is new. Takes no lock that a hook could hold. When it
    /// returns, the session's former socket is told to leave — unless that one is the newer.
    ///
    /// # Errors
    /// [`Refusal`], to be sent as CONNECT_ERROR.
    pub async fn connect(&self, page: Connect) -> Result<Link, Refusal> {
        Ok(Link { number: page.number, outbox: Arc::default(), replaced: CancellationToken::new() })
    }
}

impl Link {
    /// Takes an event from the page, in the order in which the frames came. Never waits. A bad event is logged here,
    /// and a person is told where the page shows a message that was refused.
    ///
    /// # Errors
    /// [`Flooded`] when the inbox is full: close the transport.
    pub fn receive(&self, _event: Result<ClientEvent, BadEvent>) -> Result<(), Flooded> {
        Ok(())
    }

    /// The next events to write, at most `most`; waits while there are none, and until the page has said
    /// `connection_successful`. `None` when this socket is not the session's any more. Cancel safe.
    pub async fn next(&self, most: usize) -> Option<Vec<Entry>> {
        self.outbox.next(self.number, most).await
    }

    /// Everything up to the entry `number` is known to have reached the page's JavaScript.
    pub fn proven(&self, number: u64) {
        self.outbox.proven(number);
    }

    /// The page acknowledged the event of entry `number` (`ask`, `call_fn`) with `value`. A late, doubled or foreign
    /// answer is ignored.
    pub fn answered(&self, _number: u64, _value: Value) {}

    /// Resolves when another socket took the session over, or the session ended: send a Socket.IO DISCONNECT.
    pub async fn replaced(&self) {
        self.replaced.cancelled().await;
    }
}
