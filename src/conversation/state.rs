//! A conversation as a state machine: what came in changes it and leaves items for the feed and jobs for hooks.
//!
//! Nothing here waits and nothing here does I/O. The task (task.rs) carries out what is left in `items` and `jobs`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ask::OpenAsk;
use super::context::Context;
use super::errand::Errand;
use super::feed::{Audience, Item, Then};
use super::function::OpenCall;
use super::job::Job;
use super::order::Order;
use super::outline::Outline;
use super::overtaken::Named;
use super::renew::Renewal;
use super::restore::Attempt;
use super::tab::{Member, TabId};
use super::{Owner, Settings, Shared};
use crate::chat::{About, Speaker, Values};
use crate::clock::Clock;
use crate::hook::UserMessage;
use crate::id::{CommandId, ElementId, RecordId, StepId, ThreadId};
use crate::journal::{Leases, RunLease};
use crate::protocol::{CallId, Element, ServerEvent, Step, StepKind, Timestamp};
use crate::record::{EndReason, Fact, Record, Source};
use crate::store::Append;

/// What the tabs of a thread share.
pub(super) struct Conversation {
    pub(super) thread: ThreadId,
    pub(super) owner: Option<Owner>,
    pub(super) settings: Arc<Settings>,
    pub(super) clock: Clock,
    pub(super) leases: Leases,
    pub(super) stage: Stage,
    pub(super) members: IndexMap<TabId, Member>,
    /// Which members are shown the feed: all but those whose thread was not shown yet.
    pub(super) listening: HashMap<TabId, Listening>,
    /// The tabs that were given an interaction marker.
    pub(super) marked: HashSet<TabId>,
    pub(super) runs: IndexMap<StepId, Run>,
    pub(super) asks: IndexMap<StepId, OpenAsk>,
    pub(super) calls: HashMap<CallId, OpenCall>,
    pub(super) next_call: u64,
    pub(super) errands: HashMap<u64, Errand>,
    pub(super) next_errand: u64,
    pub(super) context: Context,
    /// Every step that pages may show.
    pub(super) outline: Outline,
    /// Custom elements: pages may change them.
    pub(super) elements: IndexMap<ElementId, Element>,
    /// Open steps and streaming messages, with their text so far.
    pub(super) growing: IndexMap<StepId, Growing>,
    /// What appends that the store has not answered yet are of.
    pub(super) named: VecDeque<Named>,
    /// Step events whose records may not be in the store yet, by their place in the order of appends.
    pub(super) unstored: VecDeque<(u64, ServerEvent)>,
    pub(super) appends: u64,
    pub(super) order: Order,
    pub(super) attempts: HashMap<TabId, Attempt>,
    pub(super) next_attempt: u64,
    /// Tabs whose thread is read once more, with what happened since.
    pub(super) renewals: HashMap<TabId, Renewal>,
    /// What tabs were told that is in no history.
    pub(super) notices: HashMap<TabId, Vec<Arc<Step>>>,
    /// Runs that were ended over their heads and may still speak.
    pub(super) overruled: HashSet<StepId>,
    /// Whether somebody follows what streams here over HTTP.
    pub(super) followed: bool,
    /// Why runs that are stopped now are stopped.
    pub(super) stop_reason: EndReason,
    /// What the task has to carry out.
    pub(super) items: Vec<Item>,
    pub(super) jobs: Vec<Job>,
}

/// Whether a member is shown the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    /// From the item on that shows it its thread.
    Soon,
    /// Yes.
    Now,
}

/// How far a thread has come.
#[derive(Debug)]
pub(super) enum Stage {
    /// Nothing is stored before the first interaction; what there is waits here.
    Unsaved(Vec<Record>),
    /// It is in the store, or on its way.
    Saved,
    /// It was deleted. Nothing more is stored, nothing more runs.
    Deleted,
}

/// One call of a hook for a turn.
pub(super) struct Run {
    pub(super) tab: TabId,
    /// What its hook may know, and the values it works on: the tab may leave before the run ends.
    pub(super) about: Arc<About>,
    pub(super) values: Arc<Values>,
    pub(super) step: Step,
    /// What the run step shows as its input at the end.
    pub(super) input: String,
    pub(super) work: Work,
    pub(super) cancel: CancellationToken,
    pub(super) phase: Phase,
    /// As long as it works here, it keeps its lease.
    pub(super) lease: RunLease,
    /// The request that told it to stop, where one did.
    pub(super) command: Option<CommandId>,
}

/// Which hook a run calls.
pub(super) enum Work {
    /// `on_chat_start`.
    Greet,
    /// `on_message`.
    Answer(UserMessage),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its message is not stored yet.
    Waiting,
    /// Its hook works.
    Working,
    /// It was told to stop, and is given until then.
    Stopping(Instant),
}

/// A step that is not complete yet.
pub(super) struct Growing {
    pub(super) step: Step,
    pub(super) speaker: Speaker,
    /// A message that streams, rather than a step that is open.
    pub(super) streams: bool,
    /// It grew since its partial row was last written.
    pub(super) changed: bool,
    /// How long its output is, as JavaScript counts.
    pub(super) units: usize,
}

