//! A person's turn: what they wrote is stored, then its run begins; stop ends what runs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::feed::{Audience, Item, Then};
use super::job::{Job, SessionHook};
use super::state::{Conversation, Phase, Run, Stage, Work};
use super::tab::{Member, TabId};
use crate::chat::Values;
use crate::id::StepId;
use crate::protocol::{ClientMessage, ServerEvent, Step, StepKind};
use crate::record::{EndReason, Fact, Record, Source, ThreadStart};

/// How long a run that was told to stop has until it is settled over its head (records.md 3.4).
const STOP_GRACE: Duration = Duration::from_secs(10);

/// The longest name that a thread gets from its first interaction, in characters.
const LONGEST_NAME: usize = 255;

/// What the notice of a stop says; frontends know it (chat-wire 5.2).
const STOPPED: &str = "Task manually stopped.";

impl Conversation {
    /// Somebody wrote something at `tab`.
    pub(super) fn message(&mut self, tab: TabId, message: Arc<ClientMessage>, held: Held) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        if self.is_known(&message.id) {
            info!(thread = %self.thread, "message came again, counted once");
            return;
        }
        if matches!(self.stage, Stage::Deleted) {
            return self.complain(tab, "This conversation was deleted.");
        }
        let step = self.written(&message, &member);
        self.context.put(&step);
        let runs = self.settings.answers && held != Held::Stopped;
        let run = runs.then(|| self.run_step("on_message", Some(message.id.clone())));

