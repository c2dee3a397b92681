//! One stream: what was stored is read page by page as fast as the reader takes it, then whatever is stored wakes it to
//! read on (records.md 3.8). No content comes from memory: live is the same query as replay, run again.
//!
//! Nothing here has a task of its own. The server asks for the next bytes when the last ones are on their way, so a slow
//! reader holds up itself and costs one page.

use std::collections::BTreeSet;

use bytes::Bytes;
use rand::Rng;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

use super::frame::{Close, Frames};
use super::patience::Patience;
use super::preview::Shown;
use super::slots::Slot;
use super::source::{Checks, Source};
use super::stream::{Point, StreamSettings};
use crate::metrics::counts;
use crate::record::CursorToken;
use crate::store::FollowPage;

/// What a stream begins with.
pub(super) struct Beginning {
    pub(super) source: Source,
    pub(super) wakes: watch::Receiver<u64>,
    pub(super) previews: Option<Shown>,
    /// The position that was checked.
    pub(super) after: u64,
    /// The first page, read after the wakes were followed.
    pub(super) page: FollowPage,
    /// Why the history is not whole, in full.
    pub(super) incomplete: BTreeSet<String>,
    pub(super) patience: Patience,
    pub(super) slot: Slot,
}

/// A stream on its way.
pub(super) struct Follower {
    source: Source,
    wakes: watch::Receiver<u64>,
    previews: Option<Shown>,
    patience: Patience,
    _slot: Slot,
    out: Frames,
    stage: Stage,
    /// The life of the numbering; none before the first record.
    epoch: Option<String>,
    /// Everything up to here was read, and its mark.
    read: u64,
    mark: String,
    /// The last position that was sent.
    proven: u64,
    /// A page that was read and not written.
    page: Option<FollowPage>,
    /// There may be something to read.
    look: bool,
    /// Since when, where a wake said so and nothing is written for it yet.
    woken: Option<Instant>,
    incomplete: BTreeSet<String>,
    began: Instant,
    wrote: Instant,
    checkpoint: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Up to where everything was when the stream began.
    Replay(u64),
    Live,
    Ended,
}

impl Follower {
    pub(super) fn new(beginning: Beginning) -> Self {
        let Beginning { source, wakes, previews, after, page, incomplete, patience, slot } = beginning;
        let now = Instant::now();
        let mut out = Frames::default();
        out.retry(rand::rng().random_range(2_400..=3_600));
        let through = page.cursor.as_ref().map_or(0, |cursor| cursor.latest);
        Self {
            source,
            wakes,
            previews,
            patience,
            _slot: slot,
            out,
            stage: Stage::Replay(through),
            epoch: page.cursor.as_ref().map(|cursor| cursor.epoch.clone()),
            read: after,
            mark: page
                .cursor
                .as_ref()
                .filter(|_| after == through)
                .map_or_else(String::new, |cursor| cursor.mark.clone()),
            proven: after,
            page: Some(page),
            look: false,
            incomplete,
            woken: None,
            began: now,
            wrote: now,
            checkpoint: now,
        }
    }

