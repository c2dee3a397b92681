//! The one task that writes: group commit, patience with an absent store, wake after commit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::receipt::JournalError;
use super::{Job, Shared};
use crate::store::{Append, Appended, StoreError, Stored};

/// Between two looks for wake-up entries that nobody follows any more.
const SWEEP: Duration = Duration::from_secs(30);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Writer {
    shared: Arc<Shared>,
    jobs: mpsc::Receiver<Job>,
    stop: CancellationToken,
    /// A job that did not fit into the last batch.
    held: Option<Job>,
    partials_due: Instant,
    sessions_due: Instant,
    sweep_due: Instant,
    /// Set once the stop came: then everything must be done.
    deadline: Option<Instant>,
}

impl Writer {
    pub fn new(shared: Arc<Shared>, jobs: mpsc::Receiver<Job>, stop: CancellationToken) -> Self {
        let now = Instant::now();
        let sweep_due = now + SWEEP;
        Self { shared, jobs, stop, held: None, partials_due: now, sessions_due: now, sweep_due, deadline: None }
    }

    pub async fn run(mut self) {
        while self.deadline.is_none() {
            if let Some(job) = self.next().await {
                let batch = self.gather(job);
                self.write(batch).await;
            }
            // Also while the queue is never empty: a partial is late by one batch at most.
            self.write_behind(Instant::now()).await;
        }
        self.finish().await;
    }

    /// The next job, or nothing when it is time for something else.
    async fn next(&mut self) -> Option<Job> {
        if self.held.is_some() && !self.stop.is_cancelled() {
            return self.held.take();
        }
        let due = self.due();
        tokio::select! {
            biased;
            // First, or a queue that is never empty would hide it.
            () = self.stop.cancelled() => self.begin_farewell(),
            job = self.jobs.recv() => match job {
                Some(job) => return Some(job),
                // Every handle is gone.
                None => self.begin_farewell(),
            },
            () = self.shared.nudge.notified() => {}
            () = sleep_until(due) => {}
        }
        None
    }

    fn begin_farewell(&mut self) {
        self.deadline = Some(Instant::now() + self.shared.settings.farewell);
    }

    fn due(&self) -> Instant {
        let mut due = self.sweep_due;
        if !self.shared.partials.is_empty() {
            due = due.min(self.partials_due);
        }
        if !self.shared.sessions.is_empty() {
            due = due.min(self.sessions_due);
        }
        due
    }

    /// What waits behind a job, as far as one batch may hold it.
    fn gather(&mut self, first: Job) -> Vec<Job> {
        let settings = &self.shared.settings;
        let (mut records, mut bytes) = (first.append.records.len(), first.bytes);
        let mut batch = vec![first];
        while let Ok(job) = self.jobs.try_recv() {
            records += job.append.records.len();
            bytes += job.bytes;
            if records > settings.batch || bytes > settings.batch_bytes {
                self.held = Some(job);
                break;
            }
            batch.push(job);
        }
        batch
    }

    async fn write(&mut self, batch: Vec<Job>) {
        let (appends, answers): (Vec<Append>, Vec<_>) =
            batch.into_iter().map(|job| (job.append, (job.answer, job._room))).unzip();
        let outcomes: Vec<Result<Appended, JournalError>> = match self.append(&appends).await {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            Err(JournalError::Broken) if appends.len() > 1 => {
                // One thread whose rows cannot be read must not cost the others theirs.
                let mut outcomes = Vec::with_capacity(appends.len());
                for append in &appends {
                    let outcome = self.append(std::slice::from_ref(append)).await;
                    outcomes.push(outcome.and_then(|mut one| one.pop().ok_or(JournalError::Broken)));
                }
                outcomes
            }
            Err(error) => appends.iter().map(|_| Err(error)).collect(),
        };
        for ((append, (answer, room)), outcome) in appends.iter().zip(answers).zip(outcomes) {
            if let Ok(outcome) = &outcome {
                self.committed(append, outcome);
            }
            drop(room);
            // Nobody waits for it: then nobody wanted to know.
            let _ = answer.send(outcome);
        }
    }

