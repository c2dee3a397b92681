//! What the two ends of a TCP connection's shim share with those who serve it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::Connection;

/// One TCP connection, as its shim and the service behind it know it.
#[derive(Debug, Default)]
pub struct Wire {
    is_armed: AtomicBool,
    armed: Mutex<Option<Armed>>,
    is_cut: AtomicBool,
    /// Since when a write makes no progress.
    stuck: Mutex<Option<Instant>>,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// The connection that a TCP connection is about to carry.
#[derive(Debug)]
pub(super) struct Armed {
    pub(super) connection: Arc<Connection>,
    /// It was on polling until now.
    pub(super) is_upgrade: bool,
}

impl Wire {
    /// The next answer 101 on this TCP connection makes it carry `connection`. To be called before that answer is
    /// written. `is_upgrade` tells that the connection was on polling until now.
    pub fn arm(self: &Arc<Self>, connection: &Arc<Connection>, is_upgrade: bool) {
        connection.carried_by(self);
        let armed = Armed { connection: Arc::clone(connection), is_upgrade };
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
        self.is_armed.store(true, Ordering::Release);
    }

    /// How long a write has made no progress; none while writes do.
    #[must_use]
    pub fn stuck_for(&self) -> Option<Duration> {
        self.stuck().map(|since| since.elapsed())
    }

    /// A write makes no progress from now on.
    pub(super) fn set_stuck(&self) {
        *self.stuck() = Some(Instant::now());
    }

    /// Writes make progress again.
    pub(super) fn set_loose(&self) {
        *self.stuck() = None;
    }

    fn stuck(&self) -> MutexGuard<'_, Option<Instant>> {
        self.stuck.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_armed(&self) -> Option<Armed> {
        if !self.is_armed.load(Ordering::Acquire) {
            return None;
        }
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Makes every read and write fail from now on, those that wait included.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        self.reader.wake();
        self.writer.wake();
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    /// Whoever reads is woken by a cut. True when it came just now.
    pub(super) fn reads(&self, waker: &Waker) -> bool {
        self.reader.register(waker);
        self.is_cut()
    }

    /// Whoever writes is woken by a cut. True when it came just now.
    pub(super) fn writes(&self, waker: &Waker) -> bool {
        self.writer.register(waker);
        self.is_cut()
    }
}
