//! A page whose screen was over its bounds gets its whole thread again: no hook runs, no marker comes, nothing is restored.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::{info, warn};

use super::Session;
use crate::conversation::Input;

/// How long until a thread that could not be had is asked for again; twice as long each time, up to the second.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

impl Session {
    /// Fetches the thread for the outbox, and tries until it is there or the page waits for it no more.
    pub(super) fn refresh(self: &Arc<Self>) {
        let session = self.clone();
        self.home.tracker.spawn(async move { session.fetch().await });
    }

    async fn fetch(&self) {
        let (mut pause, longest) = AGAIN;
        while self.outbox.wants_thread() && !self.is_over() {
            if self.ask_for_thread().await {
                info!(session = ?self.id, "a page is too far behind: its thread is sent again");
            }
            // It comes through the feed, which may wait for the store, or not at all.
            let _ = tokio::time::timeout(pause, self.outbox.relieved()).await;
            pause = (pause * 2).min(longest);
        }
    }

    fn is_over(&self) -> bool {
        self.lock().is_over() || self.home.closed.load(Ordering::Acquire)
    }

    /// Whether the conversation was asked and has what it needs. Cancel safe: what was begun is begun anew.
    async fn ask_for_thread(&self) -> bool {
        let (answer, needs) = oneshot::channel();
        self.tell(Input::Renew { tab: self.tab, answer });
        // No answer: there is no conversation yet, or its restore is on its way to show the thread anyhow.
        let Ok(needs) = needs.await else { return false };
        let Some(thread) = needs else { return true };
        let read = match self.home.store.thread(&thread).await {
            Ok(read) => Some(read.map(|stored| stored.thread)),
            Err(failure) => {
                warn!(session = ?self.id, %failure, "thread could not be read for a page that is behind");
                None
            }
        };
        let is_read = read.is_some();
        self.tell(Input::Renewed { tab: self.tab, read });
        is_read
    }
}