    /// The same batch again and again while the store is away: its record ids are fixed, so what was stored without
    /// an answer is found as a duplicate.
    async fn append(&mut self, appends: &[Append]) -> Result<Vec<Appended>, JournalError> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.shared.store.append(appends).await {
                Ok(outcomes) if outcomes.len() == appends.len() => return Ok(outcomes),
                Ok(_) => {
                    tracing::error!("store answered fewer appends than it was given");
                    return Err(JournalError::Broken);
                }
                Err(StoreError::Unavailable(error)) => error,
                Err(error @ (StoreError::Corrupt(_) | StoreError::Refused(_))) => {
                    tracing::error!(%error, "records not stored");
                    return Err(JournalError::Broken);
                }
            };
            let mut until = began + self.shared.settings.patience;
            if self.deadline.is_none() && self.stop.is_cancelled() {
                self.begin_farewell();
            }
            if let Some(deadline) = self.deadline {
                until = until.min(deadline);
            }
            if Instant::now() + pause >= until {
                tracing::error!(%error, appends = appends.len(), "store stayed away, records not stored");
                return Err(JournalError::Unavailable);
            }
            tracing::warn!(%error, "store away, trying again in {pause:?}");
            tokio::select! {
                () = sleep_until(Instant::now() + pause) => {}
                () = self.stop.cancelled(), if self.deadline.is_none() => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn committed(&self, append: &Append, outcome: &Appended) {
        let Ok(stored) = outcome else { return };
        let mut latest = None;
        for (record, stored) in append.records.iter().zip(stored) {
            match stored {
                Stored::Appended(sequence) => {
                    latest = latest.max(*sequence);
                    if let Some(step) = record.fact.step().filter(|step| !step.streaming) {
                        self.shared.partials.remove(&step.id);
                    }
                }
                // Stored by a commit whose answer was lost: nobody has heard of it yet.
                Stored::Duplicate(sequence) => latest = latest.max(*sequence),
                Stored::Conflict
                | Stored::Quarantined
                | Stored::AlreadySettled
                | Stored::ForeignId
                | Stored::Rejected(_)
                | Stored::Skipped => {}
            }
        }
        if let Some(latest) = latest.filter(|_| self.shared.settings.wakes) {
            self.shared.wakes.announce(&append.thread, latest);
        }
    }

    /// Partials, tabs and the sweep, where they are due.
    async fn write_behind(&mut self, now: Instant) {
        if now >= self.sessions_due && !self.shared.sessions.is_empty() {
            self.write_sessions().await;
            self.sessions_due = Instant::now() + self.shared.settings.sessions_every;
        }
        if now >= self.partials_due && !self.shared.partials.is_empty() {
            self.write_partials().await;
            self.partials_due = Instant::now() + self.shared.settings.partial_every;
        }
        if now >= self.sweep_due {
            self.shared.wakes.sweep();
            self.sweep_due = now + SWEEP;
        }
    }

    async fn write_partials(&self) {
        if let Err(error) = self.shared.store.save_partials(&self.shared.partials.take()).await {
            // The next state of each step comes by itself.
            tracing::warn!(%error, "streaming steps not written");
        }
    }

    async fn write_sessions(&self) {
        let (rows, gone) = self.shared.sessions.take();
        let mut result = Ok(());
        if !rows.is_empty() {
            result = self.shared.store.save_sessions(&rows).await;
        }
        if result.is_ok() && !gone.is_empty() {
            result = self.shared.store.forget_sessions(&gone).await;
        }
        if let Err(error) = result {
            tracing::warn!(%error, "rows of live tabs not written");
            self.shared.sessions.put_back(rows, gone);
        }
    }

    /// What was handed in before the stop is written, as long as that takes no longer than the farewell.
    async fn finish(&mut self) {
        // Whoever submits from now on is told that the journal has stopped.
        self.jobs.close();
        let deadline = self.deadline.unwrap_or_else(Instant::now);
        let rest = async {
            while let Some(job) = match self.held.take() {
                Some(job) => Some(job),
                None => self.jobs.recv().await,
            } {
                let batch = self.gather(job);
                self.write(batch).await;
            }
            self.write_partials().await;
            self.write_sessions().await;
        };
        if timeout_at(deadline, rest).await.is_err() {
            tracing::error!("journal stopped before everything was written");
        }
    }
}
