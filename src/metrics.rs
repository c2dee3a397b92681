//! What is counted where it happens, for whoever keeps the server running: numbers, never content, never an id.
//!
//! Counts are of the process; two servers in one process share them. Counting is an addition to an atomic.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// What [`text`] is written in.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

static COUNTED: LazyLock<(Counts, Registry)> = LazyLock::new(|| {
    let mut registry = Registry::with_prefix("rejoinder");
    let counts = Counts::registered(&mut registry);
    (counts, registry)
});

/// A counter by one word out of a few.
#[derive(Clone, Debug, Default)]
pub struct ByWord(Family<Word, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Word {
    what: &'static str,
}

impl ByWord {
    /// Counts one.
    pub fn count(&self, what: &'static str) {
        self.add(what, 1);
    }

    /// Counts so many.
    pub fn add(&self, what: &'static str, count: u64) {
        self.0.get_or_create(&Word { what }).inc_by(count);
    }
}

/// One of those that are open; no longer when it is dropped.
#[derive(Debug)]
pub struct Open(Gauge);

impl Open {
    /// One more.
    #[must_use]
    pub fn one(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Everything that is counted.
#[derive(Debug)]
pub struct Counts {
    /// Pages that came back, by what they had missed.
    pub reconnects: ByWord,
    /// Events that were said again.
    pub events_resent: Counter,
    /// Events that a page which came back was told again.
    pub gap_events: Histogram,
    /// How long a session was without a line.
    pub gap_time: Histogram,
    /// From a marker to its proof.
    pub proof_time: Histogram,
    /// A page's queue was full.
    pub pump_waits: Counter,
    /// Tokens that became part of the one before.
    pub tokens_merged: Counter,
    /// Sessions whose page was so far behind that its thread is sent again.
    pub windows_forgotten: Counter,
    /// Runs, by how they ended.
    pub runs_ended: ByWord,
    /// Questions that wait.
    pub asks_open: Gauge,
    /// Questions that were asked again.
    pub asks_again: Counter,
    /// Records, by what became of them.
    pub records: ByWord,
    /// One group commit.
    pub commit_time: Histogram,
    /// From the beginning of a commit until it holds its locks and has read what they guard.
    pub lock_time: Histogram,
    /// Commits that the store did not take: it is away.
    pub store_away: Counter,
    /// Followers over HTTP.
    pub readers: Gauge,
    /// Records that were read for followers.
    pub records_read: Counter,
    /// From the wake of a follower to the bytes that it is given for it.
    pub wake_time: Histogram,
    /// Threads in which a poll found what no wake had announced.
    pub polls_found: Counter,
    /// Followers that were told to take a new snapshot, by reason.
    pub resets: ByWord,
}

impl Counts {
    fn registered(registry: &mut Registry) -> Self {
        let times = || Histogram::new(exponential_buckets(0.001, 2.0, 17));
        let counts = Self {
            reconnects: ByWord::default(),
            events_resent: Counter::default(),
            gap_events: Histogram::new([0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]),
            gap_time: Histogram::new([0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3600.0]),
            proof_time: times(),
            pump_waits: Counter::default(),
            tokens_merged: Counter::default(),
            windows_forgotten: Counter::default(),
            runs_ended: ByWord::default(),
            asks_open: Gauge::default(),
            asks_again: Counter::default(),
            records: ByWord::default(),
            commit_time: times(),
            lock_time: times(),
            store_away: Counter::default(),
            readers: Gauge::default(),
            records_read: Counter::default(),
            wake_time: times(),
            polls_found: Counter::default(),
            resets: ByWord::default(),
        };
        registry.register("reconnects", "Pages that came back, by what they had missed", counts.reconnects.0.clone());
        registry.register("events_resent", "Events that were said again", counts.events_resent.clone());
        registry.register("gap_events", "Events said again to a page that came back", counts.gap_events.clone());
        let time = "How long a session was without a line";
        registry.register_with_unit("gap", time, Unit::Seconds, counts.gap_time.clone());
        let time = "From a marker on a line to the proof that it arrived";
        registry.register_with_unit("proof", time, Unit::Seconds, counts.proof_time.clone());
        registry.register("pump_waits", "How often a page's queue was full", counts.pump_waits.clone());
        registry.register("tokens_merged", "Tokens sent as part of the one before", counts.tokens_merged.clone());
        let forgotten = "Windows of unproven events over their bounds: the thread is sent again";
        registry.register("windows_forgotten", forgotten, counts.windows_forgotten.clone());
        registry.register("runs_ended", "Runs by how they ended", counts.runs_ended.0.clone());
        registry.register("asks_open", "Questions that wait for an answer", counts.asks_open.clone());
        registry.register("asks_again", "Questions asked again after a reconnect", counts.asks_again.clone());
        registry.register("records", "Records by what became of them", counts.records.0.clone());
        registry.register_with_unit("commit", "One group commit", Unit::Seconds, counts.commit_time.clone());
        let time = "From the beginning of a commit until it holds its locks";
        registry.register_with_unit("commit_lock", time, Unit::Seconds, counts.lock_time.clone());
        registry.register("store_away", "Commits that the store did not take", counts.store_away.clone());
        registry.register("readers", "Followers over HTTP", counts.readers.clone());
        registry.register("records_read", "Records read for followers", counts.records_read.clone());
        let time = "From the wake of a follower to the bytes for it";
        registry.register_with_unit("follow", time, Unit::Seconds, counts.wake_time.clone());
        let found = "Threads in which a poll found what no wake had announced";
        registry.register("polls_found", found, counts.polls_found.clone());
        registry.register("resets", "Followers told to take a new snapshot, by reason", counts.resets.0.clone());
        counts
    }
}

/// What the process has counted so far.
#[must_use]
pub fn counts() -> &'static Counts {
    &COUNTED.0
}

/// How one server stands at this moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// Live tabs.
    pub sessions: usize,
    /// Those that have a line.
    pub sockets: usize,
    /// What is kept for pages that may have missed it.
    pub unproven_bytes: usize,
    /// Records that wait for the store.
    pub pending: usize,
    /// What these weigh.
    pub pending_bytes: usize,
    /// For how long the oldest of them has waited.
    pub pending_age: Duration,
    /// Threads that are followed.
    pub followed: usize,
}

impl Standing {
    fn registered(self) -> Registry {
        let mut registry = Registry::with_prefix("rejoinder");
        let mut set = |name: &str, help: &str, value: usize| {
            let gauge = Gauge::<i64>::default();
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
            registry.register(name, help, gauge);
        };
        set("sessions", "Live tabs", self.sessions);
        set("sockets", "Live tabs with a line", self.sockets);
        set("unproven_bytes", "What is kept for pages that may have missed it", self.unproven_bytes);
        set("pending_records", "Records that wait for the store", self.pending);
        set("pending_bytes", "What the records that wait weigh", self.pending_bytes);
        set("followed_threads", "Threads that are followed over HTTP", self.followed);
        let age = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
        age.set(self.pending_age.as_secs_f64());
        registry.register("pending_oldest_seconds", "For how long the oldest record has waited for the store", age);
        registry
    }
}

/// All of it, as Prometheus reads it ([`CONTENT_TYPE`]).
#[must_use]
pub fn text(standing: Standing) -> String {
    let mut text = String::new();
    let written = encode_registry(&mut text, &COUNTED.1)
        .and_then(|()| encode_registry(&mut text, &standing.registered()))
        .and_then(|()| encode_eof(&mut text));
    if written.is_err() {
        // Nothing can go wrong with writing into a text; half of it is better than none.
        let _ = writeln!(text, "# EOF");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red when a name changes that somebody's alarms rest on.
    #[test]
    fn the_names() {
        counts().reconnects.count("nothing");
        counts().records.count("appended");
        counts().runs_ended.count("completed");
        counts().resets.count("cursor_ahead");
        let text = text(Standing { sessions: 2, pending_age: Duration::from_millis(1500), ..Standing::default() });
        let names: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
        insta::assert_snapshot!(names.join("\n"));
        assert!(text.contains("rejoinder_sessions 2\n"), "{text}");
        assert!(text.contains("rejoinder_pending_oldest_seconds 1.5\n"), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }
}
