//! Questions: open until somebody answers, the time is over, or the run ends. Exactly one of these happens.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::info;

use super::feed::{Audience, Item, Then};
use super::state::Conversation;
use super::tab::TabId;
use crate::chat::Speaker;
use crate::id::StepId;
use crate::protocol::{Ask, AskKind, AskSpec, ClientMessage, ServerEvent, Step, whole_seconds};
use crate::record::{Fact, Outcome, Record, Source};

/// A question that waits for an answer.
pub(super) struct OpenAsk {
    ask: Arc<Ask>,
    speaker: Speaker,
    deadline: Instant,
    answer: oneshot::Sender<Value>,
}

impl OpenAsk {
    /// The question for a tab that comes to it later, with the time that is left.
    pub(super) fn again(&self) -> ServerEvent {
        let left = self.deadline.saturating_duration_since(Instant::now());
        ServerEvent::Ask(Arc::new(self.ask.with_time_left(left)))
    }
}

impl Conversation {
    pub(super) fn ask(&mut self, speaker: Speaker, step: Step, timeout: Duration, answer: oneshot::Sender<Value>) {
        let step = self.here(step);
        let spec = AskSpec { step_id: step.id.clone(), timeout: whole_seconds(timeout), kind: AskKind::Text };
        let fact = Fact::Asked {
            step: step.clone(),
            spec: serde_json::to_value(&spec).unwrap_or_default(),
            timeout_at: self.clock.now() + timeout,
        };
        let record = self.record(speaker.run.clone(), Source::App, fact);
        let id = step.id.clone();
        let ask = Arc::new(Ask { msg: step, spec });
        self.said(&speaker, vec![record], vec![(Audience::All, ServerEvent::Ask(ask.clone()))]);
        self.asks.insert(id, OpenAsk { ask, speaker, deadline: Instant::now() + timeout, answer });
    }

    /// A page answered. The first answer counts; a late, doubled or ill-shaped one is ignored. `echo`: a thread without
    /// it was under way to the page.
    pub(super) fn answer(&mut self, tab: TabId, ask: &StepId, value: Value, echo: bool) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        if !self.asks.contains_key(ask) {
            info!(thread = %self.thread, "late answer ignored");
            return;
        }
        if is_no_answer(&value) {
            return self.unanswered(ask);
        }
        let parsed = value.as_object().cloned().map(ClientMessage::parse_step);
        let Some(Ok(message)) = parsed else {
            info!(thread = %self.thread, "ill-shaped answer ignored");
            return;
        };
        if self.context.has(&message.id) {
            info!(thread = %self.thread, "answer with a known id ignored");
            return;
        }
        let Some(OpenAsk { speaker, answer, .. }) = self.asks.shift_remove(ask) else { return };
        let mut step = self.written(&message, &member);
        step.kind = crate::protocol::StepKind::UserMessage;
        self.context_of_mut(&speaker).put(&step);
        let first = self.first_interaction(&step.output, &member);
        let mut shows = vec![(Audience::All, ServerEvent::TaskEnd)];
        let mut records = Vec::new();
        if let Some((pending, marker)) = first {
            records.extend(pending);
            shows.push((Audience::All, marker));
        }
        shows.extend(self.late_marker(tab, &step.output));
        let said = Fact::Message { step: step.clone(), interrupted: false };
        records.push(Record::derived(&self.thread, None, 0, Source::User, self.clock.now(), said));
        let ended = Fact::AskEnded { ask: ask.clone(), outcome: Outcome::Answered(value.clone()) };
        records.push(self.record(speaker.run.clone(), Source::User, ended));
        shows.push((Audience::All, ServerEvent::ClearAsk));
        let audience = if echo { Audience::All } else { Audience::WrittenAt(tab) };
        shows.push((audience, ServerEvent::NewMessage(Arc::new(step))));
        if speaker.attempt.is_some() || self.is_working() {
            shows.push((Audience::All, ServerEvent::TaskStart));
        }
        if speaker.attempt.is_some() {
            // Kept aside with what the attempt says; the hook goes on at once.
            self.said(&speaker, records, shows);
            let _ = answer.send(value);
            return;
        }
        self.commit(records, shows, Then::Answer(answer, value));
    }

    /// The page gave the question back without an answer: the hook goes on without one.
    fn unanswered(&mut self, ask: &StepId) {
        let Some(OpenAsk { speaker, answer, .. }) = self.asks.shift_remove(ask) else { return };
        let fact = Fact::AskEnded { ask: ask.clone(), outcome: Outcome::Cancelled };
        let record = self.record(speaker.run.clone(), Source::User, fact);
        let mut shows = vec![(Audience::All, ServerEvent::TaskEnd), (Audience::All, ServerEvent::ClearAsk)];
        if speaker.attempt.is_some() || self.is_working() {
            shows.push((Audience::All, ServerEvent::TaskStart));
        }
        self.said(&speaker, vec![record], shows);
        drop(answer);
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
            let Some(OpenAsk { speaker, answer, .. }) = self.asks.shift_remove(&id) else { continue };
            let fact = Fact::AskEnded { ask: id, outcome: Outcome::TimedOut };
            let record = self.record(speaker.run.clone(), Source::App, fact);
            let mut shows = vec![(Audience::All, ServerEvent::AskTimeout)];
            if speaker.attempt.is_some() || self.is_working() {
                shows.push((Audience::All, ServerEvent::TaskStart));
            }
            self.said(&speaker, vec![record], shows);
            // Dropping it tells the hook that nobody answered.
            drop(answer);
        }
    }

    /// The questions of a run go with it.
    pub(super) fn cancel_asks(
        &mut self,
        run: &StepId,
        records: &mut Vec<Record>,
        shows: &mut Vec<(Audience, ServerEvent)>,
    ) {
        let asked: Vec<StepId> = self
            .asks
            .iter()
            .filter(|(_, ask)| ask.speaker.run.as_ref() == Some(run))
            .map(|(id, _)| id.clone())
            .collect();
        for ask in asked {
            self.asks.shift_remove(&ask);
            let fact = Fact::AskEnded { ask, outcome: Outcome::Cancelled };
            records.push(self.record(Some(run.clone()), Source::App, fact));
            shows.push((Audience::All, ServerEvent::ClearAsk));
        }
    }

    /// The questions of an attempt go with it.
    pub(super) fn drop_asks_of_attempt(&mut self, attempt: u64) {
        let before = self.asks.len();
        self.asks.retain(|_, ask| ask.speaker.attempt != Some(attempt));
        if self.asks.len() < before {
            self.items.push(Item::show(vec![(Audience::All, ServerEvent::ClearAsk)]));
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
