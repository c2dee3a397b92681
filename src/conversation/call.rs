//! Calling hooks: on their own runtime, each with a voice of its own, ended by its token.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::Shared;
use super::job::{Job, SessionHook};
use super::restore::ResumeCall;
use super::state::{Conversation, Work};
use super::tab::{Member, TabId};
use crate::chat::{About, Chat, Command, Envelope, HookEnd, Listener, Speaker, Values, Voice};
use crate::hook::{ChatEvent, HandlerFuture, HookError, MessageEvent, ResumeEvent, UserMessage};

/// Calls the hooks of one conversation.
pub(super) struct Caller {
    pub(super) shared: Arc<Shared>,
    pub(super) words: mpsc::Sender<Box<Envelope>>,
}

impl Caller {
    pub(super) fn call(&self, state: &Conversation, job: Job) {
        match job {
            Job::Run(run) => self.run(state, &run),
            Job::Resume(tab) => self.resume(state, tab),
            Job::Session(tab, hook) => self.session(state, tab, hook),
            Job::ThreadBegan => {}
        }
    }

    fn run(&self, state: &Conversation, id: &crate::id::StepId) {
        let Some(run) = state.runs.get(id) else { return };
        let speaker = Speaker { tab: run.tab.0, run: Some(id.clone()), attempt: None };
        let chat = self.chat(speaker.clone(), run.about.clone(), run.values.clone(), Some(id.clone()));
        let app = &self.shared.app;
        let (name, work) = match &run.work {
            Work::Greet => {
                let hook = app.hooks().chat_start.as_ref();
                ("on_chat_start", hook.map(|hook| hook(app.input(ChatEvent { chat }))))
            }
            Work::Answer(message) => {
                let message = UserMessage::new(message.clone());
                let hook = app.hooks().message.as_ref();
                ("on_message", hook.map(|hook| hook(app.input(MessageEvent { chat, message }))))
            }
        };
        self.spawn(name, speaker, work, run.cancel.clone());
    }

    fn resume(&self, state: &Conversation, tab: TabId) {
        let Some(ResumeCall { number, thread, about, values, cancel }) = state.resume_call(tab) else { return };
        let speaker = Speaker { tab: tab.0, run: None, attempt: Some(number) };
        let chat = self.chat(speaker.clone(), about, values, None);
        let app = &self.shared.app;
        let hook = app.hooks().chat_resume.as_ref();
        let work = hook.map(|hook| hook(app.input(ResumeEvent { chat, thread })));
        self.spawn("on_chat_resume", speaker, work, cancel);
    }

    fn session(&self, state: &Conversation, tab: TabId, which: SessionHook) {
        let Some(Member { about, values, .. }) = state.members.get(&tab) else { return };
        let hooks = self.shared.app.hooks();
        let (name, hook) = match which {
            SessionHook::Stop => ("on_stop", &hooks.stop),
            SessionHook::Disconnect => ("on_disconnect", &hooks.disconnect),
            SessionHook::Reconnect => ("on_reconnect", &hooks.reconnect),
            SessionHook::End => ("on_chat_end", &hooks.chat_end),
        };
        let Some(hook) = hook else { return };
        let speaker = Speaker { tab: tab.0, run: None, attempt: None };
        let chat = self.chat(speaker.clone(), about.clone(), values.clone(), None);
        let work = hook(self.shared.app.input(ChatEvent { chat }));
        self.spawn(name, speaker, Some(work), CancellationToken::new());
    }

    fn chat(
        &self,
        speaker: Speaker,
        about: Arc<About>,
        values: Arc<Values>,
        parent: Option<crate::id::StepId>,
    ) -> Chat {
        let listener = Listener::Conversation(self.words.clone());
        let clock = self.shared.clock.clone();
        Chat::new(Voice { speaker, listener, about, values, clock }, parent)
    }

    /// Runs a hook to its end and says so, after all that it said. A hook that does not exist ends at once.
    fn spawn(&self, name: &'static str, speaker: Speaker, work: Option<HandlerFuture<()>>, cancel: CancellationToken) {
        let words = self.words.clone();
        self.shared.hooks.spawn(async move {
            let end = match work {
                None => HookEnd::Returned,
                Some(work) => {
                    let work = AssertUnwindSafe(work).catch_unwind();
                    tokio::select! {
                        biased;
                        () = cancel.cancelled() => HookEnd::Cancelled,
                        result = work => match result {
                            Ok(Ok(())) => HookEnd::Returned,
                            Ok(Err(failure)) => {
                                warn!(hook = name, "hook failed: {failure}");
                                HookEnd::Failed(failure)
                            }
                            Err(_) => {
                                error!(hook = name, "hook panicked");
                                HookEnd::Failed(HookError::tell("Something went wrong. Please try again."))
                            }
                        },
                    }
                }
            };
            // Only when the conversation is over is there nobody to tell.
            let _ = words.send(Box::new(Envelope { speaker, command: Command::End(end) })).await;
        });
    }
}
