//! The screen: what a page must be showing, as far as the server cannot be sure of it.
//!
//! A page acknowledges nothing. So the server keeps, per live session, what the unproven events add up to, by the
//! page's own rules ([`Page`]), and after a reconnect says it again in events that a page can take twice (design 4).
//! Whatever prefix of the unproven events the page has seen, it ends at the same screen.
//!
//! What is kept is bounded ([`Bounds`]). Beyond that the content is forgotten, and a page that may have missed something
//! of it is given its whole thread again ([`Screen::needs_thread`], [`Screen::refresh`]).

mod beside;
mod bounds;
mod fold;
mod page;
mod refresh;
mod thread;

pub use bounds::Bounds;
pub(crate) use bounds::event as weight;
pub use fold::grow;
pub use page::Page;
pub use thread::{UnprovenThread, fold_onto};

use std::sync::Arc;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use tokio::time::Instant;

use crate::id::StepId;
use crate::protocol::{Ask, CallId, ServerEvent, Step, Token};
use beside::{Buttons, Elements};
use refresh::Forgotten;

/// The number of an event within its session.
pub type Number = u64;

/// What it takes to remember that a step was deleted, in bytes.
const GONE: usize = 128;

/// What the unproven events of one session add up to. When all is proven, it holds the ids of the page's steps alone.
#[derive(Debug, Default)]
pub struct Screen {
    bounds: Bounds,
    /// The thread that replaces the page, with what was said since folded onto it.
    thread: Option<UnprovenThread>,
    /// Why there is no such thread.
    missing: Option<(Number, String)>,
    /// The last interaction marker.
    marker: Option<(Number, ServerEvent)>,
    /// That marker announced a thread which is not proven. The two go together: whoever gets the thread gets the marker
    /// before it, though it had that one alone already (promise 2).
    restoring: bool,
    /// Under which number a thread was last sent, while that is unproven.
    wipes: Option<Number>,
    /// What is no longer known of what is unproven.
    forgotten: Forgotten,
    /// Every step of the page with its parent, in the page's order: what an update, a child or a deletion meets.
    tree: IndexMap<StepId, Option<StepId>>,
    /// Steps that are unproven or still growing, in order of creation.
    steps: IndexMap<StepId, Shown>,
    /// What these weigh.
    bytes: usize,
    elements: Elements,
    buttons: Buttons,
    /// Settings, commands, modes, the side view: the last of each counts.
    latest: IndexMap<&'static str, (Number, ServerEvent)>,
    working: bool,
    question: Option<Question>,
    /// Open calls of functions of the host page; the event while it is unproven.
    calls: IndexMap<CallId, (Number, Option<ServerEvent>)>,
}

/// One step of the screen.
#[derive(Debug)]
struct Shown {
    last: Number,
    /// None: it was deleted.
    step: Option<Step>,
    /// The number it was created under, while that is unproven.
    created: Option<Number>,
    /// It was deleted before it was created, so the page may show it in its old place.
    again: bool,
    /// What it weighs.
    bytes: usize,
}

/// An open question.
#[derive(Debug)]
struct Question {
    ask: Arc<Ask>,
    deadline: Instant,
}

impl Screen {
    /// A screen of a page that shows nothing.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Takes an event that is sent under `number`, or that the page shows by itself.
    pub fn apply(&mut self, number: Number, event: &ServerEvent) {
        match event {
            ServerEvent::TaskStart => self.working = true,
            ServerEvent::TaskEnd => self.working = false,
            ServerEvent::NewMessage(step) | ServerEvent::StreamStart(step) => self.put(number, step, true),
            ServerEvent::UpdateMessage(step) => self.put(number, step, false),
            ServerEvent::StreamToken(token) => self.grow(number, token),
            ServerEvent::DeleteMessage(step) => self.delete(number, &step.id),
            ServerEvent::FirstInteraction { interaction, .. } => {
                self.restoring = interaction == "resume";
                self.marker = Some((number, event.clone()));
            }
            ServerEvent::ResumeThread(thread) => {
                self.steps.clear();
                self.bytes = 0;
                self.tree.clear();
                for step in &thread.steps {
                    self.wrote(step);
                }
                self.elements.replaced();
                self.missing = None;
                self.wipes = Some(number);
                let is_repeated = self.thread.as_ref().is_some_and(|known| Arc::ptr_eq(&known.folded(), thread));
                self.forgotten.mended(is_repeated);
                self.thread = Some(UnprovenThread::new(thread));
                // A step that is still growing must keep its text for later, when the thread is proven. One that is too
                // long for that is forgotten with its next token.
                for step in thread.steps.iter().filter(|step| step.streaming) {
                    let bytes = bounds::step(step);
                    if !self.is_over(1, bytes) {
                        let shown =
                            Shown { last: number, step: Some(step.clone()), created: None, again: false, bytes };
                        self.keep(step.id.clone(), shown);
                    }
                }
            }
            ServerEvent::ResumeThreadError(text) => self.missing = Some((number, text.clone())),
            ServerEvent::Ask(ask) => {
                let deadline = Instant::now() + Duration::from_secs(ask.spec.timeout);
                self.question = Some(Question { ask: ask.clone(), deadline });
                self.put(number, &ask.msg, true);
            }
            ServerEvent::ClearAsk | ServerEvent::AskTimeout => self.question = None,
            ServerEvent::Element(element) => self.elements.put(number, element, self.bounds),
            ServerEvent::RemoveElement(id) => self.elements.remove(number, id),
            ServerEvent::Action(action) => self.buttons.put(number, action, true, self.bounds),
            ServerEvent::RemoveAction(action) => self.buttons.put(number, action, false, self.bounds),
            ServerEvent::ChatSettings(_)
            | ServerEvent::SetCommands(_)
            | ServerEvent::SetModes(_)
            | ServerEvent::SetFavorites(_)
            | ServerEvent::SetSidebarTitle(_)
            | ServerEvent::SetSidebarElements { .. } => {
                self.latest.shift_remove(event.name());
                self.latest.insert(event.name(), (number, event.clone()));
            }
            ServerEvent::CallFn { call, .. } => {
                self.calls.insert(*call, (number, Some(event.clone())));
            }
            ServerEvent::ClearCallFn(Some(call)) | ServerEvent::CallFnTimeout(call) => {
                self.calls.shift_remove(call);
            }
            ServerEvent::ClearCallFn(None)
            | ServerEvent::TokenUsage(_)
            | ServerEvent::Toast(_)
            | ServerEvent::WindowMessage(_)
            | ServerEvent::AudioConnection(_)
            | ServerEvent::AudioInterrupt
            | ServerEvent::Reload => {}
        }
        if self.is_over(0, 0) {
            self.forget(number);
        }
    }

