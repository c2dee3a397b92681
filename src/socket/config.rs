//! Times and sizes.

use std::time::Duration;

use super::Origins;

/// How sockets behave. The defaults are what frontends know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which pages may connect.
    pub origins: Origins,
    /// Between two heartbeats.
    pub ping_interval: Duration,
    /// How long an answer to a heartbeat, or to a marker, may take.
    pub ping_timeout: Duration,
    /// How long a transport may stay open without a page being let in: also what remains of a refused one.
    pub connect_timeout: Duration,
    /// How long login and attaching to the session may take together. Less than `connect_timeout`, or nobody is told.
    pub login_timeout: Duration,
    /// The largest packet a page may send, in bytes. More closes its transport.
    pub max_payload: usize,
    /// How many packets wait in a socket's queue. Costs nothing while idle; small ones lose acks.
    pub buffer: usize,
    /// Between two markers, while there is something to prove.
    pub marker_interval: Duration,
    /// How long a marker may be unanswered before the pump pauses.
    pub marker_patience: Duration,
    /// How long a page that was told to leave, or left, may keep its transport.
    pub leave_timeout: Duration,
    /// How long closing may wait for slow clients.
    pub close_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            origins: Origins::Any,
            ping_interval: Duration::from_secs(25),
            ping_timeout: Duration::from_secs(20),
            connect_timeout: Duration::from_secs(30),
            login_timeout: Duration::from_secs(10),
            max_payload: 1_000_000,
            buffer: 4096,
            marker_interval: Duration::from_millis(200),
            marker_patience: Duration::from_secs(1),
            leave_timeout: Duration::from_secs(5),
            close_timeout: Duration::from_secs(3),
        }
    }
}
