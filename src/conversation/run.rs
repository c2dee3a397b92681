//! Runs: one call of a hook for a turn each. A run begins once, and ends once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::feed::{Audience, Item, Then};
use super::job::Job;
use super::state::{Conversation, Phase, Run, Stage, Work};
use super::tab::Member;
use super::turn::Held;
use crate::chat::{Speaker, Values};
use crate::hook::UserMessage;
use crate::id::StepId;
use crate::metrics::counts;
use crate::protocol::{ServerEvent, Step, StepKind};
use crate::record::{EndReason, Fact, Record, Source};

/// How long a run that was told to stop has until it is settled over its head (records.md 3.4).
pub(super) const STOP_GRACE: Duration = Duration::from_secs(10);

/// What the notice of a stop says; frontends know it (chat-wire 5.2).
pub(super) const STOPPED: &str = "Task manually stopped.";

/// A run that begins: its step, and the record of it.
pub(super) struct Beginning {
    pub(super) step: Step,
    pub(super) started: Record,
}

/// A run that is over.
pub(super) struct Closed {
    pub(super) step: Arc<Step>,
    /// What a person is told of it.
    pub(super) error: Option<String>,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ended {
    Completed,
    Stopped(EndReason),
    /// It was ended over its head.
    Overruled(EndReason),
    /// Somebody else has settled it.
    Overtaken,
    /// With what a person is told.
    Failed(String),
}

impl Ended {
    /// For the count of them.
    fn word(&self) -> &'static str {
        match self {
            Self::Completed | Self::Stopped(EndReason::Completed) | Self::Overruled(EndReason::Completed) => {
                "completed"
            }
            Self::Stopped(EndReason::UserStop) | Self::Overruled(EndReason::UserStop) => "stopped",
            Self::Stopped(EndReason::Superseded) | Self::Overruled(EndReason::Superseded) => "superseded",
            Self::Stopped(EndReason::SessionCleared) | Self::Overruled(EndReason::SessionCleared) => "cleared",
            Self::Overtaken => "lost",
            Self::Failed(_) => "failed",
        }
    }
}

impl Conversation {
    pub(super) fn run_step(&mut self, name: &str, parent: Option<StepId>) -> Step {
        let mut step = Step::new(StepId::random(), self.thread.clone(), StepKind::Run, name);
        let now = self.time();
        step.parent_id = parent;
        step.created_at = Some(now);
        step.start = Some(now);
        step
    }

    /// A run for a message, unless nobody answers or stop was pressed: from here on it is the conversation's, and waits
    /// for its message to be stored.
    pub(super) fn begin_run(&mut self, member: &Member, message: UserMessage, held: Held) -> Option<Beginning> {
        if !self.settings.answers || held == Held::Stopped {
            return None;
        }
        let step = self.run_step("on_message", Some(message.id.clone()));
        let fact = Fact::RunStarted { step: step.clone(), trigger: Some(message.id.clone()) };
        let started = self.record(Some(step.id.clone()), Source::App, fact);
        let run = Run {
            tab: member.id,
            about: member.about.clone(),
            values: member.values.clone(),
            step: step.clone(),
            input: message.output.clone(),
            work: Work::Answer(message),
            cancel: CancellationToken::new(),
            phase: Phase::Waiting,
            lease: self.leases.hold(&self.thread, &step.id),
            command: None,
        };
        self.runs.insert(step.id.clone(), run);
        Some(Beginning { step, started })
    }

    /// The message of a run is stored: its hook may be called.
    pub(super) fn start(&mut self, run: &StepId) {
        let Some(found) = self.runs.get_mut(run) else { return };
        match found.phase {
            Phase::Waiting => {
                found.phase = Phase::Working;
                self.jobs.push(Job::Run(run.clone()));
            }
            Phase::Stopping(_) => self.end_run(run, Ended::Stopped(EndReason::UserStop)),
            Phase::Working => {}
        }
    }

    /// The message of a run was stored by a former process, which started its run: this one was never needed.
    pub(super) fn known_before(&mut self, run: &StepId) {
        let Some(found) = self.runs.shift_remove(run) else { return };
        info!(thread = %self.thread, "message came again after a restart, counted once");
        let mut shows = vec![(Audience::All, ServerEvent::DeleteMessage(Arc::new(found.step)))];
        self.indicator(&mut shows);
        self.items.push(Item::show(shows));
    }

    /// The message of a run could not be stored. Nothing is computed for a question that history does not know.
    pub(super) fn not_started(&mut self, run: &StepId, why: &str) {
        let Some(found) = self.runs.shift_remove(run) else { return };
        if let Work::Answer(message) = &found.work {
            self.context.remove(&message.id);
        }
        let error = Arc::new(self.notice("Error", why, true));
        self.noticed(found.tab, error.clone());
        let mut shows = vec![
            (Audience::All, ServerEvent::DeleteMessage(Arc::new(found.step))),
            (Audience::Only(found.tab), ServerEvent::NewMessage(error)),
        ];
        self.indicator(&mut shows);
        self.items.push(Item::show(shows));
    }

