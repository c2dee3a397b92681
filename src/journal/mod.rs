//! The journal: append, then wake. What is handed in is stored in the order it came, many at a time, and whoever
//! follows a thread hears of it after the commit.

mod latest;
mod lease;
mod receipt;
mod room;
mod wake;
mod watchdog;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::id::ThreadId;
use crate::metrics::counts;
use crate::store::{Append, LiveSession, Partial, Store};
use latest::{Partials, Sessions};
pub use lease::{Leases, RunLease};
pub use receipt::{JournalError, Receipt};
use room::{Place, Rooms};
use wake::Wakes;
pub use watchdog::{Found, Watchdog, WatchdogSettings};
use writer::Writer;

/// How a journal behaves.
#[derive(Clone, Debug)]
pub struct JournalSettings {
    /// Appends that may wait for the writer.
    pub queue: usize,
    /// Bytes that may wait for the writer.
    pub queue_bytes: usize,
    /// Records of one thread that may wait.
    pub thread_records: usize,
    /// Bytes of one thread that may wait.
    pub thread_bytes: usize,
    /// How long an append waits for a place before it is refused.
    pub push_back: Duration,
    /// Records of one batch.
    pub batch: usize,
    /// Bytes of one batch.
    pub batch_bytes: usize,
    /// How long somebody waits who cannot go on without an answer ([`Journal::submit_patiently`]). What nobody waits for
    /// is tried without limit of time.
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
            // An append is never less than 256 bytes, so the bytes are what bounds it.
            queue: 300_000,
            queue_bytes: 64 << 20,
            thread_records: 1_000,
            thread_bytes: 8 << 20,
            push_back: Duration::from_secs(30),
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
    /// What may still be handed in.
    rooms: Arc<Rooms>,
    /// Threads of which something was refused, until their rows say so.
    overflowed: Mutex<BTreeSet<ThreadId>>,
    /// How many records were refused.
    refused: AtomicU64,
    partials: Partials,
    sessions: Sessions,
    /// Something is there to be written that is not in the queue.
    nudge: Notify,
    wakes: Arc<Wakes>,
    leases: Leases,
}

/// What becomes of an append whose answer comes too late for whoever waited for it.
#[derive(Clone, Copy)]
enum Late {
    Kept,
    Withdrawn,
}

/// An append on its way, and who waits for its answer.
struct Job {
    append: Append,
    /// When it was handed in.
    at: Instant,
    bytes: usize,
    answer: oneshot::Sender<Result<crate::store::Appended, JournalError>>,
    /// Held until the answer: this much of the queue is taken.
    place: Place,
    /// Somebody waited for it and gave up.
    withdrawn: Arc<AtomicBool>,
    /// The runs that it ends: their leases are kept until it is stored.
    ends: Vec<RunLease>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Journal")
    }
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
            rooms: Rooms::new(&settings),
            overflowed: Mutex::default(),
            refused: AtomicU64::new(0),
            settings,
            partials: Partials::default(),
            sessions: Sessions::default(),
            nudge: Notify::new(),
            wakes: Arc::default(),
            leases: Leases::default(),
        });
        let (wakes, every) = (shared.wakes.clone(), shared.settings.poll_every);
        tracker.spawn(wake::poll_until(stop.clone(), wakes, shared.store.clone(), every));
        tracker.spawn(Writer::new(shared.clone(), jobs, stop).run());
        Self { shared, queue }
    }

    /// Hands an append in and waits for a place in the queue only. Appends of one caller are stored in the order of
    /// their submission, however long the store is away. The receipt tells what became of it; dropping the receipt
    /// changes nothing.
    ///
    /// When there is no place for [`JournalSettings::push_back`], this append is refused ([`JournalError::Full`]), and
    /// never one that was taken before: its thread says `pending_overflow` from then on.
    ///
    /// Dropping this future before it is done hands nothing in.
    pub async fn submit(&self, append: Append) -> Receipt {
        self.hand_in(append, None).await
    }

    /// As [`Journal::submit`], for what somebody waits for: when the store has not answered after
    /// [`JournalSettings::patience`], the receipt says so. The append is stored all the same.
    pub async fn submit_patiently(&self, append: Append) -> Receipt {
        self.hand_in(append, Some(Late::Kept)).await
    }

    /// As [`Journal::submit_patiently`], for what must not be stored later once somebody was told that it failed: then
    /// it is not tried again.
    pub async fn submit_or_withdraw(&self, append: Append) -> Receipt {
        self.hand_in(append, Some(Late::Withdrawn)).await
    }

    async fn hand_in(&self, append: Append, late: Option<Late>) -> Receipt {
        let handed_in = Instant::now();
        let until = handed_in + self.shared.settings.patience;
        let shared = &self.shared;
        let (answer, receipt) = oneshot::channel();
        let bytes = size(&append);
        let records = append.records.len();
        let thread = append.thread.clone();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let ended = append.records.iter().filter_map(|record| record.fact.ends());
        let ends: Vec<RunLease> = ended.map(|run| shared.leases.hold(&thread, run)).collect();
        let enter = async {
            let place = shared.rooms.enter(&thread, records, bytes).await?;
            let job = Job { append, at: handed_in, bytes, answer, place, withdrawn: withdrawn.clone(), ends };
            // A closed queue drops the job, and with it the answer: the receipt says that the journal has stopped.
            let _ = self.queue.send(job).await;
            Some(())
        };
        if timeout(shared.settings.push_back, enter).await.is_err() {
            counts().records.add("overflowed", records as u64);
            let refused = shared.refused.fetch_add(records as u64, Ordering::Relaxed) + records as u64;
            tracing::error!(%thread, records, refused, "too much waits for the store, records refused");
            shared.overflowed.lock().unwrap_or_else(PoisonError::into_inner).insert(thread);
            shared.nudge.notify_one();
            return Receipt::failed(JournalError::Full);
        }
        match late {
            Some(Late::Withdrawn) => Receipt::new(receipt).until(until, Some(withdrawn)),
            Some(Late::Kept) => Receipt::new(receipt).until(until, None),
            None => Receipt::new(receipt),
        }
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

    /// Wakes whoever follows a thread that was written past this journal.
    pub(crate) fn announce(&self, thread: &ThreadId, latest: u64) {
        if self.shared.settings.wakes {
            self.shared.wakes.announce(thread, latest);
        }
    }

    /// The runs that work here.
    #[must_use]
    pub fn leases(&self) -> &Leases {
        &self.shared.leases
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

    /// How many records wait for the writer, and what they weigh in bytes. Costs a look at every thread of which some wait.
    #[must_use]
    pub fn waiting(&self) -> (usize, usize) {
        self.shared.rooms.all()
    }

    /// For how long the oldest append has waited that the writer works on.
    #[must_use]
    pub fn oldest(&self) -> Duration {
        self.shared.rooms.oldest()
    }

    /// How many records the poll found that no wake had announced: with one process on the database, none.
    #[must_use]
    pub fn missed_wakes(&self) -> u64 {
        self.shared.wakes.missed()
    }

    /// How many records of a thread wait for the writer: what a snapshot calls `read.pending`.
    #[must_use]
    pub fn pending_of(&self, thread: &ThreadId) -> usize {
        self.shared.rooms.waiting(thread)
    }

    /// How many records were refused since the start, because too much waited.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
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
