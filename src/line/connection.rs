//! One Engine.IO session as the line sees it, and the list of all of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use dashmap::DashMap;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Tally, Wire};

/// What is known of one Engine.IO session: how many events left, how many are proven, whether it is over.
///
/// Events are counted in the order in which they were emitted, from the opening on, over polling and websocket alike.
#[derive(Debug)]
pub struct Connection {
    number: u64,
    registry: Weak<Connections>,
    sid: OnceLock<Box<str>>,
    /// The websocket that carries it.
    wire: OnceLock<Weak<Wire>>,
    /// Events that left.
    written: AtomicU64,
    /// Events that are known to have reached the page.
    proven: AtomicU64,
    /// Heartbeat pings that left over polling and whose pong did not come back over polling.
    pings: AtomicU32,
    /// A websocket carries it that no listener of ours watches: nothing is counted, nothing is proven.
    unwatched: AtomicBool,
    /// The page said that it changes from polling to the websocket.
    upgraded: AtomicBool,
    /// Somebody waits for `written` to grow.
    waiting: AtomicBool,
    /// The socket on it is no more.
    left: AtomicBool,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The newest marker that is not answered: behind how many events it is, and when it left.
    marker: Option<(u64, Instant)>,
    /// The last poll's mark, hashed.
    poll: Option<u64>,
    /// Whether the answer to the last poll held anything.
    answered: bool,
}

/// What a poll says about the answer to the poll before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// The answer arrived, or there was none yet.
    Next,
    /// The same poll again: somebody on the way repeats it, and what it was answered the first time is lost.
    Lost,
}

impl Connection {
    /// When the transport was opened, in order.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many events have left.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// How many events are known to have reached the page's JavaScript.
    #[must_use]
    pub fn proven(&self) -> u64 {
        self.proven.load(Ordering::Acquire)
    }

