//! What hooks say, made into events and records.

use std::sync::Arc;

use tracing::debug;

use super::feed::{Audience, Then};
use super::preview;
use super::run::Ended;
use super::state::{Conversation, Growing, Stage};
use super::tab::TabId;
use crate::chat::{Command, Envelope, HookEnd, Speaker};
use crate::hook::HookError;
use crate::id::StepId;
use crate::protocol::{ServerEvent, Step, StepKind, Token};
use crate::record::{Fact, Record, Source};

impl Conversation {
    /// A hook spoke.
    pub(super) fn hear(&mut self, envelope: Envelope) {
        let Envelope { speaker, command } = envelope;
        if speaker.run.as_ref().is_some_and(|run| self.overruled.contains(run)) {
            if let (Command::End(_), Some(run)) = (&command, &speaker.run) {
                self.overruled.remove(run);
            }
            return;
        }
        match command {
            Command::End(end) => return self.hook_ended(&speaker, end),
            Command::History(reply) => {
                let history = self.context_of(&speaker).list(|id| !self.growing.contains_key(id));
                let _ = reply.send(history);
                return;
            }
            _ => {}
        }
        if matches!(self.stage, Stage::Deleted) {
            return;
        }
        if speaker.attempt.is_some() && !self.is_attempting(&speaker) {
            // An attempt that failed or was given up has nothing more to say.
            return;
        }
        match command {
            Command::Message(step) => {
                let step = self.placed(step);
                let fact = Fact::Message { step: step.clone(), interrupted: false };
                self.say(&speaker, fact, ServerEvent::NewMessage(Arc::new(step)));
            }
            Command::Update(step) => {
                let step = self.here(step);
                self.say(&speaker, Fact::MessageUpdated(step.clone()), ServerEvent::UpdateMessage(Arc::new(step)));
            }
            Command::Finish(step) => {
                let step = self.here(step);
                self.growing.shift_remove(&step.id);
                let fact = Fact::Message { step: step.clone(), interrupted: false };
                self.say(&speaker, fact, ServerEvent::UpdateMessage(Arc::new(step)));
            }
            Command::Remove(id) => {
                self.growing.shift_remove(&id);
                self.context_of_mut(&speaker).remove(&id);
                let step = Step::new(id.clone(), self.thread.clone(), StepKind::AssistantMessage, "");
                self.say(&speaker, Fact::StepDeleted(id), ServerEvent::DeleteMessage(Arc::new(step)));
            }
            Command::Open(step) => {
                let step = self.placed(step);
                self.grows(&speaker, &step, false);
                self.say(&speaker, Fact::StepStarted(step.clone()), ServerEvent::NewMessage(Arc::new(step)));
            }
            Command::Change(step) => {
                let step = self.here(step);
                if let Some(growing) = self.growing.get_mut(&step.id) {
                    growing.units = preview::units(&step.output);
                    growing.step = step.clone();
                }
                self.say(&speaker, Fact::StepUpdated(step.clone()), ServerEvent::UpdateMessage(Arc::new(step)));
            }
            Command::Close(step) => {
                let step = self.here(step);
                self.growing.shift_remove(&step.id);
                self.say(&speaker, Fact::StepEnded(step.clone()), ServerEvent::UpdateMessage(Arc::new(step)));
            }
            Command::StreamStart(step) => {
                let step = self.placed(step);
                self.grows(&speaker, &step, true);
                // Its place is where it began, as in the stored thread; history has it when it is complete.
                self.context_of_mut(&speaker).put(&step);
                let piece = self.growing.get(&step.id).filter(|_| self.followed).and_then(Growing::whole);
                self.flow(&speaker, ServerEvent::StreamStart(Arc::new(step)));
                self.grew(&speaker, piece);
            }
            Command::Token(token) => self.token(&speaker, token),
            Command::CutOff(id) => {
                let (mut records, mut shows) = (Vec::new(), Vec::new());
                self.cut_off(&id, &mut records, &mut shows);
                self.said(&speaker, records, shows);
            }
            Command::Ask(ask) => self.ask(speaker, *ask),
            Command::Call { name, args, timeout, answer } => {
                self.call_function(speaker, (name, args), timeout, answer);
            }
            Command::Element(element) => self.element(&speaker, element),
            Command::RemoveElement(id) => self.remove_element(&speaker, id),
            Command::Action(action) => self.button(&speaker, action, true),
            Command::RemoveAction(action) => self.button(&speaker, action, false),
            Command::Show(event) => self.show_to_tab(&speaker, event),
            Command::History(_) | Command::End(_) => {}
        }
    }

    /// Something for the tab alone that a hook works for.
    fn show_to_tab(&mut self, speaker: &Speaker, event: ServerEvent) {
        let shows = vec![(Audience::Only(TabId(speaker.tab)), event)];
        match shows[0].1 {
            // A thread that comes later closes the side view (chat-wire 9.5): it is shown the thread first.
            ServerEvent::SetSidebarTitle(_) | ServerEvent::SetSidebarElements { .. } => {
                self.said(speaker, Vec::new(), shows);
            }
            // The others do not care, and settings must come before the thread, whose values count.
            _ => self.commit(Vec::new(), shows, Then::Nothing),
        }
    }

    /// A step that was shown before, in this thread: hooks may have been called before the thread got its id.
    fn here(&self, mut step: Step) -> Step {
        self.adopt(&mut step);
        self.order.keep(&mut step);
        step
    }

