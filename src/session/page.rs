//! The session's page, as conversations see it; where the chain of thought is hidden, stubs take the place of steps.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Outbox, Session};
use crate::config::CotMode;
use crate::conversation::Tab;
use crate::id::{StepId, ThreadId};
use crate::protocol::{ServerEvent, Thread};

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

    fn refresh(&self, thread: Arc<Thread>) {
        let thread = match &self.hidden {
            Some(hidden) => as_shown(thread, &hidden.lock().unwrap_or_else(PoisonError::into_inner)),
            None => thread,
        };
        self.outbox.refresh(thread);
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
        ServerEvent::NewMessage(step) | ServerEvent::StreamStart(step) if step.is_hidden_thought() => {
            hidden.insert(step.id.clone());
            ServerEvent::NewMessage(Arc::new(step.stub()))
        }
        ServerEvent::UpdateMessage(step) if step.is_hidden_thought() => {
            hidden.insert(step.id.clone());
            ServerEvent::UpdateMessage(Arc::new(step.stub()))
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

/// The thread as the page was shown it: with stubs where it knows stubs.
fn as_shown(mut thread: Arc<Thread>, hidden: &HashSet<StepId>) -> Arc<Thread> {
    let steps = &mut Arc::make_mut(&mut thread).steps;
    for step in steps.iter_mut().filter(|step| step.is_hidden_thought() && hidden.contains(&step.id)) {
        *step = step.stub();
    }
    thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Step, StepKind, Token};

    fn step(id: &str, kind: StepKind) -> Arc<Step> {
        let mut step = Step::new(id.into(), "T".into(), kind, "think");
        step.output = "secret".into();
        Arc::new(step)
    }

    fn token(id: &str) -> ServerEvent {
        ServerEvent::StreamToken(Token { id: id.into(), token: "secret".into(), is_sequence: false, is_input: false })
    }

    #[test]
    fn a_hidden_step_says_where_it_is_and_nothing_else() {
        let mut hidden = HashSet::new();
        let mut see = |event| stubbed(event, &mut hidden).map(|event| serde_json::to_string(&event).unwrap());
        for event in [
            ServerEvent::NewMessage(step("S", StepKind::Tool)),
            ServerEvent::StreamStart(step("S", StepKind::Tool)),
            ServerEvent::UpdateMessage(step("S", StepKind::Tool)),
            ServerEvent::DeleteMessage(step("S", StepKind::Tool)),
        ] {
            let seen = see(event).unwrap();
            assert_eq!(
                seen,
                r#"{"id":"S","threadId":"T","parentId":null,"name":"think","type":"tool","input":"","output":""}"#
            );
        }
        see(ServerEvent::StreamStart(step("S", StepKind::Llm)));
        see(ServerEvent::StreamStart(step("M", StepKind::AssistantMessage)));
        assert_eq!(see(token("S")), None);
        assert!(see(token("M")).unwrap().contains("secret"));
    }

    #[test]
    fn a_step_that_grows_in_the_thread_that_is_sent_goes_on_unseen() {
        let mut hidden = HashSet::new();
        let mut ended = Step::clone(&step("E", StepKind::Tool));
        ended.end = Some(crate::protocol::Timestamp::from_micros(1));
        let steps =
            vec![ended, Step::clone(&step("S", StepKind::Tool)), Step::clone(&step("M", StepKind::UserMessage))];
        let thread = serde_json::json!({"id": "T", "steps": [], "elements": []});
        let mut thread: crate::protocol::Thread = serde_json::from_value(thread).unwrap();
        thread.steps = steps;
        stubbed(ServerEvent::ResumeThread(Arc::new(thread)), &mut hidden);
        assert_eq!(hidden, HashSet::from(["S".into()]));
    }
}