    /// Whether events are counted: false for a websocket that did not come through our listener. Nothing is ever
    /// proven there, which is safe and slow: everything is sent again after a reconnect.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        !self.unwatched.load(Ordering::Acquire)
    }

    /// Whether the page changed from polling to a websocket, or is about to.
    #[must_use]
    pub fn is_upgraded(&self) -> bool {
        self.upgraded.load(Ordering::Acquire)
    }

    /// When the marker that nobody answered yet left. None while it is still queued.
    #[must_use]
    pub fn marker_left(&self) -> Option<Instant> {
        self.state().marker.map(|(_, left)| left)
    }

    /// Whether the socket on it is no more.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.left.load(Ordering::Acquire)
    }

    /// Says that the socket on it is no more.
    pub fn leave(&self) {
        self.left.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Makes [`Connection::changed`] resolve.
    pub fn nudge(&self) {
        self.changed.notify_one();
    }

    /// Breaks the websocket, in both directions. False when there is none that we know.
    pub fn cut(&self) -> bool {
        let Some(wire) = self.wire.get() else { return false };
        if let Some(wire) = wire.upgrade() {
            wire.cut();
        }
        true
    }

    /// A websocket begins to carry it.
    pub(super) fn carried_by(&self, wire: &Arc<Wire>) {
        // A second one is refused by the library and carries nothing.
        let _ = self.wire.set(Arc::downgrade(wire));
    }

    /// The page said that it is on the websocket from now on. Gives how many heartbeats it owes an answer.
    pub(super) fn upgrade(&self) -> u32 {
        self.upgraded.store(true, Ordering::Release);
        self.changed.notify_one();
        self.pings.swap(0, Ordering::AcqRel)
    }

    /// A marker behind `count` events left.
    pub(super) fn marked(&self, count: u64) {
        self.state().marker = Some((count, Instant::now()));
    }

    /// A marker behind `count` events was answered.
    pub(super) fn answered(&self, count: u64) {
        self.state().marker.take_if(|(newest, _)| *newest <= count);
        self.prove(count);
    }

    /// Waits until something is proven, the socket left, or — when [`Connection::want_progress`] was called — an event
    /// left. For one waiter. Cancel safe; what happened since the last call is not missed.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Makes [`Connection::changed`] resolve when the next event leaves. Look at [`Connection::written`] again after
    /// this and before waiting.
    pub fn want_progress(&self) {
        self.waiting.store(true, Ordering::SeqCst);
    }

    /// A websocket took over that no listener of ours watches.
    pub fn unwatch(&self) {
        self.unwatched.store(true, Ordering::Release);
    }

    /// A poll came; its `mark` tells it from the one before. Proves the answer to the last one. Without a mark it could
    /// be the same one again, sent by somebody on the way, and proves nothing.
    pub fn poll(&self, mark: Option<&str>) -> Poll {
        let Some(mark) = mark else { return Poll::Next };
        let mut hasher = DefaultHasher::new();
        mark.hash(&mut hasher);
        let hash = hasher.finish();
        let again = {
            let mut state = self.state();
            let again = state.poll == Some(hash);
            let answered = std::mem::take(&mut state.answered);
            state.poll = Some(hash);
            again && answered
        };
        if again {
            return Poll::Lost;
        }
        // After an upgrade, what left over the websocket is none of a late poll's business.
        if !self.is_upgraded() {
            self.prove(self.written());
        }
        Poll::Next
    }

    /// The answer to a poll was made.
    pub fn answer(&self, tally: Tally) {
        self.state().answered = !tally.is_empty();
        self.pings.fetch_add(tally.pings, Ordering::AcqRel);
        self.wrote(u64::from(tally.events));
    }

    /// Pongs came over polling.
    pub fn pongs(&self, count: u32) {
        let fewer = |owed: u32| Some(owed.saturating_sub(count));
        let _ = self.pings.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
    }

    /// Makes the connection findable by its Engine.IO id while it lives.
    pub fn set_sid(self: &Arc<Self>, sid: &str) {
        if let Some(registry) = self.registry.upgrade()
            && self.sid.set(sid.into()).is_ok()
        {
            registry.by_sid.insert(sid.into(), Arc::downgrade(self));
        }
    }

    /// Events left.
    pub(super) fn wrote(&self, events: u64) {
        if events > 0 {
            self.written.fetch_add(events, Ordering::AcqRel);
            if self.waiting.swap(false, Ordering::SeqCst) {
                self.changed.notify_one();
            }
        }
    }

    /// So many events are known to have reached the page.
    pub(super) fn prove(&self, count: u64) {
        if self.proven.fetch_max(count, Ordering::AcqRel) < count {
            self.changed.notify_one();
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(registry) = self.registry.upgrade() else { return };
        registry.all.remove(&self.number);
        if let Some(sid) = self.sid.get() {
            registry.by_sid.remove(sid);
        }
    }
}

/// All connections, and the numbers they get.
#[derive(Debug, Default)]
pub struct Connections {
    last: AtomicU64,
    all: DashMap<u64, Weak<Connection>>,
    by_sid: DashMap<Box<str>, Weak<Connection>>,
}

impl Connections {
    /// A transport is opened: gives it the next number.
    #[must_use]
    pub fn open(self: &Arc<Self>) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            number: self.last.fetch_add(1, Ordering::AcqRel) + 1,
            registry: Arc::downgrade(self),
            sid: OnceLock::new(),
            wire: OnceLock::new(),
            written: AtomicU64::new(0),
            proven: AtomicU64::new(0),
            pings: AtomicU32::new(0),
            unwatched: AtomicBool::new(false),
            upgraded: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
            left: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Notify::new(),
        });
        self.all.insert(connection.number, Arc::downgrade(&connection));
        connection
    }

    /// How many there are.
    #[must_use]
    pub fn live(&self) -> usize {
        self.all.len()
    }

    /// Breaks every websocket, in both directions.
    pub fn cut_all(&self) {
        let all: Vec<_> = self.all.iter().filter_map(|entry| entry.value().upgrade()).collect();
        all.iter().for_each(|connection| _ = connection.cut());
    }

    /// The connection with this Engine.IO id, if it began with polling and lives.
    #[must_use]
    pub fn find(&self, sid: &str) -> Option<Arc<Connection>> {
        self.by_sid.get(sid)?.upgrade()
    }
}
