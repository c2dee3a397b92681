//! Bringing a tab to its stored thread: marker, hook, thread — once, and all or nothing.
//!
//! An attempt works aside. What its hook says is shown to its tab alone and stored only when the hook has succeeded;
//! then it is told to the other tabs. When the hook fails, the stored thread with the error replaces whatever the tab
//! was shown, so nothing of the failed attempt is left (promise 3).

use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::ask::OpenAsk;
use super::context::Context;
use super::feed::{Audience, Item, Showing, Then};
use super::job::Job;
use super::run::{Closed, Ended};
use super::state::{Conversation, Listening, Stage};
use super::tab::{Member, TabId};
use crate::chat::{About, HookEnd, Speaker, Values};
use crate::hook::ResumedThread;
use crate::id::StepId;
use crate::protocol::{ServerEvent, Step, StoredFile, Thread};
use crate::record::{EndReason, Record};
use crate::screen::fold_onto;

/// Keys of a thread's metadata that are not values of the user session (chat-wire 2.8).
const RESERVED: [&str; 6] = ["id", "env", "chat_settings", "user", "chat_profile", "client_type"];

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restored {
    /// The tab takes part. Never again.
    Done,
    /// The hook failed; the next socket or event tries again.
    Failed,
}

/// One attempt to restore one tab.
pub(super) struct Attempt {
    number: u64,
    /// What happened since the attempt began and may be missing in the thread that is read.
    since: Vec<ServerEvent>,
    work: Option<Working>,
}

/// An attempt whose thread has been read.
struct Working {
    thread: ResumedThread,
    stored: Thread,
    /// The files that came with its messages.
    files: Vec<(StepId, StoredFile)>,
    about: Arc<About>,
    values: Arc<Values>,
    context: Context,
    shown: bool,
    records: Vec<Record>,
    said: Vec<ServerEvent>,
    cancel: CancellationToken,
    done: oneshot::Sender<Restored>,
}

impl Attempt {
    /// What its tab was shown, once it was shown its thread.
    pub(super) fn so_far(&self) -> Option<Thread> {
        let work = self.work.as_ref().filter(|work| work.shown)?;
        let events: Vec<ServerEvent> = self.since.iter().chain(&work.said).cloned().collect();
        Some(fold_onto(work.thread.get(), &events))
    }

    /// Something was shown to tabs that this one does not see yet.
    pub(super) fn missed(&mut self, event: &ServerEvent) {
        if is_content(event) {
            self.since.push(event.clone());
        }
    }
}

/// Whether an event changes what a thread contains.
pub(super) fn is_content(event: &ServerEvent) -> bool {
    matches!(
        event,
        ServerEvent::NewMessage(_)
            | ServerEvent::UpdateMessage(_)
            | ServerEvent::StreamStart(_)
            | ServerEvent::StreamToken(_)
            | ServerEvent::DeleteMessage(_)
            | ServerEvent::Ask(_)
            | ServerEvent::Element(_)
            | ServerEvent::RemoveElement(_)
    )
}

impl Conversation {
    /// A tab is about to be restored: from here on, whatever happens is kept for it, so that its thread may be read
    /// from the store afterwards without a gap.
    pub(super) fn prepare(&mut self, member: Member) {
        let since = self.not_stored().collect();
        self.next_attempt += 1;
        self.attempts.insert(member.id, Attempt { number: self.next_attempt, since, work: None });
        self.listening.remove(&member.id);
        self.members.insert(member.id, member);
    }

    /// What the store may not have yet.
    pub(super) fn not_stored(&self) -> impl Iterator<Item = ServerEvent> {
        let unstored = self.unstored.iter().map(|(_, event)| event.clone());
        let growing = self.growing.values().map(|growing| {
            let step = Arc::new(growing.step.clone());
            if growing.step.streaming { ServerEvent::StreamStart(step) } else { ServerEvent::NewMessage(step) }
        });
        unstored.chain(growing)
    }

    /// The thread was read: the marker goes out and the hook begins.
    pub(super) fn restore(
        &mut self,
        tab: TabId,
        stored: Thread,
        files: Vec<(StepId, StoredFile)>,
        done: oneshot::Sender<Restored>,
    ) {
        let (Some(member), Some(attempt)) = (self.members.get(&tab), self.attempts.get_mut(&tab)) else { return };
        if let Some(newest) = stored.steps.iter().filter_map(|step| step.created_at).max() {
            self.order.below(newest);
        }
        let about = Arc::new(restored_about(&member.about, &stored));
        let values = Arc::new(Values::restored(session_values(&stored.metadata), settings(&stored.metadata)));
        let mut context = self.context.clone();
        let whole = fold_onto(stored.clone(), &attempt.since);
        context.restore(&whole);
        context.attach_all(&files);
        attempt.work = Some(Working {
            thread: ResumedThread::new(stored.clone()),
            stored,
            files,
            about,
            values,
            context,
            shown: false,
            records: Vec::new(),
            said: Vec::new(),
            cancel: CancellationToken::new(),
            done,
        });
        let marker = ServerEvent::FirstInteraction { interaction: "resume".into(), thread_id: self.thread.clone() };
        self.marked.insert(tab);
        let shows = vec![(Audience::Only(tab), marker), (Audience::Only(tab), ServerEvent::TaskStart)];
        self.items.push(Item::show(shows));
        if self.settings.resumes {
            self.jobs.push(Job::Resume(tab));
        } else {
            self.attempt_succeeded(tab);
        }
    }

