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
use crate::protocol::{Ask, CallId, ServerEvent};
use crate::screen::{Number, Screen};

/// A proof may overtake a message that was sent before it, by the time that frames wait inside this process.
const OVERTAKING: Duration = Duration::from_secs(1);

/// What waits for a slow page, at most; beyond that it is told what the events add up to instead of each of them.
const MOST_WAITING: usize = 4096;

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
#[derive(Debug, Default)]
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
    /// What is not yet handed to the pump of the connection.
    waiting: VecDeque<Entry>,
    /// The page was so far behind that what waited was given up: once its pump comes, it gets what the screen adds up to.
    folded: bool,
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

impl Outbox {
    /// A newer socket belongs to the session. Nothing is sent to it before it is [`ready`](Self::ready), and nothing
    /// to the former one from now on.
    pub fn expect(&self, connection: ConnectionNumber) {
        let mut state = self.lock();
        state.newest = Some(connection);
        state.connection = None;
        drop(state);
        self.changed.notify_waiters();
    }

    /// The page behind `connection` is ready: it gets the opening events and whatever it may have missed.
    pub fn ready(&self, connection: ConnectionNumber) {
        let mut state = self.lock();
        if state.newest != Some(connection) {
            return;
        }
        state.connection = Some(connection);
        state.asked.clear();
        state.catch_up();
        drop(state);
        self.changed.notify_waiters();
    }

    /// The socket is gone.
    pub fn lost(&self, connection: ConnectionNumber) {
        let mut state = self.lock();
        if state.connection == Some(connection) {
            state.connection = None;
            state.give_up_repeatable();
        }
    }

    /// The next events for `connection`, at most `most` of them; waits while there are none. `None` when a newer
    /// connection has taken its place. Cancel safe: what was not returned is still there.
    pub async fn next(&self, connection: ConnectionNumber, most: usize) -> Option<Vec<Entry>> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if state.newest != Some(connection) {
                    return None;
                }
                if state.connection == Some(connection) && state.folded && state.waiting.is_empty() {
                    state.catch_up();
                }
                if state.connection == Some(connection) && !state.waiting.is_empty() {
                    let count = state.waiting.len().min(most);
                    return Some(state.waiting.drain(..count).collect());
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
    }

    /// Whether a page that sent something just now may lose it from its list: a thread that replaces the list may have
    /// come after it was written. To be asked when the message comes; when it is stored, the proof is there.
    pub fn may_have_wiped(&self) -> bool {
        let state = self.lock();
        state.screen.thread_pending() || state.thread_proven.is_some_and(|proven| proven.elapsed() < OVERTAKING)
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
    /// The opening events, then what the page may have missed, then what cannot be repeated and was never written.
    fn catch_up(&mut self) {
        self.give_up_repeatable();
        self.folded = false;
        let missed = self.screen.catch_up();
        self.lost_calls.extend(self.screen.lost_calls());
        let owed: Vec<ServerEvent> = self.waiting.drain(..).map(|entry| entry.event).collect();
        let opening = [ServerEvent::TaskEnd, ServerEvent::ClearAsk, ServerEvent::ClearCallFn(None)];
        for event in opening.into_iter().chain(missed).chain(owed) {
            self.push(event);
        }
    }

    fn give_up_repeatable(&mut self) {
        self.waiting.retain(|entry| !is_repeatable(&entry.event));
    }

    fn push(&mut self, event: ServerEvent) {
        self.last += 1;
        let number = self.last;
        self.screen.apply(number, &event);
        match &event {
            ServerEvent::Ask(ask) => self.asked.push((number, Asked::Question(ask.msg.id.clone()))),
            ServerEvent::CallFn { call, .. } => self.asked.push((number, Asked::Call(*call))),
            _ => {}
        }
        let repeatable = is_repeatable(&event);
        if (self.connection.is_none() || self.folded) && repeatable {
            return;
        }
        self.waiting.push_back(Entry { number, event });
        if repeatable && self.waiting.len() > MOST_WAITING {
            self.folded = true;
            self.give_up_repeatable();
        }
        // Only those can be more than a few that nobody takes; the oldest note is the least of them.
        if !repeatable
            && self.waiting.len() > MOST_NOTES
            && self.waiting.iter().all(|entry| !is_repeatable(&entry.event))
        {
            self.waiting.pop_front();
        }
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
