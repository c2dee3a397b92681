//! What a session still owes its page: events in order, each with a number, and what of it is proven.
//!
//! The outbox belongs to the session, not to a socket. A pump takes from it for the connection that the session has
//! now; a pump whose connection was replaced gets nothing any more. Nothing here waits, so nobody who speaks to a page
//! is ever held up by one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::id::StepId;
use crate::metrics::counts;
use crate::protocol::{Ask, CallId, ServerEvent, Thread};
use crate::screen::{Bounds, Number, Screen, weight};

/// A proof may overtake a message that was sent before it, by the time that frames wait inside this process.
const OVERTAKING: Duration = Duration::from_secs(1);

/// Events that cannot be repeated and wait for a page, at most.
const MOST_NOTES: usize = 200;

/// The order in which transports were opened. An older connection never displaces a newer one (promise 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionNumber(pub u64);

/// An event with its number within the session. Numbers grow by one with every event, over all connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number.
    pub number: Number,
    /// The event.
    pub event: ServerEvent,
}

/// The events of one session on their way to its page.
#[derive(Debug)]
pub struct Outbox {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The connection whose page has said that it is ready. Without one, events only change the screen.
    connection: Option<ConnectionNumber>,
    /// The newest connection of the session: the only one that counts.
    newest: Option<ConnectionNumber>,
    /// The last number given.
    last: Number,
    screen: Screen,
    /// When a thread was last proven.
    thread_proven: Option<Instant>,
    bounds: Bounds,
    /// What is not yet handed to the pump of the connection.
    waiting: VecDeque<Entry>,
    /// What that weighs.
    waiting_bytes: usize,
    /// The page was so far behind that what waited was given up: once its pump comes, it gets what the screen adds up to.
    folded: bool,
    /// The page is ready and gets nothing before its thread is there ([`Screen::needs_thread`]).
    awaiting: bool,
    /// Somebody fetches the thread.
    fetching: bool,
    /// What was asked, by the number it was sent under on this connection: a page answers by that.
    asked: Vec<(Number, Asked)>,
    /// Calls that the page cannot answer any more, and whose hooks do not know yet.
    lost_calls: Vec<CallId>,
}

/// Something that a page answers by acknowledging.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A question, by its message.
    Question(StepId),
    /// A call of a function.
    Call(CallId),
}

/// What a pump is given.
#[derive(Debug)]
pub enum Owed {
    /// These events, in order.
    Events(Vec<Entry>),
    /// Nothing yet: fetch the thread and give it to [`Outbox::refresh`]. Said once until
    /// [`wants_thread`](Outbox::wants_thread) has denied it.
    Thread,
}

/// What a page may have missed that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// So many events bring it to its screen.
    Events(usize),
    /// It gets its whole thread.
    Thread,
    /// Nobody asks: a newer connection has taken its place.
    Outdated,
}

impl Outbox {
    /// Nothing is owed to a page that shows nothing.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        let state = State { bounds, screen: Screen::new(bounds), ..State::default() };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// A newer socket belongs to the session. Nothing is sent to it before it is [`ready`](Self::ready), and nothing
    /// to the former one from now on.
    pub fn expect(&self, connection: ConnectionNumber) {
        let mut state = self.lock();
        state.newest = Some(connection);
        state.line_lost();
        drop(state);
        self.changed.notify_waiters();
    }

    /// The page behind `connection` is ready: it gets the opening events and whatever it may have missed.
    pub fn ready(&self, connection: ConnectionNumber) -> Missed {
        let mut state = self.lock();
        if state.newest != Some(connection) {
            return Missed::Outdated;
        }
        state.connection = Some(connection);
        state.asked.clear();
        let missed = state.catch_up();
        drop(state);
        self.changed.notify_waiters();
        missed
    }