    /// Runs that were told to stop and did not: they are settled over their heads.
    pub(super) fn settle_overdue(&mut self, now: Instant) {
        let overdue = |run: &Run| matches!(run.phase, Phase::Stopping(deadline) if deadline <= now);
        let runs: Vec<StepId> = self.runs.iter().filter(|(_, run)| overdue(run)).map(|(id, _)| id.clone()).collect();
        for run in runs {
            warn!(thread = %self.thread, run = %run, "hook did not stop, its run is settled without it");
            self.end_run(&run, Ended::Overruled(EndReason::UserStop));
        }
    }

    /// A run is over.
    pub(super) fn end_run(&mut self, id: &StepId, ended: Ended) {
        let (mut records, mut shows) = (Vec::new(), Vec::new());
        let Some(Closed { step, error }) = self.close_run(id, ended, &mut records, &mut shows) else { return };
        shows.push((Audience::All, ServerEvent::UpdateMessage(step)));
        if let Some(text) = error {
            // Nothing of a run follows its end, so what tells a person of it belongs to the thread.
            self.tell_error(text, &mut records, &mut shows);
        }
        self.indicator(&mut shows);
        self.commit(records, shows, Then::Nothing);
    }

    /// Takes a run off the list with everything that is open in it, and records its end. Its step is not shown yet.
    pub(super) fn close_run(
        &mut self,
        id: &StepId,
        ended: Ended,
        records: &mut Vec<Record>,
        shows: &mut Vec<(Audience, ServerEvent)>,
    ) -> Option<Closed> {
        let run = self.runs.shift_remove(id)?;
        counts().runs_ended.count(ended.word());
        let speaker = Speaker { run: Some(id.clone()), ..Speaker::default() };
        if !matches!(ended, Ended::Completed) {
            self.cut_off_all(&speaker, records, shows);
        }
        self.cancel_asks(&speaker, records, shows);
        self.cancel_calls(&speaker, shows);
        let mut step = run.step;
        step.end = Some(self.clock.now());
        step.input = run.input;
        step.is_error |= !matches!(ended, Ended::Completed);
        let source = if matches!(ended, Ended::Overruled(_)) { Source::User } else { Source::App };
        let stopped = |step: Step, reason| {
            let command = run.command.filter(|_| reason == EndReason::UserStop);
            Fact::RunEnded { step, reason, command }
        };
        let (end, error) = match ended {
            Ended::Completed => (Some(stopped(step.clone(), EndReason::Completed)), None),
            Ended::Stopped(reason) => (Some(stopped(step.clone(), reason)), None),
            Ended::Overruled(reason) => {
                run.cancel.cancel();
                // Whatever it still says is kept off the pages; the store puts it aside.
                self.overruled.insert(id.clone());
                (Some(stopped(step.clone(), reason)), None)
            }
            Ended::Overtaken => {
                run.cancel.cancel();
                self.overruled.insert(id.clone());
                (None, None)
            }
            Ended::Failed(text) => {
                step.output.clone_from(&text);
                (Some(Fact::RunFailed { step: step.clone(), message: text.clone() }), Some(text))
            }
        };
        records.extend(self.values_records(&run.values));
        records.extend(end.map(|end| self.record(Some(id.clone()), source, end)));
        Some(Closed { step: Arc::new(step), error })
    }

    /// A message that tells a person of a failure, at the root.
    pub(super) fn tell_error(
        &mut self,
        text: impl Into<String>,
        records: &mut Vec<Record>,
        shows: &mut Vec<(Audience, ServerEvent)>,
    ) {
        let error = self.notice("Error", text, true);
        let fact = Fact::Message { step: error.clone(), interrupted: false };
        records.push(self.record(None, Source::App, fact));
        shows.push((Audience::All, ServerEvent::NewMessage(Arc::new(error))));
    }

    /// The end of a task, and the start of one where another still works.
    pub(super) fn indicator(&self, shows: &mut Vec<(Audience, ServerEvent)>) {
        shows.push((Audience::All, ServerEvent::TaskEnd));
        if self.is_working() {
            shows.push((Audience::All, ServerEvent::TaskStart));
            return;
        }
        shows.extend(self.busy_tabs().map(|tab| (Audience::Only(tab), ServerEvent::TaskStart)));
    }

    /// What changed of the values of a session, as records; only for a thread that is stored.
    pub(super) fn values_records(&self, values: &Values) -> Vec<Record> {
        if !matches!(self.stage, Stage::Saved) {
            return Vec::new();
        }
        let metadata: Map<String, Value> = values.take_changes();
        let update = (!metadata.is_empty())
            .then(|| Fact::ThreadUpdated(crate::record::ThreadUpdate { metadata, ..Default::default() }));
        let settings = values.take_settings().map(Fact::SettingsUpdated);
        update.into_iter().chain(settings).map(|fact| self.record(None, Source::App, fact)).collect()
    }
}
