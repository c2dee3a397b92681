//! The journal: append, then wake. What is handed in is stored in the order it came, many at a time, and whoever
//! follows a thread hears of it after the commit.

mod latest;
mod receipt;
mod wake;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::id::ThreadId;
use crate::store::{Append, LiveSession, Partial, Store};
use latest::{Partials, Sessions};
pub use receipt::{JournalError, Receipt};
use wake::Wakes;
use writer::Writer;

/// How a journal behaves.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// Appends that may wait for the writer.
    pub queue: usize,
    /// Bytes that may wait for the writer.
    pub queue_bytes: usize,
    /// Records of one batch.
    pub batch: usize,
    /// Bytes of one batch.
    pub batch_bytes: usize,
    /// How long a batch is tried while the store is away.
    pub patience: Duration,
    /// How long the rest is written after the stop.
    pub farewell: Duration,
    /// How long streaming steps are gathered, so that many share a commit. A conversation hands each of its own in once
    /// a second; what is gathered here comes on top of what a crash costs.
    pub partial_every: Duration,
    /// How long rows of live tabs are gathered.
    pub sessions_every: Duration,
    /// How often the store is asked for what no wake announced, a fifth more or less.
    pub poll_every: Duration,
    /// Whether a commit wakes. Off, only the poll does: for tests.
    #[doc(hidden)]
    pub wakes: bool,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self {
            queue: 1_000,
            queue_bytes: 64 << 20,
            batch: 200,
            batch_bytes: 4 << 20,
            patience: Duration::from_secs(30),
            farewell: Duration::from_secs(10),
            partial_every: Duration::from_millis(100),
            sessions_every: Duration::from_millis(200),
            poll_every: Duration::from_secs(5),
            wakes: true,
        }
    }
}

/// The way into the store for everything that happens in a conversation. Clones share one writer.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
    queue: mpsc::Sender<Job>,
}

/// What handles and the writer share.
struct Shared {
    store: Arc<dyn Store>,
    settings: JournalSettings,
    /// Bytes that may still be handed in.
    room: Arc<Semaphore>,
    partials: Partials,
    sessions: Sessions,
    /// Something is there to be written that is not in the queue.
    nudge: Notify,
    wakes: Arc<Wakes>,
}

/// An append on its way, and who waits for its answer.
struct Job {
    append: Append,
    bytes: usize,
    answer: oneshot::Sender<Result<crate::store::Appended, JournalError>>,
    /// Held until the answer: this much of the queue is taken.
    _room: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl Journal {
    /// Starts the writer on the tracker. It ends when `stop` is cancelled, after what was handed in is written.
    #[must_use]
    pub fn start(store: Arc<dyn Store>, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        Self::start_with(store, tracker, stop, JournalSettings::default())
    }

    /// Starts the writer with other settings.
    #[must_use]
    pub fn start_with(
        store: Arc<dyn Store>,
        tracker: &TaskTracker,
        stop: CancellationToken,
        settings: JournalSettings,
    ) -> Self {
        // Full means that the store is slower than the hooks: whoever appends waits for a place, nothing is dropped.
        let (queue, jobs) = mpsc::channel(settings.queue);
        let shared = Arc::new(Shared {
            store,
            room: Arc::new(Semaphore::new(settings.queue_bytes.min(Semaphore::MAX_PERMITS))),
            settings,
            partials: Partials::default(),
            sessions: Sessions::default(),
            nudge: Notify::new(),
            wakes: Arc::default(),
        });
        let (wakes, every) = (shared.wakes.clone(), shared.settings.poll_every);
        tracker.spawn(wake::poll_until(stop.clone(), wakes, shared.store.clone(), every));
        tracker.spawn(Writer::new(shared.clone(), jobs, stop).run());
        Self { shared, queue }
    }

    /// Hands an append in and waits for a place in the queue only. Appends of one caller are stored in the order of
    /// their submission. The receipt tells what became of it; dropping the receipt changes nothing.
    ///
    /// Dropping this future before it is done hands nothing in.
    pub async fn submit(&self, append: Append) -> Receipt {
        let (answer, receipt) = oneshot::channel();
        let bytes = size(&append);
        let wanted = u32::try_from(bytes.min(self.shared.settings.queue_bytes)).unwrap_or(u32::MAX);
        // Bytes are bounded as well as appends, or a thousand pictures of text would be gigabytes.
        let room = self.shared.room.clone().acquire_many_owned(wanted).await.ok();
        // A closed queue drops the job, and with it the answer: the receipt says that the journal has stopped.
        let _ = self.queue.send(Job { append, bytes, answer, _room: room }).await;
        Receipt::new(receipt)
    }

    /// Notes how a streaming step stands. The newest of a step wins; it is written behind, with others, after
    /// everything that waits in the queue, and forgotten when the step's final record is stored.
    pub fn partial(&self, partial: Partial) {
        self.shared.partials.put(partial);
        self.shared.nudge.notify_one();
    }

    /// Forgets a noted partial: its step came to nothing.
    pub fn forget_partial(&self, step: &crate::id::StepId) {
        self.shared.partials.remove(step);
    }

    /// Notes a live tab; written behind, with others.
    pub fn remember(&self, session: LiveSession) {
        self.shared.sessions.remember(session);
        self.shared.nudge.notify_one();
    }

    /// Notes that a tab ended; written behind, with others.
    pub fn forget(&self, hash: impl Into<String>) {
        self.shared.sessions.forget(hash.into());
        self.shared.nudge.notify_one();
    }

    /// Wakes after each commit of a numbered record of the thread, with its sequence, and when the thread is deleted.
    /// Subscribe before reading, or a record between the two is lost. Wakes coalesce and cannot lag. A wake that is lost,
    /// and a record that another process wrote, is made up for by a poll ([`JournalSettings::poll_every`]). The value is
    /// 0 until the first commit after this.
    #[must_use]
    pub fn follow(&self, thread: &ThreadId) -> watch::Receiver<u64> {
        self.shared.wakes.follow(thread)
    }

    /// Wakes whoever follows a thread to which something happened that is no record of it: its deletion.
    pub fn look(&self, thread: &ThreadId) {
        if self.shared.settings.wakes {
            self.shared.wakes.look(thread);
        }
    }

    /// The store below, for reading.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// How many appends wait for the writer.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// How many records the poll found that no wake had announced: with one process on the database, none.
    #[must_use]
    pub fn missed_wakes(&self) -> u64 {
        self.shared.wakes.missed()
    }

    /// How many threads have a wake-up entry.
    #[must_use]
    pub fn followed(&self) -> usize {
        self.shared.wakes.followed()
    }
}

/// About how much memory an append takes: its texts, and something for each record.
fn size(append: &Append) -> usize {
    append
        .records
        .iter()
        .map(|record| 256 + record.fact.step().map_or(256, |step| step.output.len() + step.input.len()))
        .sum()
}
