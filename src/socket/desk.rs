//! What the handlers and the pump of one connection share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use socketioxide::socket::Sid;

use super::track::Track;
use super::{House, Tab};
use crate::id::SessionId;
use crate::line::Connection;

/// One page that was let in. Its pump holds it; when the pump lets go, the session knows that the socket is gone.
pub(super) struct Desk<T> {
    pub(super) tab: T,
    pub(super) session: SessionId,
    pub(super) connection: Arc<Connection>,
    pub(super) house: Arc<House>,
    /// Acknowledgements that found the queue full; the pump sends them when there is space.
    acks: Mutex<Vec<i64>>,
    /// What was emitted and is not proven.
    track: Mutex<Track>,
    /// The socket is gone, its transport may be there still.
    stays: AtomicBool,
}

/// A page that wants more acknowledgements than this without reading any is flooding.
const MOST_ACKS: usize = 1024;

impl<T> Desk<T> {
    pub(super) fn new(tab: T, session: SessionId, connection: Arc<Connection>, house: Arc<House>) -> Self {
        Self {
            tab,
            session,
            connection,
            house,
            acks: Mutex::default(),
            track: Mutex::default(),
            stays: AtomicBool::new(false),
        }
    }

    /// The socket is gone. `stays` tells whether its transport may still be there.
    pub(super) fn leave(&self, stays: bool) {
        self.stays.store(stays, Ordering::Release);
        self.connection.leave();
    }

    pub(super) fn transport_stays(&self) -> bool {
        self.stays.load(Ordering::Acquire)
    }

    /// What was emitted over the connection. For one expression: whoever reads frames needs it as well.
    pub(super) fn track(&self) -> MutexGuard<'_, Track> {
        self.track.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An acknowledgement found the queue full. False when there are too many.
    pub(super) fn owe(&self, ack: i64) -> bool {
        let mut acks = self.acks();
        if acks.len() >= MOST_ACKS {
            return false;
        }
        acks.push(ack);
        drop(acks);
        self.connection.nudge();
        true
    }

    /// Takes what [`Desk::owe`] kept.
    pub(super) fn owed(&self) -> Vec<i64> {
        std::mem::take(&mut *self.acks())
    }

    /// Puts back what could not be sent, in front.
    pub(super) fn owe_again(&self, ids: impl Iterator<Item = i64>) {
        self.acks().splice(..0, ids);
    }

    /// Closes the transport without a word, so that the page comes back.
    pub(super) fn cut(&self, sid: Sid) {
        self.house.cut(&self.connection, sid);
    }

    fn acks(&self) -> MutexGuard<'_, Vec<i64>> {
        self.acks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Tab> Desk<T> {
    /// Tells the session what is proven by now. The line notes a proof before it passes on what came behind it, so whoever
    /// handles that asks here first; else a page could be told again what it has proven.
    pub(super) fn prove(&self) {
        let newly = self.track().proven(self.connection.proven());
        if let Some(entry) = newly {
            self.tab.proven(entry);
        }
    }
}

impl House {
    /// Keeps a desk until the transports are closed, so that its page is heard until then.
    pub(super) fn keep<T: Tab>(&self, desk: Arc<Desk<T>>) {
        if let Some(kept) = &mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner) {
            kept.push(desk);
        }
    }

    /// Closes a transport without a word, so that the page comes back.
    pub(super) fn cut(self: &Arc<Self>, connection: &Connection, sid: Sid) {
        if !connection.cut() {
            let house = Arc::clone(self);
            self.errands.spawn(async move { house.close_polling(sid.as_str()).await });
        }
    }
}
