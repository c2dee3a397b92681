//! Many kills under load: whatever a page was shown of the store, and whatever was answered, is in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::id::{StepId, ThreadId};
use rejoinder::protocol::{ServerEvent, StepKind};
use rejoinder::record::Fact;
use rejoinder::store::OpenOptions;

use super::{LAST_SECOND, Place, facts, tokens_of};
use crate::support::database::{Database, on_both};
use crate::support::page::{Page, Seen, outline, outline_of, sign_in, turns};

on_both!(what_was_shown_survives_every_kill);

/// How many tabs write at once: some of them on one thread.
const TABS: usize = 5;

/// The first ones share a thread.
const SHARING: usize = 2;

/// A tab under load, and what it must find again.
struct Tab {
    page: Page,
    random: StdRng,
    /// What it wrote, oldest first.
    written: Vec<(StepId, String)>,
}

/// Red when the journal answers before it has committed; when `settle_left` is not called. `REJOINDER_LONG` makes it
/// twenty kills.
async fn what_was_shown_survives_every_kill(database: &Database) {
    let place = Place::on(database);
    let seed = std::env::var("REJOINDER_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    let kills = if std::env::var("REJOINDER_LONG").is_ok() { 20 } else { 8 };
    eprintln!("REJOINDER_SEED={seed}, {kills} kills");
    let mut random = StdRng::seed_from_u64(seed);
    let mut server = place.start().await;
    let anna = sign_in(server.addr(), "anna").await;
    let mut tabs = Vec::new();
    for number in 0..TABS {
        let shared = tabs.first().filter(|_| number < SHARING).map(|tab: &Tab| tab.page.thread());
        let mut page = anna.page_on(&shared.unwrap_or_default());
        page.come(server.addr()).await;
        // So that its thread is stored: the first kill may come at once.
        let first = page.send(&format!("first of {number}"));
        page.until_answered(&first).await;
        let written = vec![(first, format!("first of {number}"))];
        tabs.push(Tab { page, random: StdRng::seed_from_u64(random.random()), written });
    }
    let mut lost = Lost::default();
    for round in 0..kills {
        let killer = random.random_range(100..1_500);
        let working = tabs.into_iter().map(|mut tab| {
            tokio::spawn(async move {
                tab.write_until_cut(round).await;
                tab
            })
        });
        let working: Vec<_> = working.collect();
        tokio::time::sleep(Duration::from_millis(killer)).await;
        let killed = Instant::now();
        let log = server.kill().await;
        // Then what was shown last may be missing, as promised.
        let was_slow = log.contains("shown before it is stored");
        lost.slow += usize::from(was_slow);
        tabs = Vec::new();
        for tab in working {
            tabs.push(tab.await.unwrap());
        }
        let shown: Vec<Shown> = tabs.iter().map(|tab| tab.page.look(|seen| Shown::of(seen, killed))).collect();

        server = place.start().await;
        for tab in &mut tabs {
            tab.page.come(server.addr()).await;
        }
        for (tab, shown) in tabs.iter_mut().zip(shown) {
            tab.come_back(&shown, was_slow, &mut lost).await;
        }
        for (number, tab) in tabs.iter().enumerate() {
            let mut stored = turns(&outline_of(anna.stored(server.addr(), &tab.page).await));
            let mut shown = turns(&tab.page.look(|seen| outline(&seen.screen)));
            if number < SHARING {
                // What one writes stands on its page at once, above what the other wrote before and is on its way.
                stored.sort();
                shown.sort();
            }
            assert_eq!(shown, stored, "{}", tab.page.look(Seen::tell));
        }
    }
    server.kill().await;
    let messages: usize = tabs.iter().map(|tab| tab.written.len()).sum();
    eprintln!("{kills} kills, {messages} messages written, {lost:?}");
    check_records(database, &tabs).await;
}

/// What the kills cost.
#[derive(Debug, Default)]
struct Lost {
    /// Streams that were cut, and tokens that a page had seen and did not find again.
    streams: usize,
    tokens: usize,
    /// The age of the oldest such token when the server was killed.
    oldest: Duration,
    /// Messages that never reached the server.
    unheard: usize,
    /// Kills of a server that had shown something before it was stored, since the store took a quarter of a second.
    slow: usize,
}

/// What a page had been shown when the server was killed.
#[derive(Default)]
struct Shown {
    /// Messages and steps that are complete, so that their record was there before.
    complete: BTreeMap<StepId, String>,
    /// What was streaming: its tokens, with their age.
    streaming: BTreeMap<StepId, Vec<Duration>>,
    /// Messages of people that were heard: their run was shown.
    heard: BTreeSet<StepId>,
    /// What came one by one over the last line, rather than in a thread.
    lately: BTreeSet<StepId>,
}

impl Shown {
    fn of(seen: &Seen, killed: Instant) -> Self {
        let said = |event: &ServerEvent| match event {
            ServerEvent::NewMessage(step) | ServerEvent::UpdateMessage(step) => {
                vec![Some(step.id.clone()), step.parent_id.clone()]
            }
            _ => Vec::new(),
        };
        let mut shown = Self { lately: seen.now().flat_map(said).flatten().collect(), ..Self::default() };
        for step in seen.screen.steps() {
            match step.kind {
                StepKind::UserMessage if seen.run(&step.id).is_some() => drop(shown.heard.insert(step.id.clone())),
                StepKind::UserMessage | StepKind::Run => {}
                _ if step.streaming => {
                    let tokens = seen.tokens(&step.id);
                    let ages = tokens.into_iter().map(|(at, _)| killed.saturating_duration_since(at)).collect();
                    shown.streaming.insert(step.id.clone(), ages);
                }
                StepKind::Tool if step.end.is_none() => {}
                _ => drop(shown.complete.insert(step.id.clone(), step.output.clone())),
            }
        }
        shown
    }
}

impl Tab {
    /// Writes one message after the other until the line breaks; sometimes without waiting for the answer.
    async fn write_until_cut(&mut self, round: usize) {
        for number in 0.. {
            let text = match self.random.random_range(0..6) {
                0 => format!("/many {}", self.random.random_range(1..6)),
                1 | 2 => format!("/stream {} {}", self.random.random_range(1..120), self.random.random_range(1..20)),
                3 => format!("/tool {round}.{number}"),
                _ => format!("{round}.{number} of {}", self.page.session),
            };
            let id = self.page.send(&text);
            self.written.push((id.clone(), text));
            if self.random.random_bool(0.8) {
                self.page.until("an answer or the end", |seen| seen.is_answered(&id) || !seen.is_open).await;
            }
            if self.page.look(|seen| !seen.is_open) {
                // What was kept by the library goes out at the next connection, as with the stock client.
                return;
            }
        }
    }

    /// Finds everything again that it was shown, once; then sends again what it does not know to be heard, and a message
    /// that was heard.
    async fn come_back(&mut self, shown: &Shown, was_slow: bool, lost: &mut Lost) {
        self.page.until("its thread", |seen| seen.count("resume_thread") > 0).await;
        let unheard: Vec<(StepId, String)> = self.page.look(|seen| {
            // Where the store was slow, what this server showed may be missing; what the one before it showed may not.
            let surely = |id: &StepId| !was_slow || !shown.lately.contains(id);
            for (id, text) in shown.complete.iter().filter(|(id, _)| surely(id)) {
                let step =
                    seen.step(id).unwrap_or_else(|| panic!("{id} was shown and is gone: {text}\n{}", seen.tell()));
                assert_eq!(step.output, *text, "{}", seen.tell());
            }
            for id in shown.heard.iter().filter(|id| surely(id)) {
                assert!(seen.step(id).is_some(), "{id} was heard and is gone\n{}", seen.tell());
            }
            for (id, ages) in &shown.streaming {
                let step = seen.step(id);
                let kept = step.map_or(0, |step| tokens_of(&step.output));
                assert!(step.is_none_or(|step| !step.streaming), "{}", seen.tell());
                let oldest = ages.get(kept).copied().unwrap_or_default();
                lost.streams += 1;
                lost.tokens += ages.len().saturating_sub(kept);
                lost.oldest = lost.oldest.max(oldest);
                assert!(oldest <= LAST_SECOND, "a token of {oldest:?} before the kill is lost\n{}", seen.tell());
            }
            self.written.iter().filter(|(id, _)| seen.step(id).is_none()).cloned().collect()
        });
        lost.unheard += unheard.len();
        for (id, text) in &unheard {
            self.page.send_as(id, text);
        }
        let heard = self.random.random_range(0..self.written.len());
        let (id, text) = self.written[heard].clone();
        if !unheard.iter().any(|(unheard, _)| *unheard == id) {
            self.page.send_as(&id, &text);
        }
        // When this is answered, whatever went before it was heard as well.
        let last = self.page.send("and now");
        self.written.push((last.clone(), "and now".to_owned()));
        self.page.until_answered(&last).await;
        for (id, _) in &unheard {
            self.page.until_answered(id).await;
        }
    }
}

/// The records themselves: numbered without a hole, one start and one end a run, one run a message, no message twice.
async fn check_records(database: &Database, tabs: &[Tab]) {
    let store = database.open_with(OpenOptions::default()).await;
    let threads: BTreeSet<String> = tabs.iter().map(|tab| tab.page.thread()).collect();
    assert_eq!(threads.len(), TABS - SHARING + 1);
    for thread in threads {
        let facts = facts(&*store, &ThreadId::from(thread.as_str())).await;
        let mut messages = BTreeSet::new();
        let mut triggers = BTreeSet::new();
        for fact in &facts {
            match fact {
                Fact::Message { step, .. } => assert!(messages.insert(step.id.clone()), "{} is stored twice", step.id),
                Fact::RunStarted { trigger: Some(trigger), .. } => {
                    assert!(triggers.insert(trigger.clone()), "{trigger} was answered twice");
                }
                _ => {}
            }
        }
        for tab in tabs.iter().filter(|tab| tab.page.thread() == thread) {
            for (id, text) in &tab.written {
                assert!(messages.contains(id) && triggers.contains(id), "{text} is not stored");
            }
        }
    }
    // A run that was going on at the last kill is settled at the next start, which there is none of here.
    let open = database.count("rejoinder_executions where state = 'running'").await;
    assert!(open <= TABS as i64, "{open} runs are open");
    store.close().await;
}
