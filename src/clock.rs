//! Time from one source, so that tests can move it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::protocol::Timestamp;

/// Where the time of day comes from. Time*outs* use tokio's clock, which tests pause.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands still at `start` and ticks one microsecond each time it is read, for tests.
    #[must_use]
    pub fn ticking_from(start: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(start.as_micros()))))
    }

    /// Moves a clock that stands still.
    pub fn forward(&self, time: Duration) {
        if let Some(micros) = &self.0 {
            micros.fetch_add(i64::try_from(time.as_micros()).unwrap_or(i64::MAX), Ordering::Relaxed);
        }
    }

    /// Moves a clock that stands still back, as a correction of a system's clock does.
    pub fn back(&self, time: Duration) {
        if let Some(micros) = &self.0 {
            micros.fetch_sub(i64::try_from(time.as_micros()).unwrap_or(i64::MAX), Ordering::Relaxed);
        }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(micros) => Timestamp::from_micros(micros.fetch_add(1, Ordering::Relaxed)),
            None => Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()),
        }
    }
}