    /// What the resume hook is called with.
    pub(super) fn resume_call(&self, tab: TabId) -> Option<ResumeCall> {
        let attempt = self.attempts.get(&tab)?;
        let work = attempt.work.as_ref()?;
        Some(ResumeCall {
            number: attempt.number,
            thread: work.thread.clone(),
            about: work.about.clone(),
            values: work.values.clone(),
            cancel: work.cancel.clone(),
        })
    }

    pub(super) fn is_attempting(&self, speaker: &Speaker) -> bool {
        let attempt = self.attempts.get(&TabId(speaker.tab));
        attempt.is_some_and(|attempt| speaker.attempt == Some(attempt.number) && attempt.work.is_some())
    }

    /// The context that a hook sees: an attempt has its own until it succeeds.
    pub(super) fn context_of(&self, speaker: &Speaker) -> &Context {
        let attempt = self.attempts.get(&TabId(speaker.tab)).filter(|_| self.is_attempting(speaker));
        attempt.and_then(|attempt| attempt.work.as_ref()).map_or(&self.context, |work| &work.context)
    }

    pub(super) fn context_of_mut(&mut self, speaker: &Speaker) -> &mut Context {
        if !self.is_attempting(speaker) {
            return &mut self.context;
        }
        let work = self.attempts.get_mut(&TabId(speaker.tab)).and_then(|attempt| attempt.work.as_mut());
        work.map_or(&mut self.context, |work| &mut work.context)
    }

    /// The hook of an attempt said something: its tab is shown the thread first, then this.
    pub(super) fn said_in_attempt(
        &mut self,
        speaker: &Speaker,
        records: Vec<Record>,
        shows: Vec<(Audience, ServerEvent)>,
    ) {
        let tab = TabId(speaker.tab);
        self.show_thread(tab);
        let Some(work) = self.attempts.get_mut(&tab).and_then(|attempt| attempt.work.as_mut()) else { return };
        work.records.extend(records);
        work.said.extend(shows.iter().map(|(_, event)| event.clone()).filter(is_content));
        let shows = shows.into_iter().map(|(audience, event)| match audience {
            // What was typed at the page is on it.
            Audience::WrittenAt(writer) => (Audience::WrittenAt(writer), event),
            _ => (Audience::Only(tab), event),
        });
        let shows = shows.filter(|(audience, _)| *audience != Audience::WrittenAt(tab)).collect();
        self.items.push(Item::show(shows));
    }

    /// Shows the tab its thread, once in an attempt. From here on it is shown the feed.
    fn show_thread(&mut self, tab: TabId) {
        let Some(attempt) = self.attempts.get_mut(&tab) else { return };
        let Some(work) = attempt.work.as_mut().filter(|work| !work.shown) else { return };
        work.shown = true;
        self.listening.insert(tab, Listening::Soon);
        // It is kept: a page may need all of it again, and a thread with the error of the hook does.
        let thread = fold_onto(work.thread.get(), &attempt.since);
        let shows = vec![(Audience::Only(tab), ServerEvent::ResumeThread(Arc::new(thread)))];
        self.items.push(Showing { shows, joins: Some(tab), ..Showing::default() }.into());
    }

    /// The hook of an attempt is over.
    pub(super) fn attempt_ended(&mut self, speaker: &Speaker, end: HookEnd) {
        if !self.is_attempting(speaker) {
            return;
        }
        let tab = TabId(speaker.tab);
        match end {
            HookEnd::Returned => self.attempt_succeeded(tab),
            HookEnd::Failed(error) => {
                let text = self.text_for_person(&error);
                self.attempt_failed(tab, text);
            }
            HookEnd::Cancelled => self.attempt_failed(tab, "The conversation could not be opened.".to_owned()),
        }
    }

