//! Who follows which thread, and waking them: after each commit, and by a poll behind it, so that a wake that is lost
//! costs seconds and no record.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use rand::Rng;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::id::ThreadId;
use crate::metrics::counts;
use crate::store::Store;

/// How much earlier or later a poll may come, so that many servers of one database do not ask at once.
const SPREAD: f64 = 0.2;

/// The followed threads of this process. An entry keeps the highest sequence that was announced.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    threads: DashMap<ThreadId, watch::Sender<u64>>,
    /// Polls that found a record which no wake had announced.
    missed: AtomicU64,
}

impl Wakes {
    pub fn follow(&self, thread: &ThreadId) -> watch::Receiver<u64> {
        // Under the shard's lock, so that the entry is not removed in between.
        self.threads.entry(thread.clone()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Records up to `latest` are committed.
    pub fn announce(&self, thread: &ThreadId, latest: u64) {
        if let Some(follower) = self.threads.get(thread) {
            follower.send_modify(|sequence| *sequence = (*sequence).max(latest));
        }
    }

    /// Something happened to the thread that is no record of it.
    pub fn look(&self, thread: &ThreadId) {
        if let Some(follower) = self.threads.get(thread) {
            follower.send_modify(|_| {});
        }
    }

    /// Removes entries that nobody follows any more.
    pub fn sweep(&self) {
        self.threads.retain(|_, follower| follower.receiver_count() > 0);
    }

    pub fn followed(&self) -> usize {
        self.threads.len()
    }

    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    fn following(&self) -> Vec<ThreadId> {
        let followed = self.threads.iter().filter(|entry| entry.value().receiver_count() > 0);
        followed.map(|entry| entry.key().clone()).collect()
    }

    /// Asks the store where all followed threads stand, in one statement, and wakes who has not been told.
    async fn poll(&self, store: &dyn Store) {
        let threads = self.following();
        if threads.is_empty() {
            return;
        }
        let standing = match store.latest(&threads).await {
            Ok(standing) => standing,
            Err(error) => return debug!(%error, "followed threads could not be looked at"),
        };
        for thread in &threads {
            match standing.get(thread) {
                // No numbering yet, or no thread any more: whoever follows finds out.
                None => self.look(thread),
                Some(latest) => {
                    let is_news = self.threads.get(thread).is_some_and(|follower| *follower.borrow() < *latest);
                    if is_news {
                        self.missed.fetch_add(1, Ordering::Relaxed);
                        counts().polls_found.inc();
                        self.announce(thread, *latest);
                    }
                }
            }
        }
    }
}

/// Polls for followers until `stop`.
pub(super) async fn poll_until(stop: CancellationToken, wakes: Arc<Wakes>, store: Arc<dyn Store>, every: Duration) {
    loop {
        let pause = every.mul_f64(rand::rng().random_range(1.0 - SPREAD..1.0 + SPREAD));
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = wakes.poll(&*store) => {}
        }
    }
}