    /// A step that is new here, in its place.
    pub(super) fn placed(&mut self, mut step: Step) -> Step {
        self.adopt(&mut step);
        self.order.place(&mut step);
        step
    }

    fn adopt(&self, step: &mut Step) {
        if step.thread_id != self.thread {
            step.thread_id = self.thread.clone();
        }
    }

    fn grows(&mut self, speaker: &Speaker, step: &Step, streams: bool) {
        let units = preview::units(&step.output);
        let growing = Growing { step: step.clone(), speaker: speaker.clone(), streams, changed: streams, units };
        self.growing.insert(step.id.clone(), growing);
    }

    fn token(&mut self, speaker: &Speaker, token: Token) {
        let Some(growing) = self.growing.get_mut(&token.id) else {
            debug!("token for a step that does not grow");
            return;
        };
        let mut piece = growing.grow(&token, self.followed);
        let event = if growing.step.streaming {
            ServerEvent::StreamToken(token)
        } else {
            // The first token of an open step: the page needs to know that it grows (chat-wire 4.2).
            growing.step.streaming = true;
            piece = piece.and_then(|_| growing.whole());
            ServerEvent::StreamStart(Arc::new(growing.step.clone()))
        };
        self.flow(speaker, event);
        self.grew(speaker, piece);
    }

    /// One fact that is one event.
    fn say(&mut self, speaker: &Speaker, fact: Fact, event: ServerEvent) {
        if let ServerEvent::NewMessage(step) | ServerEvent::UpdateMessage(step) = &event {
            self.context_of_mut(speaker).put(step);
        }
        let source = source_of(&fact);
        let record = self.record(speaker.run.clone(), source, fact);
        self.said(speaker, vec![record], vec![(Audience::All, event)]);
    }

    /// An event that is no fact: a token.
    fn flow(&mut self, speaker: &Speaker, event: ServerEvent) {
        self.said(speaker, Vec::new(), vec![(Audience::All, event)]);
    }

    /// What a hook said: shown to all when it is stored; kept aside while it belongs to an attempt to restore.
    pub(super) fn said(&mut self, speaker: &Speaker, records: Vec<Record>, shows: Vec<(Audience, ServerEvent)>) {
        if speaker.attempt.is_some() {
            return self.said_in_attempt(speaker, records, shows);
        }
        self.commit(records, shows, Then::Nothing);
    }

    /// A streaming message or an open step will not be completed: it stays as it is.
    pub(super) fn cut_off(&mut self, id: &StepId, records: &mut Vec<Record>, shows: &mut Vec<(Audience, ServerEvent)>) {
        let Some(Growing { mut step, speaker, streams, .. }) = self.growing.shift_remove(id) else { return };
        let now = self.clock.now();
        step.streaming = false;
        step.end = Some(now);
        step.start.get_or_insert(now);
        step.created_at.get_or_insert(now);
        let fact = if streams {
            self.context.put(&step);
            Fact::Message { step: step.clone(), interrupted: true }
        } else {
            step.is_error = true;
            Fact::StepEnded(step.clone())
        };
        let source = source_of(&fact);
        records.push(self.record(speaker.run, source, fact));
        shows.push((Audience::All, ServerEvent::UpdateMessage(Arc::new(step))));
    }

    /// Everything that a hook call lets grow is cut off, innermost last opened first.
    pub(super) fn cut_off_all(
        &mut self,
        speaker: &Speaker,
        records: &mut Vec<Record>,
        shows: &mut Vec<(Audience, ServerEvent)>,
    ) {
        let theirs = self.growing.iter().filter(|(_, growing)| growing.speaker.same_work(speaker));
        let ids: Vec<StepId> = theirs.map(|(id, _)| id.clone()).collect();
        for id in ids.into_iter().rev() {
            self.cut_off(&id, records, shows);
        }
    }

    fn hook_ended(&mut self, speaker: &Speaker, end: HookEnd) {
        if speaker.attempt.is_some() {
            return self.attempt_ended(speaker, end);
        }
        if let Some(errand) = speaker.errand {
            return self.errand_ended(errand, &end);
        }
        let Some(run) = &speaker.run else { return };
        let ended = match end {
            HookEnd::Returned => Ended::Completed,
            HookEnd::Cancelled => Ended::Stopped(self.stop_reason),
            HookEnd::Failed(error) => Ended::Failed(self.text_for_person(&error)),
        };
        self.end_run(run, ended);
    }

    /// What a person is told of a hook's failure.
    pub(super) fn text_for_person(&self, error: &HookError) -> String {
        match error.told() {
            Some(text) => text.to_owned(),
            None if self.settings.show_errors => error.as_it_reads(),
            None => "Something went wrong. Please try again.".to_owned(),
        }
    }
}

/// Who made a fact that a hook told.
fn source_of(fact: &Fact) -> Source {
    match fact.step().map(|step| &step.kind) {
        Some(StepKind::Tool) if matches!(fact, Fact::StepEnded(_)) => Source::Tool,
        Some(StepKind::SystemMessage) => Source::System,
        Some(StepKind::UserMessage) => Source::User,
        Some(kind) if kind.is_message() => Source::Assistant,
        Some(StepKind::Tool) => Source::Assistant,
        _ => Source::App,
    }
}
