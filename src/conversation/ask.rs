//! Questions: open until somebody answers, the time is over, or the run ends. Exactly one of these happens.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::info;

use super::feed::{Audience, Item, Then};
use super::state::Conversation;
use super::tab::{Member, TabId};
use crate::chat::{NewAsk, Speaker};
use crate::id::StepId;
use crate::metrics::{Open, counts};
use crate::protocol::{
    Action, Ask, AskKind, AskSpec, ClientMessage, Element, ServerEvent, Step, StepKind, StoredFile, whole_seconds,
};
use crate::record::{Fact, Outcome, Record, Source};

/// A question that waits for an answer.
pub(super) struct OpenAsk {
    ask: Arc<Ask>,
    /// The buttons and the form that go with it.
    actions: Vec<Arc<Action>>,
    element: Option<Arc<Element>>,
    speaker: Speaker,
    deadline: Instant,
    answer: oneshot::Sender<Value>,
    /// For as long as it waits.
    _open: Open,
}

/// An answer that was taken.
struct Taken {
    /// What the hook gets.
    value: Value,
    /// What it counts as, should it be the first thing that a person does (chat-wire 2.5).
    interaction: String,
    /// The message that it is: an answer to a question for a text.
    message: Option<Step>,
    /// The files that it is.
    files: Vec<StoredFile>,
    /// What the question says from now on.
    text: Option<String>,
}

impl OpenAsk {
    /// The question for a tab that comes to it later, with the time that is left. Buttons are taken away before they
    /// come: a page appends them blindly.
    pub(super) fn again(&self) -> Vec<ServerEvent> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let buttons = self
            .actions
            .iter()
            .flat_map(|action| [ServerEvent::RemoveAction(action.clone()), ServerEvent::Action(action.clone())]);
        let form = self.element.iter().map(|element| ServerEvent::Element(element.clone()));
        let ask = ServerEvent::Ask(Arc::new(self.ask.with_time_left(left)));
        buttons.chain(form).chain([ask]).collect()
    }
}

impl Conversation {
    pub(super) fn ask(&mut self, speaker: Speaker, new: NewAsk) {
        let NewAsk { step, kind, actions, element, timeout, answer } = new;
        let step = self.placed(step);
        let spec = AskSpec { step_id: step.id.clone(), timeout: whole_seconds(timeout), kind };
        let fact = Fact::Asked {
            step: step.clone(),
            spec: serde_json::to_value(&spec).unwrap_or_default(),
            timeout_at: self.clock.now() + timeout,
        };
        let mut records = vec![self.record(speaker.run.clone(), Source::App, fact)];
        let actions: Vec<Arc<Action>> = actions.into_iter().map(Arc::new).collect();
        let element = element.map(|element| Arc::new(Element { thread_id: Some(self.thread.clone()), ..element }));
        let mut shows: Vec<(Audience, ServerEvent)> =
            actions.iter().map(|action| (Audience::All, ServerEvent::Action(action.clone()))).collect();
        if let Some(element) = &element {
            self.know(element);
            let fact = Fact::Element(Element::clone(element));
            records.push(self.record(speaker.run.clone(), Source::App, fact));
            shows.push((Audience::All, ServerEvent::Element(element.clone())));
        }
        let id = step.id.clone();
        let ask = Arc::new(Ask { msg: step, spec });
        shows.push((Audience::All, ServerEvent::Ask(ask.clone())));
        self.said(&speaker, records, shows);
        let deadline = Instant::now() + timeout;
        let _open = Open::one(&counts().asks_open);
        self.asks.insert(id, OpenAsk { ask, actions, element, speaker, deadline, answer, _open });
    }