    /// The page shows this step without being told.
    pub fn wrote(&mut self, step: &Step) {
        let placed = step.parent_id.as_ref().is_none_or(|parent| self.tree.contains_key(parent));
        if placed {
            self.tree.entry(step.id.clone()).or_insert_with(|| step.parent_id.clone());
        }
    }

    /// Everything up to `number` reached the page: it need not be said again.
    pub fn proven(&mut self, number: Number) {
        if self.wipes.is_some_and(|wipes| wipes <= number) {
            self.wipes = None;
            self.thread = None;
            self.restoring = false;
            self.forgotten.restored();
        }
        self.forgotten.proven(number);
        if self.missing.as_ref().is_some_and(|(last, _)| *last <= number) {
            self.missing = None;
        }
        if !self.restoring && self.marker.as_ref().is_some_and(|(last, _)| *last <= number) {
            self.marker = None;
        }
        for shown in self.steps.values_mut().filter(|shown| shown.created.is_some_and(|created| created <= number)) {
            shown.created = None;
            shown.again = false;
        }
        let bytes = &mut self.bytes;
        self.steps.retain(|_, shown| {
            let kept = shown.last > number || shown.step.as_ref().is_some_and(|step| step.streaming);
            *bytes -= if kept { 0 } else { shown.bytes };
            kept
        });
        self.elements.proven(number);
        self.buttons.proven(number);
        self.latest.retain(|_, (last, _)| *last > number);
        self.calls.values_mut().filter(|(last, _)| *last <= number).for_each(|(_, event)| *event = None);
        if self.steps.is_empty() {
            self.steps = IndexMap::new();
        }
    }

    /// Whether a thread that was sent may not have arrived.
    #[must_use]
    pub fn thread_pending(&self) -> bool {
        self.wipes.is_some()
    }

    /// What the unproven content weighs, in bytes, the thread that was sent left aside.
    #[must_use]
    pub fn unproven_bytes(&self) -> usize {
        self.bytes + self.elements.bytes() + self.buttons.bytes()
    }

    /// The calls that reached the page and that it cannot answer any more, once it was told to forget them.
    pub fn lost_calls(&mut self) -> Vec<CallId> {
        let lost: Vec<CallId> =
            self.calls.iter().filter(|(_, (_, event))| event.is_none()).map(|(call, _)| *call).collect();
        lost.iter().for_each(|call| drop(self.calls.shift_remove(call)));
        lost
    }

    /// The question that waits for an answer.
    #[must_use]
    pub fn question(&self) -> Option<Arc<Ask>> {
        self.question.as_ref().map(|question| question.ask.clone())
    }

