//! The task of a conversation: takes what comes in, lets the state decide, carries out what it left.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::call::Caller;
use super::errand::Duty;
use super::feed::{Audience, Feed, Item, Released, Showing, Then, Verdict};
use super::job::Job;
use super::preview::Tap;
use super::state::{Conversation, Listening, Phase, Stage};
use super::{Conversations, Handle, Input, Show, overtaken};
use crate::chat::Envelope;
use crate::hook::WindowMessage;
use crate::id::{StepId, ThreadId};
use crate::journal::Receipt;
use crate::protocol::{ServerEvent, Toast, ToastKind};
use crate::record::EndReason;
use crate::store::{Append, Partial, Refused, Stored};

/// Words of hooks are not taken while the feed holds more than this: hooks wait, memory stays bounded.
const LONGEST_FEED: usize = 2048;

/// How often a streaming text is written down (promise 17).
const PARTIAL_EVERY: Duration = Duration::from_secs(1);

/// How long a run has to unwind after the grace period of a shutdown.
const LAST_WORDS: Duration = Duration::from_secs(2);

pub(super) struct Task {
    pub(super) state: Conversation,
    pub(super) feed: Feed,
    pub(super) inputs: mpsc::Receiver<Box<Input>>,
    pub(super) words: mpsc::Receiver<Box<Envelope>>,
    pub(super) caller: Caller,
    pub(super) handle: Arc<Handle>,
    pub(super) home: Arc<Conversations>,
    pub(super) keys: Vec<ThreadId>,
    pub(super) partials_due: Option<Instant>,
    pub(super) closing: Option<Instant>,
    pub(super) tap: Tap,
}

