//! Lets pages in: handshake, login, session. Refuses with a reason, within a bounded time.

use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value as Json;
use socketioxide::adapter::LocalAdapter;
use socketioxide::handler::{ConnectHandler, Value};
use socketioxide::socket::Socket;

use super::desk::Desk;
use super::front::Opened;
use super::inbox::{Inbox, Leaving, Own};
use super::pump::Pump;
use super::{AuthError, Authenticate, House, Tabs, headers};
use crate::line::Connection;
use crate::protocol::{Handshake, HandshakeError};
use crate::session::{Connect, ConnectionNumber, Refusal};

/// Handles every CONNECT.
pub(super) struct Door<T>(Arc<Inner<T>>);

struct Inner<T> {
    house: Arc<House>,
    tabs: Arc<T>,
    authenticate: Arc<dyn Authenticate>,
}

/// How long the end of a transport may take to be complete.
const SILENCE: Duration = Duration::from_secs(1);

/// A page that was let in, between CONNECT being decided and being answered.
struct Admitted<T>(Arc<Desk<T>>);

/// Why a page is not let in. The text is sent to it.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    #[error(transparent)]
    Login(#[from] AuthError),
    #[error(transparent)]
    Session(#[from] Refusal),
    #[error("the server took too long, try again in a moment")]
    TooSlow,
    #[error("something went wrong on the server")]
    Broken,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), Box<dyn Display + Send>>> + Send + 'a>>;

impl<T: Tabs> ConnectHandler<LocalAdapter, Own> for Door<T> {
    /// Before CONNECT is answered. Handlers are registered here: the first events may come right behind it.
    fn call_middleware<'a>(&'a self, socket: Arc<Socket>, auth: &'a Option<Value>) -> Answer<'a> {
        Box::pin(async move {
            let Some(Opened(connection)) = socket.req_parts().extensions.get::<Opened>().cloned() else {
                return Err(Box::new(Refused::Broken) as _);
            };
            let inner = &self.0;
            let admitted = AssertUnwindSafe(inner.admit(&socket, &connection, auth)).catch_unwind();
            let refused = match tokio::time::timeout(inner.house.config.login_timeout, admitted).await {
                Ok(Ok(Ok(()))) => return Ok(()),
                Ok(Ok(Err(refused))) => refused,
                Ok(Err(_)) => Refused::Broken,
                Err(_) => Refused::TooSlow,
            };
            let is_closing = inner.house.closing.load(Ordering::Acquire);
            if is_closing || matches!(refused, Refused::Session(Refusal::ShuttingDown)) {
                // A CONNECT_ERROR would make the page give up. It shall come back, and find the next server.
                inner.house.cut(&connection, socket.id);
                // Until then the refusal could still find a way out.
                tokio::time::sleep(SILENCE).await;
            }
            match refused {
                Refused::Broken | Refused::TooSlow => tracing::error!("page refused: {refused}"),
                Refused::Handshake(_) | Refused::Login(_) | Refused::Session(_) => {
                    tracing::info!("page refused: {refused}");
                }
            }
            Err(Box::new(refused) as _)
        })
    }

    /// Right after CONNECT was answered.
    fn call(&self, socket: Arc<Socket>, _: Option<Value>) {
        let Some(Admitted(desk)) = socket.extensions.remove::<Admitted<T::Tab>>() else {
            return;
        };
        let pump = Pump::new(desk, socket);
        self.0.house.pumps.spawn(pump.run());
    }
}

impl<T: Tabs> Inner<T> {
    async fn admit(
        &self,
        socket: &Arc<Socket>,
        connection: &Arc<Connection>,
        auth: &Option<Value>,
    ) -> Result<(), Refused> {
        let handshake = Handshake::parse(json(auth)?)?;
        let session = handshake.session.clone();
        let request = &socket.req_parts().headers;
        let user = self.authenticate.authenticate(request).await?;
        let page = Connect {
            number: ConnectionNumber(connection.number()),
            session: handshake.session,
            thread: handshake.thread,
            user,
            client_type: handshake.client_type,
            user_env: handshake.user_env,
            chat_profile: handshake.chat_profile,
            language: headers::language(request),
            headers: headers::for_hooks(request),
        };
        let tab = self.tabs.connect(page).await?;
        tracing::debug!(?session, number = connection.number(), "page connected");
        let desk = Arc::new(Desk::new(tab, session, Arc::clone(connection), Arc::clone(&self.house)));
        socket.on_fallback(Inbox(Arc::downgrade(&desk)));
        socket.on_disconnect(Leaving(Arc::downgrade(&desk)));
        socket.extensions.insert(Admitted(desk));
        Ok(())
    }
}

fn json(auth: &Option<Value>) -> Result<Json, HandshakeError> {
    match auth {
        None => Ok(Json::Null),
        Some(Value::Str(text, _)) => serde_json::from_str(text.as_str()).map_err(|_| HandshakeError::Malformed),
        Some(Value::Bytes(_)) => Err(HandshakeError::Malformed),
    }
}

impl<T: Tabs> Door<T> {
    pub(super) fn new(house: Arc<House>, tabs: Arc<T>, authenticate: Arc<dyn Authenticate>) -> Self {
        Self(Arc::new(Inner { house, tabs, authenticate }))
    }
}

impl<T> Clone for Door<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Clone for Admitted<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