    /// What brings a page to this screen that has seen any prefix of the unproven events, after the three opening
    /// events: in an order that a page can take, each repeatable. Not enough where [`needs_thread`](Self::needs_thread)
    /// says so.
    #[must_use]
    pub fn catch_up(&self) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        events.extend(self.marker.iter().map(|(_, marker)| marker.clone()));
        events.extend(self.missing.iter().map(|(_, text)| ServerEvent::ResumeThreadError(text.clone())));
        // Settings before the thread: they reset the values that the thread sets (chat-wire 9.5).
        events.extend(self.latest.values().filter(|(_, event)| is_settings(event)).map(|(_, event)| event.clone()));
        match &self.thread {
            Some(thread) => events.push(ServerEvent::ResumeThread(thread.folded())),
            None => self.repeat_steps(&mut events),
        }
        events.extend(self.elements.repeated());
        events.extend(self.buttons.repeated());
        events.extend(self.latest.values().filter(|(_, event)| !is_settings(event)).map(|(_, event)| event.clone()));
        events.extend(self.calls.values().filter_map(|(_, event)| event.clone()));
        match &self.question {
            Some(question) => events.push(question.again()),
            None if self.working => events.push(ServerEvent::TaskStart),
            None => {}
        }
        events
    }

    /// Every unproven step, whole. From the first one on that came again, a page may have anything in any place: what
    /// was created since is deleted before it is said, so that all of it stands in its order.
    fn repeat_steps(&self, events: &mut Vec<ServerEvent>) {
        let mut disordered = false;
        for (id, shown) in &self.steps {
            let Some(step) = &shown.step else {
                events.push(ServerEvent::DeleteMessage(Arc::new(fold::deleted(id))));
                continue;
            };
            disordered |= shown.again;
            let step = Arc::new(step.clone());
            if disordered && shown.created.is_some() {
                events.push(ServerEvent::DeleteMessage(step.clone()));
            }
            events.push(if step.streaming { ServerEvent::StreamStart(step) } else { ServerEvent::NewMessage(step) });
        }
    }

    fn put(&mut self, number: Number, step: &Step, creates: bool) {
        let known = self.tree.contains_key(&step.id);
        let orphan = step.parent_id.as_ref().is_some_and(|parent| !self.tree.contains_key(parent));
        if !known && (!creates || orphan) {
            // The page ignores the one and drops the other (chat-wire 9.3).
            return;
        }
        if let Some(thread) = &mut self.thread {
            thread.put(step, creates);
        }
        let bytes = bounds::step(step);
        let mut step = step.clone();
        // The page never moves a step: its first parent stays.
        step.parent_id = self.tree.entry(step.id.clone()).or_insert(step.parent_id).clone();
        let id = step.id.clone();
        let before = self.steps.get(&id).map(Shown::birth);
        if !known && let Some(gone) = self.steps.shift_remove(&id) {
            // It stands at the end now, not where it was before it was deleted.
            self.bytes -= gone.bytes;
        }
        let created = if known { before.and_then(|(created, _)| created) } else { Some(number) };
        let again = before.is_some_and(|(_, again)| again || !known);
        self.keep(id, Shown { last: number, step: Some(step), created, again, bytes });
    }

    fn grow(&mut self, number: Number, token: &Token) {
        if let Some(thread) = &mut self.thread {
            thread.grow(token);
        }
        match self.steps.get_mut(&token.id) {
            Some(shown) => {
                let Some(step) = &mut shown.step else { return };
                let before = step.input.len() + step.output.len();
                fold::grow(step, token);
                let after = step.input.len() + step.output.len();
                shown.last = number;
                shown.bytes = shown.bytes + after - before;
                self.bytes = self.bytes + after - before;
            }
            None if self.tree.contains_key(&token.id) => self.forgotten.missed(number),
            None => {}
        }
    }

    fn delete(&mut self, number: Number, id: &StepId) {
        if let Some(thread) = &mut self.thread {
            thread.delete(id);
        }
        let mut gone = IndexSet::from([id.clone()]);
        // Parents stand before children, so one pass finds all that is below.
        for (id, parent) in &self.tree {
            if parent.as_ref().is_some_and(|parent| gone.contains(parent)) {
                gone.insert(id.clone());
            }
        }
        self.tree.retain(|id, _| !gone.contains(id));
        for id in gone {
            self.keep(id, Shown { last: number, step: None, created: None, again: false, bytes: GONE });
        }
    }

    fn keep(&mut self, id: StepId, shown: Shown) {
        self.bytes += shown.bytes;
        if let Some(former) = self.steps.insert(id, shown) {
            self.bytes -= former.bytes;
        }
    }

    /// Whether there is more than may be kept, with so much on top.
    fn is_over(&self, steps: usize, bytes: usize) -> bool {
        self.steps.len() + self.elements.len() + steps > self.bounds.steps
            || self.bytes + self.elements.bytes() + bytes > self.bounds.bytes
    }
}

impl Shown {
    /// When it was created, if that is unproven, and whether the page may show it in an older place.
    fn birth(&self) -> (Option<Number>, bool) {
        (self.created, self.again)
    }
}

fn is_settings(event: &ServerEvent) -> bool {
    matches!(event, ServerEvent::ChatSettings(_))
}

impl Question {
    /// The question with the time that is left: whole seconds, rounded up.
    fn again(&self) -> ServerEvent {
        let left = self.deadline.saturating_duration_since(Instant::now());
        ServerEvent::Ask(Arc::new(self.ask.with_time_left(left)))
    }
}
