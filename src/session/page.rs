//! The session's page, as conversations see it; where the chain of thought is hidden, stubs take the place of steps.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Outbox, Session};
use crate::config::CotMode;
use crate::conversation::Tab;
use crate::id::{StepId, ThreadId};
use crate::protocol::ServerEvent;

/// Speaks into the session's outbox.
pub(super) struct Page {
    outbox: Arc<Outbox>,
    session: Weak<Session>,
    /// What the page may not see, where there is such: the ids of steps that it knows as stubs. A token names its step by
    /// the id alone.
    hidden: Option<Mutex<HashSet<StepId>>>,
}

impl Page {
    pub(super) fn new(session: &Arc<Session>) -> Self {
        let hides = session.config().ui.cot == CotMode::Hidden;
        let hidden = hides.then(Mutex::default);
        Self { outbox: session.outbox.clone(), session: Arc::downgrade(session), hidden }
    }
}

impl Tab for Page {
    fn show(&self, event: ServerEvent) {
        let shown = match &self.hidden {
            Some(hidden) => stubbed(event, &mut hidden.lock().unwrap_or_else(PoisonError::into_inner)),
            None => Some(event),
        };
        if let Some(event) = shown {
            self.outbox.show(event);
        }
    }

    fn wrote(&self, event: ServerEvent) {
        self.outbox.wrote(event);
    }

    fn began(&self, thread: &ThreadId) {
        if let Some(session) = self.session.upgrade() {
            session.lock().thread = thread.clone();
            session.remember(thread, true);
        }
    }
}

/// The event as a page sees it that is not shown the chain of thought (chat-wire 4.3): each word on a hidden step is the
/// same stub again, which keeps the tree together and says nothing; a token, which would be that too, is left out.
fn stubbed(event: ServerEvent, hidden: &mut HashSet<StepId>) -> Option<ServerEvent> {
    Some(match event {
        ServerEvent::NewMessage(step) | ServerEvent::UpdateMessage(step) | ServerEvent::StreamStart(step)
            if step.is_hidden_thought() =>
        {
            hidden.insert(step.id.clone());
            ServerEvent::NewMessage(Arc::new(step.stub()))
        }
        ServerEvent::DeleteMessage(step) if step.is_hidden_thought() => {
            hidden.remove(&step.id);
            ServerEvent::DeleteMessage(Arc::new(step.stub()))
        }
        ServerEvent::StreamToken(token) if hidden.contains(&token.id) => return None,
        ServerEvent::ResumeThread(thread) => {
            // What is stored is sent as it is, as ever; what still grows goes on unseen.
            let growing = thread.steps.iter().filter(|step| step.is_hidden_thought() && step.end.is_none());
            hidden.extend(growing.map(|step| step.id.clone()));
            ServerEvent::ResumeThread(thread)
        }
        other => other,
    })
}
