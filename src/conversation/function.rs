//! Calls of functions of the page around a copilot (chat-wire 4.5): open until the page answers, the time is over, or the
//! page can answer no more.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::feed::Audience;
use super::state::Conversation;
use super::tab::TabId;
use crate::chat::{AskError, Speaker};
use crate::protocol::{CallId, ServerEvent};

/// A call that waits for its answer.
pub(super) struct OpenCall {
    speaker: Speaker,
    deadline: Instant,
    answer: oneshot::Sender<Result<Value, AskError>>,
}

/// What became of a call at its page.
#[derive(Clone, Debug)]
pub enum CallEnd {
    /// It was answered.
    Answered(Value),
    /// The page has got it and lost its line: it cannot answer any more.
    Disconnected,
}

impl Conversation {
    pub(super) fn call_function(
        &mut self,
        speaker: Speaker,
        (name, args): (String, Value),
        timeout: Duration,
        answer: oneshot::Sender<Result<Value, AskError>>,
    ) {
        let tab = TabId(speaker.tab);
        if !self.members.contains_key(&tab) {
            return drop(answer.send(Err(AskError::Disconnected)));
        }
        self.next_call += 1;
        let call = CallId(self.next_call);
        self.said(&speaker, Vec::new(), vec![(Audience::Only(tab), ServerEvent::CallFn { call, name, args })]);
        self.calls.insert(call, OpenCall { speaker, deadline: Instant::now() + timeout, answer });
    }

    /// A page has done with a call. A late answer is ignored.
    pub(super) fn call_ended(&mut self, tab: TabId, call: CallId, end: CallEnd) {
        if self.calls.get(&call).is_none_or(|open| TabId(open.speaker.tab) != tab) {
            return;
        }
        let Some(OpenCall { speaker, answer, .. }) = self.calls.remove(&call) else { return };
        let result = match end {
            CallEnd::Answered(value) => Ok(value),
            CallEnd::Disconnected => Err(AskError::Disconnected),
        };
        self.said(&speaker, Vec::new(), vec![(Audience::Only(tab), ServerEvent::ClearCallFn(Some(call)))]);
        let _ = answer.send(result);
    }

    /// When the next call times out.
    pub(super) fn next_call_deadline(&self) -> Option<Instant> {
        self.calls.values().map(|call| call.deadline).min()
    }

    /// Calls whose time is over.
    pub(super) fn time_out_calls(&mut self, now: Instant) {
        let over: Vec<CallId> =
            self.calls.iter().filter(|(_, open)| open.deadline <= now).map(|(call, _)| *call).collect();
        for call in over {
            let Some(OpenCall { speaker, answer, .. }) = self.calls.remove(&call) else { continue };
            let tab = TabId(speaker.tab);
            self.said(&speaker, Vec::new(), vec![(Audience::Only(tab), ServerEvent::CallFnTimeout(call))]);
            let _ = answer.send(Err(AskError::TimedOut));
        }
    }

    /// The calls of a hook that is over go with it.
    pub(super) fn cancel_calls(&mut self, speaker: &Speaker, shows: &mut Vec<(Audience, ServerEvent)>) {
        for (call, open) in self.calls.extract_if(|_, open| open.speaker.same_work(speaker)) {
            shows.push((Audience::Only(TabId(open.speaker.tab)), ServerEvent::ClearCallFn(Some(call))));
        }
    }

    /// A tab is gone: nobody answers its calls any more.
    pub(super) fn drop_calls_of(&mut self, tab: TabId) {
        let gone = self.calls.extract_if(|_, open| TabId(open.speaker.tab) == tab);
        gone.for_each(|(_, open)| drop(open.answer.send(Err(AskError::Disconnected))));
    }
}
