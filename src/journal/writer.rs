//! The one task that writes: group commit, patience with an absent store, wake after commit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::lease::RunLease;
use super::receipt::JournalError;
use super::room::Place;
use super::{Job, Shared};
use crate::id::ThreadId;
use crate::metrics::counts;
use crate::store::{Append, Appended, StoreError, Stored, incomplete};

/// Between two looks for wake-up entries that nobody follows any more.
const SWEEP: Duration = Duration::from_secs(30);
/// Between two tries to mark threads of which something was refused.
const OVERFLOW_EVERY: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Who waits for an append.
struct Waiting {
    answer: oneshot::Sender<Result<Appended, JournalError>>,
    place: Place,
    withdrawn: Arc<AtomicBool>,
    /// Held until the answer.
    _ends: Vec<RunLease>,
}

fn split(batch: Vec<Job>) -> (Vec<Append>, Vec<Waiting>) {
    let waiting = |Job { append, answer, place, withdrawn, ends, .. }: Job| {
        (append, Waiting { answer, place, withdrawn, _ends: ends })
    };
    batch.into_iter().map(waiting).unzip()
}

/// Takes out what nobody wants any more; whoever waited for it knows.
fn withdraw(appends: &mut Vec<Append>, waiting: &mut Vec<Waiting>) {
    let keep: Vec<bool> = waiting.iter().map(|one| !one.withdrawn.load(Ordering::Acquire)).collect();
    if keep.contains(&false) {
        let mut kept = keep.iter().copied();
        appends.retain(|_| kept.next().unwrap_or(true));
        let mut kept = keep.iter().copied();
        waiting.retain(|_| kept.next().unwrap_or(true));
    }
}

pub(super) struct Writer {
    shared: Arc<Shared>,
    jobs: mpsc::Receiver<Job>,
    stop: CancellationToken,
    /// A job that did not fit into the last batch.
    held: Option<Job>,
    partials_due: Instant,
    sessions_due: Instant,
    sweep_due: Instant,
    overflow_due: Instant,
    /// Set once the stop came: then everything must be done.
    deadline: Option<Instant>,
}

