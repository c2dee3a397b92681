//! Noticing a reader that takes nothing. Its bytes wait in the connection's buffer: when that is full, nobody asks for
//! more; before that, only the line knows that a write is stuck.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::line::Wire;

/// How often a stuck line is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Later than anything else happens.
const LATER: Duration = Duration::from_secs(3_600);

/// How long one write may be stuck.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    wire: Option<Arc<Wire>>,
    /// When bytes were given away, of which nobody knows yet whether more are wanted.
    handed: Option<Instant>,
}

impl Patience {
    /// `wire` is the connection, where it came through a listener of ours.
    pub(super) fn new(limit: Duration, wire: Option<Arc<Wire>>) -> Self {
        Self { limit, wire, handed: None }
    }

    /// Bytes are given away.
    pub(super) fn hand_over(&mut self) {
        self.handed = Some(Instant::now());
    }

    /// More bytes are wanted, or are about to be there: whether that took too long.
    pub(super) fn is_over(&mut self) -> bool {
        let waited = self.handed.take().is_some_and(|handed| handed.elapsed() >= self.limit);
        waited || self.stuck().is_some_and(|stuck| stuck >= self.limit)
    }

    /// When to look again whether it is over.
    pub(super) fn next_look(&self) -> Instant {
        Instant::now() + if self.stuck().is_some() { LOOK } else { LATER }
    }

    fn stuck(&self) -> Option<Duration> {
        self.wire.as_ref()?.stuck_for()
    }
}
