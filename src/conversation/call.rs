//! Calling hooks: on their own runtime, each with a voice of its own, ended by its token.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::Shared;
use super::errand::Duty;
use super::job::{Job, SessionHook};
use super::restore::ResumeCall;
use super::state::{Conversation, Work};
use super::tab::TabId;
use crate::chat::{About, Chat, Command, Envelope, HookEnd, Listener, Rename, Speaker, Values, Voice};
use crate::hook::{
    ActionEvent, ChatEvent, Handler, HandlerFuture, HookError, MessageEvent, ResumeEvent, SettingsEvent,
    WindowMessageEvent,
};

/// Calls the hooks of one conversation.
pub(super) struct Caller {
    pub(super) shared: Arc<Shared>,
    pub(super) words: mpsc::Sender<Box<Envelope>>,
}

impl Caller {
    pub(super) fn call(&self, state: &mut Conversation, job: Job) {
        match job {
            Job::Run(run) => self.run(state, &run),
            Job::Resume(tab) => self.resume(state, tab),
            Job::Errand(errand) => self.errand(state, errand),
            Job::ThreadBegan | Job::LookUp(_) => {}
        }
    }

    fn run(&self, state: &Conversation, id: &crate::id::StepId) {
        let Some(run) = state.runs.get(id) else { return };
        let speaker = Speaker { tab: run.tab.0, run: Some(id.clone()), ..Speaker::default() };
        let chat = self.chat(speaker.clone(), run.about.clone(), run.values.clone(), Some(id.clone()));
        let app = &self.shared.app;
        let (name, work) = match &run.work {
            Work::Greet => {
                let hook = app.hooks().chat_start.as_ref();
                ("on_chat_start", hook.map(|hook| hook(app.input(ChatEvent { chat }))))
            }
            Work::Answer(message) => {
                let message = message.clone();
                let hook = app.hooks().message.as_ref();
                ("on_message", hook.map(|hook| hook(app.input(MessageEvent { chat, message }))))
            }
        };
        self.spawn(name, speaker, work, run.cancel.clone());
    }

    fn resume(&self, state: &Conversation, tab: TabId) {
        let Some(ResumeCall { number, thread, about, values, cancel }) = state.resume_call(tab) else { return };
        let speaker = Speaker { tab: tab.0, attempt: Some(number), ..Speaker::default() };
        let chat = self.chat(speaker.clone(), about, values, None);
        let app = &self.shared.app;
        let hook = app.hooks().chat_resume.as_ref();
        let work = hook.map(|hook| hook(app.input(ResumeEvent { chat, thread })));
        self.spawn("on_chat_resume", speaker, work, cancel);
    }

    fn errand(&self, state: &mut Conversation, number: u64) {
        let Some(errand) = state.errands.get_mut(&number) else { return };
        let Some(duty) = errand.duty.take() else { return };
        let speaker = Speaker { tab: errand.tab.0, errand: Some(number), ..Speaker::default() };
        let chat = self.chat(speaker.clone(), errand.about.clone(), errand.values.clone(), None);
        let (name, work) = self.duty(duty, chat);
        self.spawn(name, speaker, work, errand.cancel.clone());
    }

    /// The hook of a duty at work; none when the application has no such hook.
    fn duty(&self, duty: Duty, chat: Chat) -> (&'static str, Option<HandlerFuture<()>>) {
        let app = &self.shared.app;
        let hooks = app.hooks();
        let settings = |hook: &Option<Handler<SettingsEvent>>, chat, settings| {
            hook.as_ref().map(|hook| hook(app.input(SettingsEvent { chat, settings })))
        };
        match duty {
            Duty::Session(which) => {
                let (name, hook) = match which {
                    SessionHook::Stop => ("on_stop", &hooks.stop),
                    SessionHook::Disconnect => ("on_disconnect", &hooks.disconnect),
                    SessionHook::Reconnect => ("on_reconnect", &hooks.reconnect),
                    SessionHook::End => ("on_chat_end", &hooks.chat_end),
                };
                (name, hook.as_ref().map(|hook| hook(app.input(ChatEvent { chat }))))
            }
            Duty::SettingsUpdate(values) => ("on_settings_update", settings(&hooks.settings_update, chat, values)),
            Duty::SettingsEdit(values) => ("on_settings_edit", settings(&hooks.settings_edit, chat, values)),
            Duty::Window(message) => {
                let hook = hooks.window_message.as_ref();
                ("on_window_message", hook.map(|hook| hook(app.input(WindowMessageEvent { chat, message }))))
            }
            Duty::Action(action, answer) => {
                let work = hooks.actions.get(&action.name).map(|hook| hook(app.input(ActionEvent { chat, action })));
                let answered = work.map(|work| -> HandlerFuture<()> {
                    Box::pin(async move {
                        // Whoever asked may have gone.
                        let _ = answer.send(work.await?);
                        Ok(())
                    })
                });
                ("on_action", answered)
            }
        }
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
        let files = self.shared.files.clone();
        let rename = self.rename();
        Chat::new(Voice { speaker, listener, about, values, clock, files, rename }, parent)
    }

    /// The application's say in how things are signed.
    fn rename(&self) -> Option<Rename> {
        self.shared.app.hooks().author_rename.as_ref()?;
        let app = self.shared.app.clone();
        Some(Rename(Arc::new(move |author| {
            let app = app.clone();
            Box::pin(async move { app.renamed(author).await })
        })))
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
                                warn!(hook = name, "hook failed: {}", failure.for_log());
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
