//! What a session still owes its page: events in order, each with a number, and what of it is proven.
//!
//! The outbox belongs to the session, not to a socket. A pump takes from it for the connection that the session has
//! now; a pump whose connection was replaced gets nothing any more. Nothing here waits, so nobody who speaks to a page
//! is ever held up by one.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::protocol::ServerEvent;

/// The order in which transports were opened. An older connection never displaces a newer one (promise 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionNumber(pub u64);

/// An event with its number within the session. Numbers grow by one with every event, over all connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number.
    pub number: u64,
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
    /// The connection that is served, once its page has said that it is ready.
    connection: Option<ConnectionNumber>,
    /// The last number given.
    last: u64,
    /// Everything up to here is known to have reached the page.
    proven: u64,
    /// What is not yet handed to the pump of the connection.
    waiting: VecDeque<Entry>,
    /// What was handed over and is not proven.
    unproven: VecDeque<Entry>,
}

impl Outbox {
    /// Adds an event at the end and gives its number.
    pub fn push(&self, event: ServerEvent) -> u64 {
        let number = {
            let mut state = self.lock();
            state.last += 1;
            let number = state.last;
            state.waiting.push_back(Entry { number, event });
            number
        };
        self.changed.notify_one();
        number
    }

    /// The next events for `connection`, at most `most` of them; waits while there are none. `None` when the
    /// connection is not the session's any more. Cancel safe: what was not returned is still there.
    pub async fn next(&self, connection: ConnectionNumber, most: usize) -> Option<Vec<Entry>> {
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                match state.connection {
                    Some(current) if current == connection && !state.waiting.is_empty() => {
                        let count = state.waiting.len().min(most);
                        let batch: Vec<Entry> = state.waiting.drain(..count).collect();
                        state.unproven.extend(batch.iter().cloned());
                        return Some(batch);
                    }
                    Some(current) if current > connection => return None,
                    _ => {}
                }
            }
            changed.await;
        }
    }

    /// Everything up to `number` reached the page over `connection`. A proof from a replaced connection counts as
    /// well: what reached the page reached it. Gives the highest number proven.
    pub fn proven(&self, number: u64) -> u64 {
        let mut state = self.lock();
        state.proven = state.proven.max(number.min(state.last));
        let proven = state.proven;
        state.unproven.retain(|entry| entry.number > proven);
        proven
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