        let first = self.first_interaction(&step.output, &member);
        let once = first.is_none();
        let mut records = first.clone().map(|(records, _)| records).unwrap_or_default();
        records.push(Record::derived(
            &self.thread,
            None,
            0,
            Source::User,
            self.clock.now(),
            Fact::Message { step: step.clone(), interrupted: false },
        ));
        // What waited for a restore may have been wiped from its page by the thread: it is said again.
        let audience = if held == Held::No { Audience::WrittenAt(tab) } else { Audience::All };
        let mut shows = vec![(audience, ServerEvent::NewMessage(Arc::new(step)))];
        if let Some(run) = &run {
            shows.push((Audience::All, ServerEvent::TaskStart));
            let fact = Fact::RunStarted { step: run.clone(), trigger: Some(message.id.clone()) };
            records.push(self.record(Some(run.id.clone()), Source::App, fact));
        }
        shows.extend(first.map(|(_, marker)| (Audience::All, marker)));
        shows.extend(self.late_marker(tab, &message.output));
        if let Some(run) = &run {
            shows.push((Audience::All, ServerEvent::NewMessage(Arc::new(run.clone()))));
        }
        self.note(&shows);
        let append = self.append(records, once);
        self.remember_unstored(&shows);
        let then = match &run {
            Some(run) if once => Then::Start(run.id.clone()),
            Some(run) => Then::Open(run.id.clone(), Box::new(append.clone())),
            None => Then::Nothing,
        };
        if let Some(step) = run {
            let input = message.output.clone();
            self.runs.insert(
                step.id.clone(),
                Run {
                    tab,
                    about: member.about,
                    values: member.values,
                    step,
                    input,
                    work: Work::Answer(message),
                    cancel: CancellationToken::new(),
                    phase: Phase::Waiting,
                },
            );
        }
        let place = self.appends;
        self.items.push(Item { shows, append: Some(append), then, joins: None, place });
    }

    fn is_known(&self, id: &StepId) -> bool {
        self.context.has(id) || self.runs.values().any(|run| run.step.parent_id.as_ref() == Some(id))
    }

    /// The step of what somebody wrote. Times are the server's.
    pub(super) fn written(&self, message: &ClientMessage, member: &Member) -> Step {
        let user = member.about.user.as_ref().map_or("User", |user| user.identifier.as_str());
        let name = message.name.as_deref().unwrap_or(user);
        let mut step = Step::new(message.id.clone(), self.thread.clone(), message.kind.clone(), name);
        let now = self.clock.now();
        step.parent_id.clone_from(&message.parent_id);
        step.output.clone_from(&message.output);
        step.created_at = Some(now);
        step.start = Some(now);
        step.end = Some(now);
        step.language.clone_from(&message.language);
        step.command.clone_from(&message.command);
        step.modes.clone_from(&message.modes);
        step.metadata.clone_from(&message.metadata);
        step
    }

    fn run_step(&self, name: &str, parent: Option<StepId>) -> Step {
        let mut step = Step::new(StepId::random(), self.thread.clone(), StepKind::Run, name);
        let now = self.clock.now();
        step.parent_id = parent;
        step.created_at = Some(now);
        step.start = Some(now);
        step
    }

    /// The first act of a person: the thread begins, and what waited for it is stored with it. `None` when there was
    /// one before.
    pub(super) fn first_interaction(&mut self, text: &str, member: &Member) -> Option<(Vec<Record>, ServerEvent)> {
        let Stage::Unsaved(pending) = &mut self.stage else { return None };
        let pending = std::mem::take(pending);
        self.stage = Stage::Saved;
        self.marked.extend(self.members.keys());
        let interaction = interaction(text);
        let about = &member.about;
        let profile = about.chat_profile.clone();
        let mut metadata = Map::new();
        metadata.insert("client_type".into(), json!(about.client_type));
        metadata.insert("env".into(), if self.settings.persist_user_env { json!(about.user_env) } else { json!({}) });
        if let Some(profile) = &profile {
            metadata.insert("chat_profile".into(), json!(profile));
        }
        metadata.extend(member.values.take_changes());
        let start = ThreadStart {
            name: Some(interaction.chars().take(LONGEST_NAME).collect()),
            user_id: self.owner.as_ref().and_then(|owner| owner.id.clone()),
            user_identifier: self.owner.as_ref().map(|owner| owner.identifier.clone()),
            tags: profile.filter(|_| self.settings.auto_tag_thread).into_iter().collect(),
            metadata,
        };
        let mut records = vec![self.record(None, Source::App, Fact::ThreadStarted(start))];
        records.extend(pending);
        let marker = ServerEvent::FirstInteraction { interaction, thread_id: self.thread.clone() };
        self.jobs.push(Job::ThreadBegan);
        Some((records, marker))
    }

    /// The marker of a tab that came to a stored thread without resuming it: it has its first interaction all the same.
    pub(super) fn late_marker(&mut self, tab: TabId, text: &str) -> Option<(Audience, ServerEvent)> {
        let marks = matches!(self.stage, Stage::Saved) && self.marked.insert(tab);
        let thread_id = self.thread.clone();
        marks
            .then(|| (Audience::Only(tab), ServerEvent::FirstInteraction { interaction: interaction(text), thread_id }))
    }

    /// Calls `on_chat_start` for a tab.
    pub(super) fn greet(&mut self, tab: TabId) {
        let Some(member) = self.members.get(&tab).filter(|_| self.settings.greets).cloned() else { return };
        let step = self.run_step("on_chat_start", None);
        let id = step.id.clone();
        let started =
            self.record(Some(id.clone()), Source::App, Fact::RunStarted { step: step.clone(), trigger: None });
        let shows = vec![
            (Audience::All, ServerEvent::TaskStart),
            (Audience::All, ServerEvent::NewMessage(Arc::new(step.clone()))),
        ];
        self.runs.insert(
            id.clone(),
            Run {
                tab,
                about: member.about,
                values: member.values,
                step,
                input: "{}".into(),
                work: Work::Greet,
                cancel: CancellationToken::new(),
                phase: Phase::Working,
            },
        );
        self.commit(vec![started], shows, Then::Nothing);
        self.jobs.push(Job::Run(id));
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
        let mut shows = vec![
            (Audience::All, ServerEvent::DeleteMessage(Arc::new(found.step))),
            (Audience::Only(found.tab), ServerEvent::NewMessage(error)),
        ];
        self.indicator(&mut shows);
        self.items.push(Item::show(shows));
    }

    /// Somebody pressed stop: every run ends at its next await, every queued turn with it.
    pub(super) fn stop(&mut self, tab: TabId) {
        if !self.members.contains_key(&tab) {
            return;
        }
        let name = self.settings.author.clone();
        let notice = self.notice(&name, STOPPED, false);
        self.context.put(&notice);
        let fact = Fact::Message { step: notice.clone(), interrupted: false };
        let record = self.record(None, Source::App, fact);
        self.commit(vec![record], vec![(Audience::All, ServerEvent::NewMessage(Arc::new(notice)))], Then::Nothing);
        let deadline = Instant::now() + STOP_GRACE;
        for run in self.runs.values_mut().filter(|run| !matches!(run.phase, Phase::Stopping(_))) {
            run.cancel.cancel();
            run.phase = Phase::Stopping(deadline);
        }
        self.jobs.push(Job::Session(tab, SessionHook::Stop));
    }

    /// Runs that were told to stop and did not: they are settled over their heads.
    pub(super) fn settle_overdue(&mut self, now: Instant) {
        let overdue = |run: &Run| matches!(run.phase, Phase::Stopping(deadline) if deadline <= now);
        let runs: Vec<StepId> = self.runs.iter().filter(|(_, run)| overdue(run)).map(|(id, _)| id.clone()).collect();
        for run in runs {
            warn!(thread = %self.thread, run = %run, "hook did not stop, its run is settled without it");
            self.end_run(&run, Ended::Overruled);
            // Whatever it still says is kept off the pages; the store puts it aside.
            self.overruled.insert(run);
        }
    }

    /// A run is over.
    pub(super) fn end_run(&mut self, id: &StepId, ended: Ended) {
        let Some(run) = self.runs.get(id) else { return };
        let (values, mut step) = (run.values.clone(), run.step.clone());
        step.end = Some(self.clock.now());
        step.input.clone_from(&run.input);
        let mut records = Vec::new();
        let mut shows = Vec::new();
        if !matches!(ended, Ended::Completed) {
            self.cut_off_all(Some(id), &mut records, &mut shows);
        }
        self.cancel_asks(id, &mut records, &mut shows);
        let mut error = None;
        let mut source = Source::App;
        let end = match ended {
            Ended::Completed => Fact::RunEnded { step: step.clone(), reason: EndReason::Completed },
            Ended::Stopped(reason) => {
                step.is_error = true;
                Fact::RunEnded { step: step.clone(), reason }
            }
            Ended::Overruled => {
                step.is_error = true;
                source = Source::User;
                Fact::RunEnded { step: step.clone(), reason: EndReason::UserStop }
            }
            Ended::Failed(text) => {
                step.is_error = true;
                step.output.clone_from(&text);
                error = Some(self.notice("Error", text.clone(), true));
                Fact::RunFailed { step: step.clone(), message: text }
            }
        };
        records.extend(self.values_record(&values));
        records.push(self.record(Some(id.clone()), source, end));
        shows.push((Audience::All, ServerEvent::UpdateMessage(Arc::new(step))));
        if let Some(error) = error {
            // Nothing of a run follows its end, so what tells a person of it belongs to the thread.
            let fact = Fact::Message { step: error.clone(), interrupted: false };
            records.push(self.record(None, Source::App, fact));
            shows.push((Audience::All, ServerEvent::NewMessage(Arc::new(error))));
        }
        self.runs.shift_remove(id);
        self.indicator(&mut shows);
        self.commit(records, shows, Then::Nothing);
    }

    /// The end of a task, and the start of one when another still works.
    pub(super) fn indicator(&self, shows: &mut Vec<(Audience, ServerEvent)>) {
        shows.push((Audience::All, ServerEvent::TaskEnd));
        if self.is_working() {
            shows.push((Audience::All, ServerEvent::TaskStart));
        }
    }

    /// The values of a session that changed, as a record; only for a thread that is stored.
    fn values_record(&self, values: &Values) -> Option<Record> {
        if !matches!(self.stage, Stage::Saved) {
            return None;
        }
        let metadata: Map<String, Value> = values.take_changes();
        if metadata.is_empty() {
            return None;
        }
        let update = crate::record::ThreadUpdate { name: None, tags: None, metadata };
        Some(self.record(None, Source::App, Fact::ThreadUpdated(update)))
    }
}

/// Whether a message waited for its session's restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// No.
    No,
    /// Yes.
    Waited,
    /// Yes, and stop was pressed meanwhile: no run begins.
    Stopped,
}

/// How a run ended.
#[derive(Debug)]
pub(super) enum Ended {
    Completed,
    Stopped(EndReason),
    /// It was told to stop, and was ended over its head.
    Overruled,
    /// With what a person is told.
    Failed(String),
}

/// What a page is told that somebody did first. It takes an empty text for nothing (chat-wire 2.5).
fn interaction(text: &str) -> String {
    if text.trim().is_empty() { "file" } else { text }.to_owned()
}
