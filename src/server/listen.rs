//! The listening socket.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

use crate::config::Config;

/// As long a queue as the system allows: after a restart all pages come back at once, and a connection that finds
/// the queue full waits a whole second.
const BACKLOG: i32 = 65_535;

/// Listens on the first of the host's addresses that can be had.
pub(super) async fn bind(config: &Config) -> io::Result<TcpListener> {
    let host = config.host.trim_start_matches('[').trim_end_matches(']');
    let mut failed = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for addr in tokio::net::lookup_host((host, config.port)).await? {
        match listen(addr) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, Some(Protocol::TCP))?;
    // A restart must not wait for connections of the last process to be forgotten.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
