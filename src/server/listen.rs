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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_is_an_address_or_a_name() {
        for host in ["127.0.0.1", "localhost"] {
            let config = Config { host: host.to_owned(), port: 0, ..Config::default() };
            let listener = bind(&config).await.unwrap();
            assert!(axum::serve::Listener::local_addr(&listener).unwrap().ip().is_loopback(), "{host}");
        }
        let nowhere = Config { host: "192.0.2.1".to_owned(), port: 0, ..Config::default() };
        assert!(bind(&nowhere).await.is_err());
    }
}