    /// A page answered. The first answer counts; a late, doubled or ill-shaped one is ignored. `files`: those of its
    /// session that the answer names. `echo`: a thread without the answer was under way to the page.
    pub(super) fn answer(&mut self, tab: TabId, ask: &StepId, value: Value, files: Vec<StoredFile>, echo: bool) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        let Some(open) = self.asks.get(ask) else {
            info!(thread = %self.thread, "late answer ignored");
            return;
        };
        if is_no_answer(&value) {
            return self.unanswered(ask);
        }
        let Some(mut taken) = self.taken(open, value, files, &member) else {
            info!(thread = %self.thread, "ill-shaped answer ignored");
            return;
        };
        taken.message = taken.message.map(|step| self.placed(step));
        let Some(open) = self.asks.shift_remove(ask) else { return };
        let speaker = open.speaker.clone();
        if let Some(step) = &taken.message {
            self.context_of_mut(&speaker).put(step);
        }
        let first = self.first_interaction(&taken.interaction, &member);
        let mut shows = vec![(Audience::All, ServerEvent::TaskEnd)];
        let mut records = Vec::new();
        if let Some((pending, marker)) = first {
            records.extend(pending);
            shows.push((Audience::All, marker));
        }
        shows.extend(self.late_marker(tab, &taken.interaction));
        if let Some(step) = &taken.message {
            let said = Fact::Message { step: step.clone(), interrupted: false };
            records.push(Record::derived(&self.thread, None, 0, Source::User, self.clock.now(), said));
        }
        for file in &taken.files {
            // Stored with the question, not shown: the page that sent it shows it as it likes (chat-wire 4.4).
            let element = Element { thread_id: Some(self.thread.clone()), ..file.attached_to(ask) };
            records.push(self.record(None, Source::User, Fact::Element(element)));
        }
        let ended = Fact::AskEnded { ask: ask.clone(), outcome: Outcome::Answered(taken.value.clone()) };
        records.push(self.record(speaker.run.clone(), Source::User, ended));
        shows.push((Audience::All, ServerEvent::ClearAsk));
        if let Some(step) = taken.message {
            let audience = if echo { Audience::All } else { Audience::WrittenAt(tab) };
            shows.push((audience, ServerEvent::NewMessage(Arc::new(step))));
        }
        if self.goes_on(&speaker) {
            shows.push((Audience::All, ServerEvent::TaskStart));
        }
        self.close(&open, taken.text, &mut records, &mut shows);
        self.ask_next(&mut shows);
        if speaker.attempt.is_some() {
            // Kept aside with what the attempt says; the hook goes on at once.
            self.said(&speaker, records, shows);
            let _ = open.answer.send(taken.value);
            return;
        }
        self.commit(records, shows, Then::Answer(open.answer, taken.value));
    }

    /// Reads an answer by what its question wants. `None` when it is none.
    fn taken(&self, open: &OpenAsk, value: Value, files: Vec<StoredFile>, member: &Member) -> Option<Taken> {
        let plain = |value, interaction: &str, text: Option<String>| {
            Some(Taken { value, interaction: interaction.to_owned(), message: None, files: Vec::new(), text })
        };
        match &open.ask.spec.kind {
            AskKind::Text => {
                let message = ClientMessage::parse_step(value.as_object()?.clone()).ok()?;
                if self.context.has(&message.id) {
                    info!(thread = %self.thread, "answer with a known id");
                    return None;
                }
                let mut step = self.written(&message, member);
                step.kind = StepKind::UserMessage;
                let interaction = step.output.clone();
                Some(Taken { value, interaction, message: Some(step), files: Vec::new(), text: None })
            }
            AskKind::File { .. } => {
                let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
                let interaction = names.join(",");
                let value = serde_json::to_value(&files).ok().filter(|_| !files.is_empty())?;
                Some(Taken { value, interaction, message: None, files, text: None })
            }
            AskKind::Action { .. } => {
                let id = value.get("id").and_then(Value::as_str)?;
                let action = open.actions.iter().find(|action| action.id.as_str() == id)?;
                let label = if action.label.is_empty() { &action.name } else { &action.label };
                let text = format!("**Selected:** {label}");
                plain(serde_json::to_value(&**action).ok()?, &action.name, Some(text))
            }
            AskKind::Element { .. } => {
                let submitted = value.as_object()?.get("submitted").and_then(Value::as_bool).unwrap_or(false);
                let text = if submitted { "Thanks for submitting" } else { "Cancelled" };
                plain(value, "custom_element", Some(text.to_owned()))
            }
        }
    }

    /// Takes the buttons and the form of a question away. `text`: what it says from now on.
    fn close(
        &mut self,
        open: &OpenAsk,
        text: Option<String>,
        records: &mut Vec<Record>,
        shows: &mut Vec<(Audience, ServerEvent)>,
    ) {
        shows.extend(open.actions.iter().map(|action| (Audience::All, ServerEvent::RemoveAction(action.clone()))));
        if let Some(element) = &open.element {
            self.elements.shift_remove(&element.id);
            let removed = Fact::ElementRemoved(element.id.clone());
            records.push(self.record(open.speaker.run.clone(), Source::App, removed));
            shows.push((Audience::All, ServerEvent::RemoveElement(element.id.clone())));
        }
        if let Some(text) = text {
            let step = Step { output: text, wait_for_answer: false, ..open.ask.msg.clone() };
            let changed = Fact::MessageUpdated(step.clone());
            records.push(self.record(open.speaker.run.clone(), Source::App, changed));
            shows.push((Audience::All, ServerEvent::UpdateMessage(Arc::new(step))));
        }
    }

    /// A page shows one question, and drops it when any of them ends: another that still waits is asked again.
    fn ask_next(&self, shows: &mut Vec<(Audience, ServerEvent)>) {
        let Some(next) = self.asks.values().next_back() else { return };
        let audience = match next.speaker.attempt {
            Some(_) => Audience::Only(TabId(next.speaker.tab)),
            None => Audience::All,
        };
        shows.extend(next.again().into_iter().map(|event| (audience, event)));
    }

    /// Whether work goes on after a question of `speaker` is closed.
    fn goes_on(&self, speaker: &Speaker) -> bool {
        let wrapped = || self.busy_tabs().any(|tab| tab == TabId(speaker.tab));
        speaker.attempt.is_some() || self.is_working() || (speaker.errand.is_some() && wrapped())
    }

    /// The page gave the question back without an answer: the hook goes on without one.
    fn unanswered(&mut self, ask: &StepId) {
        let shows = vec![(Audience::All, ServerEvent::TaskEnd), (Audience::All, ServerEvent::ClearAsk)];
        self.end_ask(ask, Outcome::Cancelled, Source::User, shows);
    }

    /// A question ends without an answer: dropping its sender tells the hook so.
    fn end_ask(&mut self, ask: &StepId, outcome: Outcome, source: Source, mut shows: Vec<(Audience, ServerEvent)>) {
        let Some(open) = self.asks.shift_remove(ask) else { return };
        let speaker = open.speaker.clone();
        let fact = Fact::AskEnded { ask: ask.clone(), outcome };
        let mut records = vec![self.record(speaker.run.clone(), source, fact)];
        if self.goes_on(&speaker) {
            shows.push((Audience::All, ServerEvent::TaskStart));
        }
        let text = match open.ask.spec.kind {
            AskKind::Action { .. } => Some("Timed out: no action was taken".to_owned()),
            AskKind::Element { .. } => Some("Timed out".to_owned()),
            AskKind::Text | AskKind::File { .. } => None,
        };
        self.close(&open, text, &mut records, &mut shows);
        self.ask_next(&mut shows);
        self.said(&speaker, records, shows);
    }

    /// When the next question times out.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.asks.values().map(|ask| ask.deadline).min()
    }

    /// Questions whose time is over.
    pub(super) fn time_out(&mut self, now: Instant) {
        let over: Vec<StepId> =
            self.asks.iter().filter(|(_, ask)| ask.deadline <= now).map(|(id, _)| id.clone()).collect();
        for id in over {
            let shows = vec![(Audience::All, ServerEvent::AskTimeout)];
            self.end_ask(&id, Outcome::TimedOut, Source::App, shows);
        }
    }

    /// The questions of a hook call go with it.
    pub(super) fn cancel_asks(
        &mut self,
        speaker: &Speaker,
        records: &mut Vec<Record>,
        shows: &mut Vec<(Audience, ServerEvent)>,
    ) {
        let asked: Vec<StepId> =
            self.asks.iter().filter(|(_, ask)| ask.speaker.same_work(speaker)).map(|(id, _)| id.clone()).collect();
        let is_any = !asked.is_empty();
        for ask in asked {
            let Some(open) = self.asks.shift_remove(&ask) else { continue };
            let fact = Fact::AskEnded { ask, outcome: Outcome::Cancelled };
            records.push(self.record(speaker.run.clone(), Source::App, fact));
            shows.push((Audience::All, ServerEvent::ClearAsk));
            self.close(&open, None, records, shows);
        }
        if is_any {
            self.ask_next(shows);
        }
    }

    /// The questions of an attempt go with it: nothing of them is stored.
    pub(super) fn drop_asks_of_attempt(&mut self, tab: TabId, attempt: u64) {
        let speaker = Speaker { tab: tab.0, attempt: Some(attempt), ..Speaker::default() };
        let (mut records, mut shows) = (Vec::new(), Vec::new());
        self.cancel_asks(&speaker, &mut records, &mut shows);
        self.cancel_calls(&speaker, &mut shows);
        if !shows.is_empty() {
            self.items.push(Item::show(shows));
        }
    }
}

/// What frontends send when they have no answer (chat-wire 4.4).
fn is_no_answer(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