impl Task {
    /// Runs until nobody needs the conversation any more, or the server stops and everything is settled.
    pub(super) async fn run(mut self) {
        loop {
            let wake = self.next_wake();
            let stop = self.home.shared.stop.clone();
            tokio::select! {
                biased;
                released = self.feed.next() => self.release(released),
                input = self.inputs.recv() => match input {
                    Some(input) => self.take(*input),
                    None => return,
                },
                word = self.words.recv(), if self.feed.len() < LONGEST_FEED => {
                    if let Some(word) = word {
                        self.state.followed = self.tap.is_on(&self.home.taps, &self.state.thread);
                        self.state.hear(*word);
                    }
                }
                () = stop.cancelled(), if self.closing.is_none() => {
                    self.closing = Some(Instant::now() + self.home.shared.settings.grace);
                    self.state.stop_reason = EndReason::SessionCleared;
                }
                () = sleep_until(wake) => self.tick(Instant::now()),
            }
            self.handle.stopping.store(self.state.is_stopping(), Ordering::Release);
            self.carry_out().await;
            if self.may_end() && self.end() {
                return;
            }
        }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Join(member) => {
                self.state.listening.insert(member.id, Listening::Now);
                self.state.members.insert(member.id, member);
            }
            Input::Greet(tab) => self.state.greet(tab),
            Input::Prepare { member, ready } => {
                self.state.prepare(member);
                // Who left meanwhile needs it no more.
                let _ = ready.send(());
            }
            Input::Restore { tab, thread, files, done } => self.state.restore(tab, thread, files, done),
            Input::Renew { tab, answer } => self.state.renew(tab, answer),
            Input::Renewed { tab, read } => self.state.renewed(tab, read),
            Input::Message { tab, message, held } => self.state.message(tab, message, held),
            Input::Edit { tab, edited, held } => self.state.edit(tab, edited, held),
            Input::SettingsChanged(tab, values) => self.state.settings_changed(tab, values),
            Input::SettingsEdited(tab, values) => self.state.settings_edited(tab, values),
            Input::Window(tab, value) => self.state.errand(tab, Duty::Window(WindowMessage(value))),
            Input::Act { tab, action, answer } => self.state.act(tab, action, answer),
            Input::ChangeElement(change, done) => self.state.change_element(change, done),
            Input::RemoveElement(id, done) => self.state.drop_element(id, done),
            Input::CallEnded { tab, call, end } => self.state.call_ended(tab, call, end),
            Input::Star(favorite, done) => self.state.star(favorite, done),
            Input::Complain { tab, text } => self.state.complain(tab, text),
            Input::Stop(tab) => self.state.stop(tab),
            Input::Cancel(cancel, done) => {
                // Nobody waits any more: it was told to stop all the same.
                let _ = done.send(self.state.cancel(cancel));
            }
            Input::Answer { tab, ask, value, files, echo } => self.state.answer(tab, &ask, value, files, echo),
            Input::Call(tab, hook) => self.state.errand(tab, Duty::Session(hook)),
            Input::Leave(tab) => {
                self.state.abandon(tab);
                self.state.drop_calls_of(tab);
                self.state.members.shift_remove(&tab);
                self.state.marked.remove(&tab);
                self.state.renewals.remove(&tab);
                self.state.notices.remove(&tab);
                self.state.listening.remove(&tab);
            }
            Input::Deleted => self.state.deleted(),
            Input::Overtaken(run) => self.state.overtaken(&run),
            Input::Settled(steps) => self.state.settled(steps),
            Input::LookedUp(doubtful, thread) => self.state.looked_up(&doubtful, &thread),
            Input::SoFar(answer) => drop(answer.send(self.state.so_far())),
            Input::Look => {}
        }
    }

    fn release(&mut self, released: Released) {
        match released {
            Released::Show(Showing { shows, joins, piece, restored }) => {
                if let Some(piece) = piece {
                    self.tap.tell(piece);
                }
                for (audience, event) in shows {
                    self.show(audience, event);
                }
                if let Some(tab) = joins
                    && let Some(listening) = self.state.listening.get_mut(&tab)
                {
                    *listening = Listening::Now;
                }
                if let Some((done, restored)) = restored {
                    // A session that has ended meanwhile needs no answer.
                    let _ = done.send(restored);
                }
            }
            Released::Stored(then, place, verdict) => {
                self.state.answered(place, &verdict);
                self.stored(then, verdict);
            }
        }
    }

    fn show(&self, audience: Audience, event: ServerEvent) {
        if let Audience::Only(tab) = audience {
            if let Some(member) = self.state.members.get(&tab) {
                member.page.show(event);
            }
            return;
        }
        if let (Audience::Again(tab), ServerEvent::ResumeThread(thread)) = (audience, &event) {
            if let Some(member) = self.state.members.get(&tab) {
                member.page.refresh(thread.clone());
            }
            return;
        }
        for (tab, member) in &self.state.members {
            if self.state.listening.get(tab) != Some(&Listening::Now) {
                continue;
            }
            match audience {
                Audience::Others(other) if other == *tab => {}
                Audience::WrittenAt(writer) if writer == *tab => member.page.wrote(event.clone()),
                Audience::All
                | Audience::Others(_)
                | Audience::WrittenAt(_)
                | Audience::Only(_)
                | Audience::Again(_) => {
                    member.page.show(event.clone());
                }
            }
        }
    }

    /// The store has spoken of one append.
    fn stored(&mut self, then: Then, verdict: Verdict) {
        let problem = match verdict {
            Ok(Ok(outcomes)) => match problem(&outcomes) {
                None if outcomes.contains(&Stored::Skipped) => {
                    if let Then::Start(run) | Then::Open(run, _) = then {
                        self.state.known_before(&run);
                    }
                    return;
                }
                problem => problem,
            },
            Ok(Err(refused @ (Refused::NotYours | Refused::Deleted))) => {
                if let Then::Open(run, append) = then {
                    return self.move_to_fresh_thread(run, *append);
                }
                Some(match refused {
                    Refused::NotYours | Refused::NoThread => "This conversation is not yours.",
                    Refused::Deleted => "This conversation was deleted.",
                })
            }
            Ok(Err(Refused::NoThread)) => Some("This conversation does not exist any more."),
            Err(failure) => {
                error!(thread = %self.state.thread, %failure, "what was said could not be stored");
                Some("This could not be saved. The server cannot reach its store.")
            }
        };
        match (then, problem) {
            (Then::Nothing, None) => {}
            (Then::Nothing, Some(text)) => self.warn_all(text),
            (Then::Start(run) | Then::Open(run, _), None) => self.state.start(&run),
            (Then::Start(run) | Then::Open(run, _), Some(text)) => self.state.not_started(&run, text),
            (Then::Tell(done), problem) => drop(done.send(problem.is_none())),
            (Then::Answer(reply, value), None) => drop(reply.send(value)),
            (Then::Answer(reply, value), Some(text)) => {
                self.warn_all(text);
                drop(reply.send(value));
            }
        }
    }

    fn warn_all(&mut self, text: &str) {
        let toast = Toast { message: text.to_owned(), kind: ToastKind::Error };
        self.state.items.push(Item::show(vec![(Audience::All, ServerEvent::Toast(toast))]));
    }

    /// Between CONNECT and the first interaction somebody else made a thread with this id, or one with this id was
    /// deleted long ago: go on under a fresh one.
    fn move_to_fresh_thread(&mut self, run: StepId, mut append: crate::store::Append) {
        let fresh = ThreadId::random();
        info!(from = %self.state.thread, to = %fresh, "thread id is taken, going on under a fresh one");
        append.thread = fresh.clone();
        self.home.also_known_as(fresh.clone(), &self.handle);
        self.keys.push(fresh.clone());
        self.state.thread = fresh.clone();
        if let Some(found) = self.state.runs.get_mut(&run) {
            found.lease = self.state.leases.hold(&fresh, &run);
        }
        self.tap.look_again();
        for member in self.state.members.values_mut() {
            let mut about = crate::chat::About::clone(&member.about);
            about.thread = fresh.clone();
            member.about = Arc::new(about);
        }
        let interaction = append.records.iter().find_map(|record| match &record.fact {
            crate::record::Fact::ThreadStarted(start) => start.name.clone(),
            _ => None,
        });
        let marker = ServerEvent::FirstInteraction { interaction: interaction.unwrap_or_default(), thread_id: fresh };
        let mut item = Item::show(vec![(Audience::All, marker)]);
        item.append = Some(append);
        item.then = Then::Start(run);
        self.state.items.push(item);
        self.state.jobs.push(Job::ThreadBegan);
    }

    /// Hands records to the journal and events to the feed, in order; calls hooks.
    async fn carry_out(&mut self) {
        while !self.state.items.is_empty() || !self.state.jobs.is_empty() {
            for mut item in std::mem::take(&mut self.state.items) {
                let mut wait = self.home.shared.settings.show == Show::Stored;
                let receipt = match item.append.take() {
                    Some(append) => Some(self.submit(append, &item.then, wait).await),
                    None => None,
                };
                if let Then::Start(run) | Then::Open(run, _) = &item.then
                    && !wait
                {
                    self.state.start(run);
                }
                wait &= receipt.is_some();
                self.feed.push(item, receipt, wait);
            }
            for job in std::mem::take(&mut self.state.jobs) {
                match job {
                    Job::ThreadBegan => {
                        self.state.members.values().for_each(|member| member.page.began(&self.state.thread));
                    }
                    Job::LookUp(doubtful) => {
                        overtaken::look_up(&self.home.shared, &self.handle, self.state.thread.clone(), doubtful);
                    }
                    job => self.caller.call(&mut self.state, job),
                }
            }
            self.plan_partials();
        }
        self.plan_partials();
    }

    /// Hands records to the journal. Whoever waits for them is told when the store stays away (records.md 3.5): then a
    /// message must not be stored later, since nobody answers it, and an answer must, since its hook has it.
    async fn submit(&self, append: Append, then: &Then, wait: bool) -> Receipt {
        let journal = &self.home.shared.journal;
        match then {
            Then::Start(_) | Then::Open(..) | Then::Tell(_) if wait => journal.submit_or_withdraw(append).await,
            Then::Tell(_) | Then::Answer(..) => journal.submit_patiently(append).await,
            Then::Nothing | Then::Start(_) | Then::Open(..) => journal.submit(append).await,
        }
    }

    fn plan_partials(&mut self) {
        let saved = matches!(self.state.stage, Stage::Saved);
        let due = saved && self.state.growing.values().any(|growing| growing.changed && growing.streams);
        if due && self.partials_due.is_none() {
            self.partials_due = Some(Instant::now() + PARTIAL_EVERY);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let stopping = self.state.runs.values().filter_map(|run| match run.phase {
            Phase::Stopping(deadline) => Some(deadline),
            Phase::Waiting | Phase::Working => None,
        });
        stopping
            .chain(self.state.next_deadline())
            .chain(self.state.next_call_deadline())
            .chain(self.partials_due)
            .chain(self.closing)
            .min()
    }

    fn tick(&mut self, now: Instant) {
        self.state.time_out(now);
        self.state.time_out_calls(now);
        self.state.settle_overdue(now);
        if self.partials_due.is_some_and(|due| due <= now) {
            self.partials_due = None;
            self.write_partials();
        }
        if self.closing.is_some_and(|deadline| deadline <= now) {
            self.closing = Some(now + LAST_WORDS);
            if !self.state.runs.is_empty() {
                warn!(thread = %self.state.thread, runs = self.state.runs.len(), "runs are stopped by the shutdown");
            }
            for run in self.state.runs.values_mut() {
                run.cancel.cancel();
                run.phase = Phase::Stopping(now + LAST_WORDS);
            }
            self.state.errands.values().for_each(|errand| errand.cancel.cancel());
        }
    }

    fn write_partials(&mut self) {
        let thread = &self.state.thread;
        for growing in self.state.growing.values_mut().filter(|growing| growing.changed && growing.streams) {
            growing.changed = false;
            self.home.shared.journal.partial(Partial {
                thread: thread.clone(),
                execution: growing.speaker.run.clone(),
                step: growing.step.clone(),
            });
        }
    }

    fn may_end(&self) -> bool {
        let quiet = self.feed.is_empty() && self.state.runs.is_empty() && self.words.is_empty();
        match self.closing {
            Some(_) => quiet,
            None => quiet && self.state.is_idle(),
        }
    }

    /// Takes the conversation off the list, unless somebody has come for it meanwhile.
    fn end(&mut self) -> bool {
        self.closing.is_some() || self.keys.iter().all(|key| self.home.forget(key, &self.handle))
    }
}

/// What a person must know of the outcomes of an append.
fn problem(outcomes: &[Stored]) -> Option<&'static str> {
    outcomes.iter().find_map(|outcome| match outcome {
        Stored::Appended(_) | Stored::Duplicate(_) | Stored::Quarantined | Stored::AlreadySettled | Stored::Skipped => {
            None
        }
        Stored::ForeignId => Some("This message has an id that is in use elsewhere."),
        Stored::Conflict | Stored::Rejected(_) => Some("This could not be saved."),
    })
}

async fn sleep_until(wake: Option<Instant>) {
    match wake {
        Some(wake) => tokio::time::sleep_until(wake).await,
        None => std::future::pending().await,
    }
}
