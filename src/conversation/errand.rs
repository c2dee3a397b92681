//! Errands: hooks that are called for a tab and are neither run nor restore. Somebody pressed a button, confirmed the
//! settings, pressed stop; the line broke; the tab said goodbye.

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::feed::{Audience, Item, Then};
use super::job::{Job, SessionHook};
use super::state::Conversation;
use super::tab::TabId;
use crate::chat::{About, HookEnd, Speaker, Values};
use crate::hook::{Settings, WindowMessage};
use crate::protocol::{Action, ServerEvent};
use crate::record::Record;

/// A hook at work for a tab. It keeps what it needs of it: the tab may leave meanwhile.
pub(super) struct Errand {
    pub(super) tab: TabId,
    pub(super) about: Arc<About>,
    pub(super) values: Arc<Values>,
    pub(super) cancel: CancellationToken,
    /// What its hook is called with; taken when it is.
    pub(super) duty: Option<Duty>,
    /// Whether the tab shows that something works.
    wrapped: bool,
    /// Whether it was asked for by a person, who is told that it failed and may stop it.
    pub(super) told: bool,
}

/// What an errand is for.
pub(super) enum Duty {
    /// A hook of the session.
    Session(SessionHook),
    /// The settings were confirmed.
    SettingsUpdate(Settings),
    /// A field of the settings form changed.
    SettingsEdit(Settings),
    /// A button was pressed; what its hook returns is the answer.
    Action(Action, oneshot::Sender<Value>),
    /// The window around the page posted something.
    Window(WindowMessage),
}

impl Conversation {
    /// Calls a hook for a tab.
    pub(super) fn errand(&mut self, tab: TabId, duty: Duty) {
        let Some(member) = self.members.get(&tab) else { return };
        let wrapped = matches!(duty, Duty::SettingsUpdate(_) | Duty::SettingsEdit(_));
        let errand = Errand {
            tab,
            about: member.about.clone(),
            values: member.values.clone(),
            cancel: CancellationToken::new(),
            wrapped,
            told: wrapped || matches!(duty, Duty::Action(..)),
            duty: Some(duty),
        };
        self.next_errand += 1;
        self.errands.insert(self.next_errand, errand);
        if wrapped {
            self.items.push(Item::show(vec![(Audience::Only(tab), ServerEvent::TaskStart)]));
        }
        self.jobs.push(Job::Errand(self.next_errand));
    }

    /// Somebody pressed a button. It counts as a first interaction (chat-wire 2.5).
    pub(super) fn act(&mut self, tab: TabId, action: Action, answer: oneshot::Sender<Value>) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        if let Some((records, marker)) = self.first_interaction(&action.name, &member) {
            self.commit(records, vec![(Audience::All, marker)], Then::Nothing);
        } else if let Some(marker) = self.late_marker(tab, &action.name) {
            self.items.push(Item::show(vec![marker]));
        }
        self.errand(tab, Duty::Action(action, answer));
    }

    /// The settings form was confirmed: its values are the session's, and stored with the thread.
    pub(super) fn settings_changed(&mut self, tab: TabId, values: Map<String, Value>) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        member.values.confirm(&values);
        let records = self.values_records(&member.values);
        if !records.is_empty() {
            self.commit(records, Vec::new(), Then::Nothing);
        }
        if self.settings.hears_settings {
            self.errand(tab, Duty::SettingsUpdate(Settings::new(values)));
        }
    }

    /// A field of the settings form changed.
    pub(super) fn settings_edited(&mut self, tab: TabId, values: Map<String, Value>) {
        if self.settings.hears_edits {
            self.errand(tab, Duty::SettingsEdit(Settings::new(values)));
        }
    }

    /// The hook of an errand is over.
    pub(super) fn errand_ended(&mut self, number: u64, end: &HookEnd) {
        let Some(errand) = self.errands.remove(&number) else { return };
        let mut records: Vec<Record> = self.values_records(&errand.values);
        let mut shows = Vec::new();
        let speaker = Speaker { errand: Some(number), ..Speaker::default() };
        self.cut_off_all(&speaker, &mut records, &mut shows);
        self.cancel_asks(&speaker, &mut records, &mut shows);
        if let HookEnd::Failed(error) = end
            && errand.told
        {
            self.tell_error(self.text_for_person(error), &mut records, &mut shows);
        }
        if errand.wrapped {
            self.indicator(&mut shows);
        }
        if !records.is_empty() || !shows.is_empty() {
            self.commit(records, shows, Then::Nothing);
        }
    }

    /// Tabs that show that something works for them alone.
    pub(super) fn busy_tabs(&self) -> impl Iterator<Item = TabId> {
        self.errands.values().filter(|errand| errand.wrapped).map(|errand| errand.tab)
    }
}
