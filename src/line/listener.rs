//! Where connections come in: a long queue and an accept loop that does nothing else.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};

use super::{Shim, Wire};

/// How many connections may wait to be accepted. Beyond it a client waits a whole second for its next try.
const BACKLOG: i32 = 4096;

/// How long a write may make no progress before the connection is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a websocket.
    pub websocket: Duration,
    /// For plain HTTP, event streams included. These end by themselves when a write is stuck for half a minute; what they
    /// say last is still read by whoever comes back a little later.
    pub http: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { websocket: Duration::from_secs(20), http: Duration::from_secs(45) }
    }
}

/// Listens on TCP for `axum::serve`.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    timeouts: Timeouts,
}

/// Who is at the other end of a TCP connection: what `into_make_service_with_connect_info` makes of one.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// The connection itself, for websockets.
    pub wire: Arc<Wire>,
}

impl Listener {
    /// Listens on `address`. Must be called inside a runtime.
    ///
    /// # Errors
    /// When the address is taken or not ours.
    pub fn bind(address: SocketAddr, timeouts: Timeouts) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        // Accepted connections inherit it, which saves a system call each.
        socket.set_tcp_nodelay(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(Self { tcp: TcpListener::from_std(socket.into())?, timeouts })
    }
}

impl axum::serve::Listener for Listener {
    type Io = Shim<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.tcp.accept().await {
                Ok((tcp, address)) => return (Shim::new(tcp, Arc::default(), self.timeouts), address),
                Err(error) if is_of_the_client(&error) => {}
                Err(error) => {
                    // Mostly no file descriptor left. At once it would be the same.
                    tracing::error!(%error, "cannot accept connections: {error}");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

impl Connected<IncomingStream<'_, Listener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        Self { address: *stream.remote_addr(), wire: Arc::clone(stream.io().wire()) }
    }
}

/// The client went away between knocking and being let in.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
