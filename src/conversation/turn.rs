//! A person's turn: what they wrote is stored, then its run begins.

use std::sync::Arc;

use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;
use tracing::info;

use super::feed::{Audience, Item, Then};
use super::job::Job;
use super::run::Beginning;
use super::state::{Conversation, Phase, Run, Stage, Work};
use super::tab::{Member, TabId};
use crate::hook::UserMessage;
use crate::id::StepId;
use crate::protocol::{ClientMessage, Element, ServerEvent, Step};
use crate::record::{Fact, Record, Source, ThreadStart};

/// The longest name that a thread gets from its first interaction, in characters.
const LONGEST_NAME: usize = 255;

impl Conversation {
    /// Somebody wrote something at `tab`.
    pub(super) fn message(&mut self, tab: TabId, message: UserMessage, held: Held) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        if self.is_known(&message.id) {
            info!(thread = %self.thread, "message came again, counted once");
            return;
        }
        if matches!(self.stage, Stage::Deleted) {
            return self.complain(tab, "This conversation was deleted.");
        }
        let step = self.written(&message, &member);
        let step = self.placed(step);
        self.context.put(&step);
        self.context.attach(&message.id, message.shared_files());
        let first = self.first_interaction(&interaction_of(&message), &member);
        let begins = first.is_some();
        let mut records = first.clone().map(|(records, _)| records).unwrap_or_default();
        let said = Fact::Message { step: step.clone(), interrupted: false };
        let hinge = Some(records.len());
        records.push(Record::derived(&self.thread, None, 0, Source::User, self.clock.now(), said));
        let elements = self.attached(&message);
        records.extend(elements.iter().map(|element| self.record(None, Source::User, Fact::Element(element.clone()))));
        // What waited for a restore may have been wiped from its page by the thread: it is said again.
        let audience = if held == Held::No { Audience::WrittenAt(tab) } else { Audience::All };
        let mut shows = vec![(audience, ServerEvent::NewMessage(Arc::new(step)))];
        let late_marker = self.late_marker(tab, &message.output);
        let run = self.begin_run(&member, message, held);
        if let Some(run) = &run {
            shows.push((Audience::All, ServerEvent::TaskStart));
            records.push(run.started.clone());
        }
        shows.extend(first.map(|(_, marker)| (Audience::All, marker)));
        shows.extend(late_marker);
        if let Some(run) = &run {
            shows.push((Audience::All, ServerEvent::NewMessage(Arc::new(run.step.clone()))));
        }
        shows.extend(elements.into_iter().map(|element| (Audience::All, ServerEvent::Element(Arc::new(element)))));
        self.note(&shows);
        let append = self.append(records, hinge);
        self.remember_unstored(&append, &shows);
        let then = match run {
            Some(Beginning { step, .. }) if begins => Then::Open(step.id, Box::new(append.clone())),
            Some(Beginning { step, .. }) => Then::Start(step.id),
            None => Then::Nothing,
        };
        let place = self.appends;
        self.items.push(Item { append: Some(append), place, then, ..Item::show(shows) });
    }

    /// The elements of the files that came with a message.
    fn attached(&self, message: &UserMessage) -> Vec<Element> {
        let element = |file: &crate::protocol::StoredFile| Element {
            thread_id: Some(self.thread.clone()),
            ..file.attached_to(&message.id)
        };
        message.files().iter().map(element).collect()
    }

    fn is_known(&self, id: &StepId) -> bool {
        self.context.has(id) || self.runs.values().any(|run| run.step.parent_id.as_ref() == Some(id))
    }

    /// The step of what somebody wrote, not yet in its place. Times are the server's.
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
        metadata.insert("env".into(), if about.config.persist_user_env { json!(about.user_env) } else { json!({}) });
        if let Some(profile) = &profile {
            metadata.insert("chat_profile".into(), json!(profile));
        }
        metadata.extend(member.values.take_changes());
        if let Some(settings) = member.values.take_settings() {
            metadata.insert("chat_settings".into(), settings.into());
        }
        let start = ThreadStart {
            name: Some(interaction.chars().take(LONGEST_NAME).collect()),
            user_id: self.owner.as_ref().and_then(|owner| owner.id.clone()),
            user_identifier: self.owner.as_ref().map(|owner| owner.identifier.clone()),
            tags: profile.filter(|_| about.config.features.auto_tag_thread).into_iter().collect(),
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
                lease: self.leases.hold(&self.thread, &id),
                command: None,
            },
        );
        self.commit(vec![started], shows, Then::Nothing);
        self.jobs.push(Job::Run(id));
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

/// What a message is as a first interaction: its text, or the names of its files.
fn interaction_of(message: &UserMessage) -> String {
    if !message.output.trim().is_empty() {
        return message.output.clone();
    }
    message.files().iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(",")
}

/// What a page is told that somebody did first. It takes an empty text for nothing (chat-wire 2.5).
fn interaction(text: &str) -> String {
    if text.trim().is_empty() { "file" } else { text }.to_owned()
}