    /// The socket is gone.
    pub fn lost(&self, connection: ConnectionNumber) {
        let mut state = self.lock();
        if state.connection == Some(connection) {
            state.line_lost();
            state.give_up_repeatable();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// The next events for `connection`, at most `most` of them; waits while there are none. `None` when a newer
    /// connection has taken its place. Cancel safe: what was not returned is still there.
    pub async fn next(&self, connection: ConnectionNumber, most: usize) -> Option<Owed> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if state.newest != Some(connection) {
                    return None;
                }
                if state.connection == Some(connection)
                    && let Some(owed) = state.next(most)
                {
                    return Some(owed);
                }
            }
            changed.await;
        }
    }

    /// Everything up to `number` reached the page. A proof over a replaced connection counts as well: what reached the
    /// page reached it.
    pub fn proven(&self, number: Number) {
        let mut state = self.lock();
        let pending = state.screen.thread_pending();
        state.screen.proven(number);
        if pending && !state.screen.thread_pending() {
            state.thread_proven = Some(Instant::now());
        }
        // What was forgotten has arrived after all: nobody needs the thread any more.
        let relieved = state.awaiting && !state.screen.needs_thread();
        drop(state);
        if relieved {
            self.changed.notify_waiters();
        }
    }

    /// The whole thread, in place of what the screen has forgotten. Nothing happens when nobody waits for it any more.
    pub fn refresh(&self, thread: Arc<Thread>) {
        let mut state = self.lock();
        if state.awaiting && state.screen.needs_thread() {
            state.last += 1;
            let number = state.last;
            state.screen.refresh(number, thread);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Whether the page still waits for its thread. When it does not, whoever fetched it has done.
    pub fn wants_thread(&self) -> bool {
        let mut state = self.lock();
        let wants = state.awaiting && state.screen.needs_thread();
        state.fetching &= wants;
        wants
    }

    /// Resolves when the page waits for its thread no more. Cancel safe.
    pub async fn relieved(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.lock();
                if !(state.awaiting && state.screen.needs_thread()) {
                    return;
                }
            }
            changed.await;
        }
    }

    /// What is kept for the page, in bytes, a thread that is under way left aside.
    pub fn unproven_bytes(&self) -> usize {
        let state = self.lock();
        state.screen.unproven_bytes() + state.waiting_bytes
    }

    /// Whether a page that sent something just now may lose it from its list: a thread that replaces the list may have
    /// come after it was written. To be asked when the message comes; when it is stored, the proof is there.
    pub fn may_have_wiped(&self) -> bool {
        let state = self.lock();
        state.awaiting
            || state.screen.thread_pending()
            || state.thread_proven.is_some_and(|proven| proven.elapsed() < OVERTAKING)
    }

    /// What was asked under `number` on the present connection.
    pub fn asked(&self, number: Number) -> Option<Asked> {
        self.lock().asked.iter().find(|(asked, _)| *asked == number).map(|(_, id)| id.clone())
    }

    /// The calls that the page cannot answer any more, each once.
    pub fn take_lost_calls(&self) -> Vec<CallId> {
        std::mem::take(&mut self.lock().lost_calls)
    }

    /// The question that waits for an answer at the page.
    pub fn question(&self) -> Option<Arc<Ask>> {
        self.lock().screen.question()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox {
    /// Shows an event.
    pub fn show(&self, event: ServerEvent) {
        let mut state = self.lock();
        state.push(event);
        let wake = state.connection.is_some();
        drop(state);
        if wake {
            self.changed.notify_waiters();
        }
    }

    /// The page's visitor wrote this. The page shows it by itself — unless a thread without it is still under way, which
    /// would wipe it.
    pub fn wrote(&self, event: ServerEvent) {
        let mut state = self.lock();
        if state.screen.thread_pending() {
            state.push(event);
            drop(state);
            self.changed.notify_waiters();
        } else if let ServerEvent::NewMessage(step) = &event {
            state.screen.wrote(step);
        }
    }
}

impl State {
    /// What the page is given next.
    fn next(&mut self, most: usize) -> Option<Owed> {
        if self.folded {
            // Before anything else is sent: a later number would prove what was given up.
            self.catch_up();
        }
        if self.awaiting {
            return (!std::mem::replace(&mut self.fetching, true)).then_some(Owed::Thread);
        }
        if self.waiting.is_empty() {
            return None;
        }
        let count = self.waiting.len().min(most);
        let entries: Vec<Entry> = self.waiting.drain(..count).collect();
        let bytes: usize = entries.iter().map(|entry| weight(&entry.event)).sum();
        self.waiting_bytes -= bytes;
        Some(Owed::Events(entries))
    }

    /// The opening events, then what the page may have missed, then what cannot be repeated and was never written. All of
    /// it later, when the page needs its thread for it.
    fn catch_up(&mut self) -> Missed {
        self.give_up_repeatable();
        self.awaiting = self.screen.needs_thread();
        self.folded = self.awaiting;
        if self.awaiting {
            return Missed::Thread;
        }
        let missed = self.screen.catch_up();
        let outcome = match missed.iter().any(|event| matches!(event, ServerEvent::ResumeThread(_))) {
            true => Missed::Thread,
            false => Missed::Events(missed.len()),
        };
        counts().events_resent.inc_by(missed.len() as u64);
        counts().asks_again.inc_by(missed.iter().filter(|event| matches!(event, ServerEvent::Ask(_))).count() as u64);
        self.lost_calls.extend(self.screen.lost_calls());
        self.waiting_bytes = 0;
        let owed: Vec<ServerEvent> = self.waiting.drain(..).map(|entry| entry.event).collect();
        let opening = [ServerEvent::TaskEnd, ServerEvent::ClearAsk, ServerEvent::ClearCallFn(None)];
        // The screen keeps its bounds: this is not to be given up, or it would be said for ever.
        for event in opening.into_iter().chain(missed).chain(owed) {
            self.queue(event);
        }
        outcome
    }

    fn line_lost(&mut self) {
        self.connection = None;
        self.awaiting = false;
        self.screen.line_lost(self.last);
    }

    fn give_up_repeatable(&mut self) {
        self.waiting.retain(|entry| !is_repeatable(&entry.event));
        self.waiting_bytes = self.waiting.iter().map(|entry| weight(&entry.event)).sum();
    }

    fn push(&mut self, event: ServerEvent) {
        self.queue(event);
        // One alone may be as large as it likes.
        let too_large = self.waiting_bytes > self.bounds.bytes && self.waiting.len() > 1;
        if !self.folded && (self.waiting.len() > self.bounds.waiting || too_large) {
            self.folded = true;
            self.give_up_repeatable();
        }
        // Now only those can be more than a few that nobody takes; the oldest note is the least of them.
        let is_lasting = |waiting: &VecDeque<Entry>| waiting.iter().any(|entry| is_repeatable(&entry.event));
        let is_much = |state: &Self| {
            let large = state.waiting_bytes > state.bounds.bytes && state.waiting.len() > 1;
            state.waiting.len() > MOST_NOTES || large
        };
        while is_much(self) && !is_lasting(&self.waiting) {
            if let Some(oldest) = self.waiting.pop_front() {
                self.waiting_bytes -= weight(&oldest.event);
            }
        }
    }

    fn queue(&mut self, event: ServerEvent) {
        self.last += 1;
        let number = self.last;
        self.screen.apply(number, &event);
        match &event {
            ServerEvent::Ask(ask) => self.asked.push((number, Asked::Question(ask.msg.id.clone()))),
            ServerEvent::CallFn { call, .. } => self.asked.push((number, Asked::Call(*call))),
            _ => {}
        }
        if (self.connection.is_none() || self.folded) && is_repeatable(&event) {
            return;
        }
        self.waiting_bytes += weight(&event);
        self.waiting.push_back(Entry { number, event });
    }
}

/// Whether the screen brings the event back when a page may have missed it.
fn is_repeatable(event: &ServerEvent) -> bool {
    !matches!(
        event,
        ServerEvent::Toast(_)
            | ServerEvent::WindowMessage(_)
            | ServerEvent::TokenUsage(_)
            | ServerEvent::Reload
            | ServerEvent::AudioConnection(_)
            | ServerEvent::AudioInterrupt
    )
}
