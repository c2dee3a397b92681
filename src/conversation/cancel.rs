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
use crate::id::{ExecutionId, StepId, ThreadId};
use crate::protocol::ServerEvent;
use crate::record::{Fact, Source};

/// What became of a wish to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// Runs were told to stop. That they have stopped is told by the event, and by nothing else.
    Stopping,
    /// Nothing runs.
    AlreadyIdle,
    /// Something runs, and not what was expected: the run that began last.
    Mismatch(ExecutionId),
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
    pub(super) fn cancel(&mut self, expected: Option<&ExecutionId>) -> Cancelled {
        let Some(newest) = self.runs.keys().next_back().cloned() else { return Cancelled::AlreadyIdle };
        if let Some(expected) = expected
            && !self.runs.contains_key(expected)
        {
            return Cancelled::Mismatch(newest);
        }
        let wanted = |id: &StepId| expected.is_none_or(|expected| expected == id);
        let mut told = self.runs.iter().filter(|(id, run)| wanted(id) && !matches!(run.phase, Phase::Stopping(_)));
        // Whoever asks again is told the same, and the chat does not say it twice.
        if let Some(tab) = told.next_back().map(|(_, run)| run.tab) {
            self.halt(tab, expected);
        }
        Cancelled::Stopping
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
    /// Tells what runs on a thread to stop: everything, or the run that is expected to. A thread that is not live here is
    /// idle.
    pub async fn cancel(&self, thread: &ThreadId, expected: Option<ExecutionId>) -> Cancelled {
        let handle = self.live.get(thread).map(|entry| entry.value().clone());
        let Some(handle) = handle else { return Cancelled::AlreadyIdle };
        let (done, cancelled) = tokio::sync::oneshot::channel();
        let input = Input::Cancel { expected, done };
        if handle.inputs.send(Box::new(input)).await.is_err() {
            return Cancelled::AlreadyIdle;
        }
        // It ended before it took this: nothing runs any more.
        cancelled.await.unwrap_or(Cancelled::AlreadyIdle)
    }

    /// Whether everything that runs on a thread was told to stop.
    #[must_use]
    pub fn is_stopping(&self, thread: &ThreadId) -> bool {
        self.live.get(thread).is_some_and(|entry| entry.value().stopping.load(Ordering::Acquire))
    }
}
