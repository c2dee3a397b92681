//! Runs that are told to stop: by a tab's button, or by a request (records.md 3.7). One function for both.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::errand::Duty;
use super::feed::{Audience, Then};
use super::job::SessionHook;
use super::run::{STOP_GRACE, STOPPED};
use super::state::{Conversation, Phase};
use super::tab::TabId;
use super::{Conversations, Input};
use crate::id::{CommandId, ExecutionId, StepId, ThreadId};
use crate::protocol::ServerEvent;
use crate::record::{Fact, Source};

/// A request to stop what runs on a thread.
#[derive(Clone, Debug)]
pub struct Cancel {
    /// The run that is expected; without one, everything that runs.
    pub expected: Option<ExecutionId>,
    /// Its name, which the end of what it stops carries.
    pub command: CommandId,
}

/// What became of a wish to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Runs were told to stop, by this command or by an earlier one that they stop for. That they have stopped is told by
    /// the event, and by nothing else.
    Stopping(CommandId),
    /// Nothing runs.
    AlreadyIdle,
    /// Something runs, and not what was expected: the run that began last.
    Mismatch(ExecutionId),
}

/// What a conversation answers to a wish to stop.
#[derive(Clone, Debug)]
pub struct Told {
    /// What became of it here.
    pub cancelled: Cancelled,
    /// All that ran here when it came.
    pub runs: Vec<ExecutionId>,
}

impl Told {
    /// There is no such conversation.
    fn idle() -> Self {
        Self { cancelled: Cancelled::AlreadyIdle, runs: Vec::new() }
    }
}

impl Conversation {
    /// Somebody pressed stop: every run ends at its next await, every queued turn with it, and what buttons and settings
    /// have begun.
    pub(super) fn stop(&mut self, tab: TabId) {
        if self.members.contains_key(&tab) {
            self.halt(tab, None);
        }
    }

    /// A request to stop what runs, or only one run.
    pub(super) fn cancel(&mut self, Cancel { expected, command }: Cancel) -> Told {
        let runs: Vec<ExecutionId> = self.runs.keys().cloned().collect();
        let Some(newest) = runs.last().cloned() else { return Told::idle() };
        let wanted = expected.as_ref().unwrap_or(&newest);
        if !self.runs.contains_key(wanted) {
            return Told { cancelled: Cancelled::Mismatch(newest), runs };
        }
        let is_wanted = |id: &StepId| expected.as_ref().is_none_or(|expected| expected == id);
        let mut told = self.runs.iter().filter(|(id, run)| is_wanted(id) && !matches!(run.phase, Phase::Stopping(_)));
        // Whoever asks again is told the same, and the chat does not say it twice.
        if let Some(tab) = told.next_back().map(|(_, run)| run.tab) {
            self.halt(tab, expected.as_ref());
        }
        for (_, run) in self.runs.iter_mut().filter(|(id, _)| is_wanted(id)) {
            // One that a button stopped stops for the first who asks over HTTP as well.
            run.command.get_or_insert_with(|| command.clone());
        }
        let effective = self.runs.get(wanted).and_then(|run| run.command.clone()).unwrap_or(command);
        Told { cancelled: Cancelled::Stopping(effective), runs }
    }

    /// Tells runs to stop, for a tab; only one of them when that is named.
    fn halt(&mut self, tab: TabId, only: Option<&ExecutionId>) {
        // The tab may have left; its run knows what is needed of it.
        let by_run = || self.runs.values().next_back().map(|run| run.about.clone());
        let member = self.members.get(&tab).map(|member| member.about.clone());
        let Some(about) = member.or_else(by_run) else { return };
        let notice = self.notice(about.author(), STOPPED, false);
        self.context.put(&notice);
        let fact = Fact::Message { step: notice.clone(), interrupted: false };
        let record = self.record(None, Source::App, fact);
        self.commit(vec![record], vec![(Audience::All, ServerEvent::NewMessage(Arc::new(notice)))], Then::Nothing);
        let deadline = Instant::now() + STOP_GRACE;
        for (id, run) in &mut self.runs {
            if only.is_none_or(|only| only == id) && !matches!(run.phase, Phase::Stopping(_)) {
                run.cancel.cancel();
                run.phase = Phase::Stopping(deadline);
            }
        }
        if only.is_none() {
            self.errands.values().filter(|errand| errand.told).for_each(|errand| errand.cancel.cancel());
        }
        self.errand(tab, Duty::Session(SessionHook::Stop));
    }

    /// Whether something runs and all of it was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        !self.runs.is_empty() && self.runs.values().all(|run| matches!(run.phase, Phase::Stopping(_)))
    }
}

impl Conversations {
    /// Tells what runs on a thread here to stop. A thread that is not live here is idle.
    pub async fn cancel(&self, thread: &ThreadId, cancel: Cancel) -> Told {
        let handle = self.live.get(thread).map(|entry| entry.value().clone());
        let Some(handle) = handle else { return Told::idle() };
        let (done, told) = tokio::sync::oneshot::channel();
        if handle.inputs.send(Box::new(Input::Cancel(cancel, done))).await.is_err() {
            return Told::idle();
        }
        // It ended before it took this: nothing runs any more.
        told.await.unwrap_or_else(|_| Told::idle())
    }

    /// Whether everything that runs on a thread was told to stop.
    #[must_use]
    pub fn is_stopping(&self, thread: &ThreadId) -> bool {
        self.live.get(thread).is_some_and(|entry| entry.value().stopping.load(Ordering::Acquire))
    }
}