    /// The next bytes, when there are some; none when the stream is over.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        if self.stage == Stage::Ended {
            return None;
        }
        if self.patience.is_over() {
            self.close(Close::SlowReader);
        }
        while self.out.is_empty() {
            match self.stage {
                Stage::Replay(through) => self.replay(through).await,
                Stage::Live => self.live().await,
                Stage::Ended => break,
            }
        }
        self.wrote = Instant::now();
        if let Some(woken) = self.woken.take() {
            counts().wake_time.observe((self.wrote - woken).as_secs_f64());
        }
        let bytes = self.out.take();
        (!bytes.is_empty()).then(|| {
            self.patience.hand_over();
            bytes
        })
    }

    fn settings(&self) -> &StreamSettings {
        self.source.settings()
    }

    /// A page of the replay, or its end. The bound was read when the stream began, so that a thread which never stops
    /// growing cannot keep its reader from being ready (I-38).
    async fn replay(&mut self, through: u64) {
        if self.read >= through && self.page.as_ref().is_none_or(|page| page.records.is_empty()) {
            self.page = None;
            self.probe(Point::Replayed).await;
            self.out.ready(&self.token(), self.incomplete.iter());
            self.proven = self.read;
            (self.stage, self.look) = (Stage::Live, true);
            return;
        }
        let page = match self.page.take() {
            Some(page) => page,
            None => match self.source.page(self.read, Some(through), Checks::Sometimes).await {
                Ok(page) => page,
                Err(over) => return self.close(over),
            },
        };
        self.write(page, through);
    }

    /// Waits for something to happen and writes it.
    async fn live(&mut self) {
        if std::mem::take(&mut self.look) {
            self.wakes.mark_unchanged();
            let page = match self.source.page(self.read, None, Checks::Always).await {
                Ok(page) => page,
                Err(over) => return self.close(over),
            };
            let latest = page.cursor.as_ref().map_or(0, |cursor| cursor.latest);
            self.write(page, latest);
            self.look |= self.stage == Stage::Live && self.read < latest;
            if self.out.is_empty() && !self.look {
                // It was no news.
                self.woken = None;
            }
            return;
        }
        self.probe(Point::Waiting).await;
        let wake = self.next_deadline();
        let stopping = self.source.stopping();
        let previews = self.previews.as_mut();
        let happened = async {
            match previews {
                Some(previews) => previews.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = stopping.cancelled() => self.close(Close::ServerShutdown),
            changed = self.wakes.changed() => match changed {
                Ok(()) => (self.look, self.woken) = (true, Some(Instant::now())),
                // The journal is gone: the server has stopped.
                Err(_) => self.close(Close::ServerShutdown),
            },
            happened = happened => {
                if let Some(previews) = &mut self.previews {
                    previews.take(happened, &mut self.out);
                }
            }
            () = sleep_until(wake) => self.tick(),
        }
    }

    fn next_deadline(&self) -> Instant {
        let settings = self.settings();
        let mut due = (self.began + settings.age).min(self.source.checked() + settings.check_every);
        due = due.min(self.wrote + settings.heartbeat).min(self.patience.next_look());
        if self.proven < self.read {
            due = due.min(self.checkpoint + settings.checkpoint_every);
        }
        due
    }

    fn tick(&mut self) {
        let now = Instant::now();
        let settings = self.settings();
        let (is_old, is_silent) = (now >= self.began + settings.age, now >= self.wrote + settings.heartbeat);
        let (is_due, is_unchecked) =
            (now >= self.checkpoint + settings.checkpoint_every, now >= self.source.checked() + settings.check_every);
        if self.patience.is_over() {
            return self.close(Close::SlowReader);
        }
        if is_old {
            return self.close(Close::Reauth);
        }
        // Rights are checked with whatever is read.
        self.look = is_unchecked;
        if self.proven < self.read && is_due {
            self.prove();
        }
        if is_silent && self.out.is_empty() {
            self.out.heartbeat();
        }
    }

    /// Writes a page that ends the reading up to `through` when it is the last one.
    fn write(&mut self, page: FollowPage, through: u64) {
        if !self.fits(&page) {
            return;
        }
        let watermark = page.cursor.as_ref().map_or(0, |cursor| cursor.latest);
        let is_last = page.records.last().is_none_or(|last| last.sequence >= Some(through));
        for record in page.records {
            let (Some(sequence), Some(mark)) = (record.sequence, record.mark.clone()) else { continue };
            (self.read, self.mark) = (sequence, mark);
            let shown = self.source.access().shown(record);
            // What has no public form moves the position all the same; a checkpoint tells.
            if let Some(event) = shown.event(&self.source.access().thread, watermark) {
                self.out.event(&self.token(), &event);
                self.proven = sequence;
                if let Some(previews) = &mut self.previews {
                    previews.passed(&event);
                }
            }
        }
        if is_last && self.read < through {
            // Not a hole: nothing below the cursor is missing. Whatever it is, reading again would not end.
            warn!(thread = %self.source.access().thread, read = self.read, through, "records below the cursor are not there");
            self.read = through;
            if let Some(cursor) = page.cursor.as_ref().filter(|cursor| cursor.latest == through) {
                self.mark.clone_from(&cursor.mark);
            }
        }
        let news: BTreeSet<String> = page.incomplete.difference(&self.incomplete).cloned().collect();
        if !news.is_empty() {
            self.incomplete.extend(news);
            if self.stage == Stage::Live {
                self.out.incomplete(self.incomplete.iter());
            }
        }
        let every = self.settings().checkpoint_every;
        if self.proven < self.read && self.stage != Stage::Ended && self.checkpoint.elapsed() >= every {
            self.prove();
        }
    }

    /// Whether a page belongs to what was read so far. A restored backup and a new numbering do not.
    fn fits(&mut self, page: &FollowPage) -> bool {
        let (epoch, latest) = match &page.cursor {
            Some(cursor) => (Some(cursor.epoch.as_str()), cursor.latest),
            None => (None, 0),
        };
        let reason = match (self.epoch.as_deref(), epoch) {
            (None, Some(begun)) => {
                self.epoch = Some(begun.to_owned());
                return true;
            }
            (known, now) if known != now => "cursor_mismatch",
            _ if latest < self.read => "cursor_ahead",
            _ => return true,
        };
        self.out.reset(reason, latest);
        self.stage = Stage::Ended;
        false
    }

    /// Says how far everything was sent.
    fn prove(&mut self) {
        self.out.checkpoint(&self.token());
        (self.proven, self.checkpoint) = (self.read, Instant::now());
    }

    fn token(&self) -> CursorToken {
        self.epoch.as_deref().map_or_else(CursorToken::none, |epoch| CursorToken::new(epoch, self.read, &self.mark))
    }

    /// Ends the stream, with the reason.
    fn close(&mut self, close: Close) {
        // Of what was read nothing is unwritten, whatever the stage. Before the first page there is nothing to prove.
        if close.is_for_now() && self.page.is_none() {
            self.prove();
        }
        let retry_after = match close {
            Close::ServerShutdown | Close::Unavailable => rand::rng().random_range(500..3_000),
            Close::SlowReader | Close::Reauth | Close::AuthorizationRevoked | Close::SessionDeleted => 0,
        };
        debug!(thread = %self.source.access().thread, reason = close.as_str(), read = self.read, "stream closed");
        self.out.close(close, retry_after);
        self.stage = Stage::Ended;
        self.previews = None;
    }

    async fn probe(&self, point: Point) {
        if let Some(probe) = &self.settings().probe {
            probe.reach(point).await;
        }
    }
}
