//! The listening socket, on the first of the host's addresses that can be had.

use std::io;

use crate::config::Config;
use crate::line::{Listener, Timeouts};

/// Resolves the host and listens.
pub(super) async fn bind(config: &Config) -> io::Result<Listener> {
    let host = config.host.trim_start_matches('[').trim_end_matches(']');
    let timeouts = Timeouts { websocket: config.write_timeout, ..Timeouts::default() };
    let mut failed = io::Error::new(io::ErrorKind::AddrNotAvailable, "the name has no address");
    for address in tokio::net::lookup_host((host, config.port)).await? {
        match Listener::bind(address, timeouts) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