    fn attempt_succeeded(&mut self, tab: TabId) {
        self.items.push(Item::show(vec![(Audience::Only(tab), ServerEvent::TaskEnd)]));
        self.show_thread(tab);
        let Some(Attempt { work: Some(work), .. }) = self.attempts.remove(&tab) else { return };
        if let Some(member) = self.members.get_mut(&tab) {
            member.about = work.about;
            member.values = work.values;
        }
        self.context.restore(&work.stored);
        self.context.attach_all(&work.files);
        self.outline.restore(&work.stored);
        self.know_stored(&work.stored);
        for event in &work.said {
            if let ServerEvent::NewMessage(step) | ServerEvent::UpdateMessage(step) = event {
                self.context.put(step);
            }
        }
        let others = work.said.into_iter().map(|event| (Audience::Others(tab), event)).collect();
        self.commit(work.records, others, Then::Nothing);
        let mut shows = Vec::new();
        if self.is_working() {
            shows.push((Audience::Only(tab), ServerEvent::TaskStart));
        }
        shows.extend(self.asks.values().flat_map(OpenAsk::again).map(|event| (Audience::Only(tab), event)));
        // Not before the thread: what the page sends until then would be wiped by it.
        let restored = Some((work.done, Restored::Done));
        self.items.push(Showing { shows, restored, ..Showing::default() }.into());
    }

    fn attempt_failed(&mut self, tab: TabId, text: String) {
        let Some(Attempt { number, work: Some(work), since }) = self.attempts.remove(&tab) else { return };
        self.drop_asks_of_attempt(tab, number);
        self.growing.retain(|id, _| !work.said.iter().any(|event| begins(event, id)));
        self.listening.remove(&tab);
        let mut thread = fold_onto(work.stored, &since);
        let error: Step = self.notice("Error", text, true);
        self.noticed(tab, Arc::new(error.clone()));
        thread.steps.push(error);
        let shows = vec![
            (Audience::Only(tab), ServerEvent::TaskEnd),
            (Audience::Only(tab), ServerEvent::ResumeThread(Arc::new(thread))),
        ];
        let restored = Some((work.done, Restored::Failed));
        self.items.push(Showing { shows, restored, ..Showing::default() }.into());
    }

    /// The tab is gone before its restore was done.
    pub(super) fn abandon(&mut self, tab: TabId) {
        if let Some(attempt) = self.attempts.remove(&tab) {
            self.drop_asks_of_attempt(tab, attempt.number);
            if let Some(work) = attempt.work {
                work.cancel.cancel();
            }
        }
    }

    /// The thread was deleted: what runs in it ends, its tabs are told.
    pub(super) fn deleted(&mut self) {
        self.stage = Stage::Deleted;
        // The pages see every run and text end. The records of it go with the thread.
        let (mut shows, mut gone) = (Vec::new(), Vec::new());
        for run in self.runs.keys().cloned().collect::<Vec<StepId>>() {
            let ended = Ended::Overruled(EndReason::SessionCleared);
            if let Some(Closed { step, .. }) = self.close_run(&run, ended, &mut gone, &mut shows) {
                shows.push((Audience::All, ServerEvent::UpdateMessage(step)));
            }
        }
        self.asks.clear();
        self.calls.clear();
        self.growing.clear();
        let toast = crate::protocol::Toast {
            message: "This conversation was deleted.".into(),
            kind: crate::protocol::ToastKind::Warning,
        };
        shows.extend(
            [ServerEvent::ClearAsk, ServerEvent::TaskEnd, ServerEvent::Toast(toast)].map(|it| (Audience::All, it)),
        );
        self.items.push(Item::show(shows));
    }
}

/// What the resume hook is called with.
pub(super) struct ResumeCall {
    pub(super) number: u64,
    pub(super) thread: ResumedThread,
    pub(super) about: Arc<About>,
    pub(super) values: Arc<Values>,
    pub(super) cancel: CancellationToken,
}

fn begins(event: &ServerEvent, id: &StepId) -> bool {
    matches!(event, ServerEvent::StreamStart(step) | ServerEvent::NewMessage(step) if step.id == *id)
}

/// The values of the user session among a thread's metadata.
fn session_values(metadata: &Map<String, Value>) -> Map<String, Value> {
    let own = |key: &String| !RESERVED.contains(&key.as_str());
    metadata.iter().filter(|(key, _)| own(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The values of the settings form among a thread's metadata.
fn settings(metadata: &Map<String, Value>) -> Map<String, Value> {
    metadata.get("chat_settings").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// What the thread's metadata say of the tab: its profile.
fn restored_about(about: &About, thread: &Thread) -> About {
    let mut about = about.clone();
    about.thread = thread.id.clone();
    if let Some(profile) = thread.metadata.get("chat_profile").and_then(Value::as_str).filter(|name| !name.is_empty()) {
        about.chat_profile = Some(profile.to_owned());
    }
    about
}