impl Writer {
    pub fn new(shared: Arc<Shared>, jobs: mpsc::Receiver<Job>, stop: CancellationToken) -> Self {
        let now = Instant::now();
        let sweep_due = now + SWEEP;
        Self {
            shared,
            jobs,
            stop,
            held: None,
            partials_due: now,
            sessions_due: now,
            sweep_due,
            overflow_due: now,
            deadline: None,
        }
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
        if self.has_overflowed() {
            due = due.min(self.overflow_due);
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
        self.shared.rooms.writing(batch.first().map(|job| job.at));
        let (mut appends, mut waiting) = split(batch);
        match self.append(&mut appends, &mut waiting).await {
            Ok(outcomes) => self.answer(appends, waiting, outcomes.into_iter().map(Ok)),
            Err(JournalError::Broken) if appends.len() > 1 => {
                // One thread whose rows cannot be read must not cost the others theirs.
                for (append, one) in appends.into_iter().zip(waiting) {
                    let (mut append, mut one) = (vec![append], vec![one]);
                    let outcome = self.append(&mut append, &mut one).await;
                    let outcome = outcome.and_then(|mut one| one.pop().ok_or(JournalError::Broken));
                    self.answer(append, one, [outcome]);
                }
            }
            Err(error) => {
                let outcomes = vec![Err(error); appends.len()];
                self.answer(appends, waiting, outcomes);
            }
        }
        self.shared.rooms.writing(self.held.as_ref().map(|job| job.at));
    }

    fn answer(
        &self,
        appends: Vec<Append>,
        waiting: Vec<Waiting>,
        outcomes: impl IntoIterator<Item = Result<Appended, JournalError>>,
    ) {
        for ((append, waiting), outcome) in appends.iter().zip(waiting).zip(outcomes) {
            if let Ok(outcome) = &outcome {
                self.committed(append, outcome);
            }
            drop(waiting.place);
            // Nobody waits for it: then nobody wanted to know.
            let _ = waiting.answer.send(outcome);
        }
    }

    /// The same batch again and again while the store is away, without limit of time: its record ids are fixed, so what
    /// was stored without an answer is found as a duplicate. Only what somebody waited for and gave up goes from it.
    async fn append(
        &mut self,
        appends: &mut Vec<Append>,
        waiting: &mut Vec<Waiting>,
    ) -> Result<Vec<Appended>, JournalError> {
        let mut pause = FIRST_PAUSE;
        loop {
            withdraw(appends, waiting);
            if appends.is_empty() {
                return Ok(Vec::new());
            }
            let begun = Instant::now();
            let error = match self.shared.store.append(appends).await {
                Ok(outcomes) if outcomes.len() == appends.len() => {
                    counts().commit_time.observe(begun.elapsed().as_secs_f64());
                    return Ok(outcomes);
                }
                Ok(_) => {
                    tracing::error!("store answered fewer appends than it was given");
                    return Err(JournalError::Broken);
                }
                Err(StoreError::Unavailable(error)) => {
                    counts().store_away.inc();
                    error
                }
                Err(error @ (StoreError::Corrupt(_) | StoreError::Refused(_))) => {
                    tracing::error!(%error, "records not stored");
                    return Err(JournalError::Broken);
                }
            };
            if self.deadline.is_none() && self.stop.is_cancelled() {
                self.begin_farewell();
            }
            // Many servers that lost one database must not come back to it at the same moment.
            let wait = pause.mul_f64(rand::random_range(0.5..1.0));
            if self.deadline.is_some_and(|deadline| Instant::now() + wait >= deadline) {
                tracing::error!(%error, appends = appends.len(), "store stayed away, records not stored");
                return Err(JournalError::Unavailable);
            }
            tracing::warn!(%error, "store away, trying again in {wait:?}");
            tokio::select! {
                () = sleep_until(Instant::now() + wait) => {}
                () = self.stop.cancelled(), if self.deadline.is_none() => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn committed(&self, append: &Append, outcome: &Appended) {
        let Ok(stored) = outcome else {
            return counts().records.add("refused", append.records.len() as u64);
        };
        let mut latest = None;
        for (record, stored) in append.records.iter().zip(stored) {
            counts().records.count(word(stored));
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
        if now >= self.overflow_due && self.has_overflowed() {
            self.mark_overflow().await;
            self.overflow_due = Instant::now() + OVERFLOW_EVERY;
        }
        if now >= self.sweep_due {
            self.shared.wakes.sweep();
            self.shared.rooms.sweep();
            self.sweep_due = now + SWEEP;
        }
    }

    fn has_overflowed(&self) -> bool {
        !self.shared.overflowed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Writes down which threads lack something that was said.
    async fn mark_overflow(&self) {
        let take = || std::mem::take(&mut *self.shared.overflowed.lock().unwrap_or_else(PoisonError::into_inner));
        let threads: Vec<ThreadId> = take().into_iter().collect();
        if threads.is_empty() {
            return;
        }
        if let Err(error) = self.shared.store.mark_incomplete(&threads, incomplete::PENDING_OVERFLOW).await {
            tracing::warn!(%error, "threads not marked as incomplete yet");
            self.shared.overflowed.lock().unwrap_or_else(PoisonError::into_inner).extend(threads);
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
            self.mark_overflow().await;
            self.write_partials().await;
            self.write_sessions().await;
        };
        if timeout_at(deadline, rest).await.is_err() {
            tracing::error!("journal stopped before everything was written");
        }
    }
}

/// For the count of them.
fn word(stored: &Stored) -> &'static str {
    match stored {
        Stored::Appended(_) => "appended",
        Stored::Duplicate(_) => "duplicate",
        Stored::Conflict => "conflict",
        Stored::Quarantined => "quarantined",
        Stored::AlreadySettled => "already_settled",
        Stored::ForeignId => "foreign_id",
        Stored::Rejected(_) => "rejected",
        Stored::Skipped => "skipped",
    }
}
