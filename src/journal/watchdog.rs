//! The watchdog: renews the leases of the runs that work here, and settles runs whose process is gone (records.md 3.12).

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info, warn};

use super::Journal;
use crate::clock::Clock;
use crate::metrics::counts;
use crate::protocol::Timestamp;
use crate::store::{Settled, Store, Working};

/// How a watchdog behaves.
#[derive(Clone, Debug)]
pub struct WatchdogSettings {
    /// How long a run counts as alive since its process last said so.
    pub lease: Duration,
    /// Between two beats. Two of them may fail before a lease is over.
    pub every: Duration,
    /// Runs that are settled in one beat.
    pub most: u32,
}

impl Default for WatchdogSettings {
    fn default() -> Self {
        Self { lease: Duration::from_secs(90), every: Duration::from_secs(30), most: 500 }
    }
}

/// What a beat found. Pages of these threads may show something else.
#[derive(Debug, Default)]
pub struct Found {
    /// What was settled, of whatever process.
    pub settled: Vec<Settled>,
    /// Runs that work here and were settled by somebody else: this process was not heard of for too long.
    pub overtaken: Vec<Working>,
}

/// Looks after leases, beat by beat.
#[derive(Debug)]
pub struct Watchdog {
    journal: Journal,
    clock: Clock,
    settings: WatchdogSettings,
    /// Nothing is settled before: until then, whoever lives has had the time to say so.
    patient_until: Instant,
    /// When the last beat began, by the clock: it goes on while a machine sleeps.
    last: Option<Timestamp>,
    next: Instant,
}

impl Watchdog {
    /// One that beats at once, and settles nothing for a lease: it does not know what was before.
    #[must_use]
    pub fn new(journal: Journal, clock: Clock, settings: WatchdogSettings) -> Self {
        let now = Instant::now();
        Self { journal, clock, patient_until: now + settings.lease, settings, last: None, next: now }
    }

    /// Waits for the next beat.
    pub async fn due(&self) {
        sleep_until(self.next).await;
    }

    /// Renews first and settles then, so that what works here is never settled from here. While the database is away, and
    /// for a lease after it was, nothing is settled: an outage keeps everybody from renewing. Dropping this future at any
    /// point is fine.
    pub async fn beat(&mut self) -> Found {
        let now = self.clock.now();
        self.notice_absence(now);
        self.next = Instant::now() + self.settings.every;
        let mut found = Found::default();
        let store = Arc::clone(self.journal.store());
        match timeout(self.settings.every, store.renew(&self.journal.leases().held(), now)).await {
            Ok(Ok(overtaken)) => found.overtaken = overtaken,
            Ok(Err(error)) => self.trouble(&error),
            Err(error) => self.trouble(&error),
        }
        if Instant::now() >= self.patient_until {
            found.settled = self.settle(&*store, now).await;
        }
        for settled in &found.settled {
            if let Some(latest) = settled.latest {
                self.journal.announce(&settled.thread, latest);
            }
        }
        found
    }

    async fn settle(&mut self, store: &dyn Store, now: Timestamp) -> Vec<Settled> {
        match timeout(self.settings.every, store.settle_lapsed(self.settings.most, now)).await {
            Ok(Ok(settled)) => {
                let runs: usize = settled.iter().map(|settled| settled.runs.len()).sum();
                if runs > 0 {
                    counts().runs_ended.add("lost", runs as u64);
                    info!(runs, "runs that nobody works on any more are settled as lost");
                }
                return settled;
            }
            Ok(Err(error)) => self.trouble(&error),
            Err(error) => self.trouble(&error),
        }
        Vec::new()
    }

    /// A process that stood still, with its machine or alone, knows no more of the time since than of an outage.
    fn notice_absence(&mut self, now: Timestamp) {
        let longest = self.settings.lease.saturating_sub(self.settings.every);
        let longest = i64::try_from(longest.as_micros()).unwrap_or(i64::MAX);
        let last = self.last.replace(now);
        if last.is_some_and(|last| now.as_micros().saturating_sub(last.as_micros()) > longest) {
            warn!("this process stood still");
            self.patient_until = Instant::now() + self.settings.lease;
        }
    }

    /// The database did not answer as it should. Leases that run out now do so for everybody, so the next beat is soon.
    fn trouble(&mut self, error: &dyn std::fmt::Display) {
        debug!(%error, "leases could not be looked after");
        let now = Instant::now();
        self.patient_until = now + self.settings.lease;
        self.next = now + self.settings.every / 6;
    }
}
