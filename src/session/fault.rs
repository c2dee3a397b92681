//! Faults that a test puts in, to see that scenarios and checkers find them. A server that is started by its command has
//! none.

use std::fmt;
use std::sync::Arc;

use super::Entry;
use crate::id::SessionId;

/// What goes wrong on the way to a page.
pub trait Fault: Send + Sync {
    /// What leaves for the page instead of these.
    fn tamper(&self, _: &SessionId, entries: Vec<Entry>) -> Vec<Entry> {
        entries
    }

    /// Whether a session forgets at each of its sockets that its thread was restored.
    fn forgets_restores(&self) -> bool {
        false
    }
}

/// The fault of a server, if a test gave it one.
#[derive(Clone, Default)]
pub struct Faults(pub Option<Arc<dyn Fault>>);

impl Faults {
    pub(super) fn tamper(&self, session: &SessionId, entries: Vec<Entry>) -> Vec<Entry> {
        match &self.0 {
            Some(fault) => fault.tamper(session, entries),
            None => entries,
        }
    }

    pub(super) fn forgets_restores(&self) -> bool {
        self.0.as_ref().is_some_and(|fault| fault.forgets_restores())
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a fault" } else { "no fault" })
    }
}