impl Conversation {
    pub(super) fn new(thread: ThreadId, owner: Option<Owner>, saved: bool, shared: &Shared) -> Self {
        Self {
            thread,
            owner,
            settings: shared.settings.clone(),
            clock: shared.clock.clone(),
            leases: shared.journal.leases().clone(),
            stage: if saved { Stage::Saved } else { Stage::Unsaved(Vec::new()) },
            members: IndexMap::new(),
            marked: HashSet::new(),
            listening: HashMap::new(),
            runs: IndexMap::new(),
            asks: IndexMap::new(),
            calls: HashMap::new(),
            next_call: 0,
            errands: HashMap::new(),
            next_errand: 0,
            context: Context::default(),
            outline: Outline::default(),
            elements: IndexMap::new(),
            growing: IndexMap::new(),
            named: VecDeque::new(),
            unstored: VecDeque::new(),
            appends: 0,
            order: Order::default(),
            attempts: HashMap::new(),
            next_attempt: 0,
            renewals: HashMap::new(),
            notices: HashMap::new(),
            overruled: HashSet::new(),
            followed: false,
            stop_reason: EndReason::UserStop,
            items: Vec::new(),
            jobs: Vec::new(),
        }
    }

    /// Whether nobody needs it any more.
    pub(super) fn is_idle(&self) -> bool {
        self.members.is_empty() && self.runs.is_empty() && self.attempts.is_empty() && self.errands.is_empty()
    }

    /// Hands records to the store and events to the feed, as one item.
    pub(super) fn commit(&mut self, records: Vec<Record>, shows: Vec<(Audience, ServerEvent)>, then: Then) {
        self.note(&shows);
        let append = match &mut self.stage {
            Stage::Unsaved(pending) => {
                pending.extend(records);
                None
            }
            Stage::Deleted => None,
            Stage::Saved if records.is_empty() => None,
            Stage::Saved => Some(self.append(records, None)),
        };
        let then = match then {
            // Nobody has to be asked: it waits for the first interaction with all that is there, or is refused.
            Then::Tell(done) if append.is_none() => {
                let _ = done.send(!matches!(self.stage, Stage::Deleted));
                Then::Nothing
            }
            then => then,
        };
        if let Some(append) = &append {
            self.remember_unstored(append, &shows);
        }
        let place = self.appends;
        self.items.push(Item { append, place, then, ..Item::show(shows) });
    }

    pub(super) fn append(&self, records: Vec<Record>, hinge: Option<usize>) -> Append {
        let owner = self.owner.as_ref().map(|owner| owner.identifier.clone());
        Append { thread: self.thread.clone(), owner, records, hinge }
    }

    pub(super) fn record(&self, run: Option<StepId>, source: Source, fact: Fact) -> Record {
        Record { id: RecordId::random(), execution: run, source, produced_at: self.clock.now(), fact }
    }

    /// Follows what is shown, and keeps a copy of it for tabs that are about to join.
    pub(super) fn note(&mut self, shows: &[(Audience, ServerEvent)]) {
        for (_, event) in shows.iter().filter(|(audience, _)| !matches!(audience, Audience::Only(_))) {
            self.outline.follow(event);
        }
        self.note_for_renewals(shows);
        if self.attempts.is_empty() {
            return;
        }
        for (audience, event) in shows {
            for (tab, attempt) in &mut self.attempts {
                if audience.includes_later(*tab) {
                    attempt.missed(event);
                }
            }
        }
    }

    pub(super) fn remember_unstored(&mut self, append: &Append, shows: &[(Audience, ServerEvent)]) {
        self.appends += 1;
        self.named.extend(Named::of(self.appends, append));
        let steps = shows
            .iter()
            .filter(|(audience, event)| !matches!(audience, Audience::Only(_)) && super::restore::is_content(event));
        self.unstored.extend(steps.map(|(_, event)| (self.appends, event.clone())));
    }

    /// The time of something that is shown next.
    pub(super) fn time(&mut self) -> Timestamp {
        self.order.next(self.clock.now())
    }

    /// A message of the server itself: a notice or an error, at the root.
    pub(super) fn notice(&mut self, name: &str, text: impl Into<String>, is_error: bool) -> Step {
        let now = self.time();
        let mut step = Step::new(StepId::random(), self.thread.clone(), StepKind::AssistantMessage, name);
        step.output = text.into();
        step.is_error = is_error;
        step.created_at = Some(now);
        step.start = Some(now);
        step.end = Some(now);
        step
    }

    /// Tells a person that something of theirs was not taken. Not part of the history.
    pub(super) fn complain(&mut self, tab: TabId, text: impl Into<String>) {
        let step = Arc::new(self.notice("Error", text, true));
        self.noticed(tab, step.clone());
        let shows = vec![
            (Audience::Only(tab), ServerEvent::TaskStart),
            (Audience::Only(tab), ServerEvent::NewMessage(step)),
            (Audience::Only(tab), ServerEvent::TaskEnd),
        ];
        self.items.push(Item::show(shows));
        self.show_working(tab);
    }

    fn show_working(&mut self, tab: TabId) {
        if self.is_working() {
            self.items.push(Item::show(vec![(Audience::Only(tab), ServerEvent::TaskStart)]));
        }
    }

    /// Whether any run works that does not wait for an answer.
    pub(super) fn is_working(&self) -> bool {
        !self.runs.is_empty() && self.asks.is_empty()
    }
}

impl Audience {
    /// Whether a tab that is not listening yet has to be told later.
    pub(super) fn includes_later(self, tab: TabId) -> bool {
        match self {
            Self::All => true,
            Self::Only(_) | Self::Again(_) => false,
            Self::Others(other) | Self::WrittenAt(other) => other != tab,
        }
    }
}
