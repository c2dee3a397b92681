//! Runs that somebody else has settled as lost: this process was not heard of for a whole lease. The store puts aside
//! whatever they still say (records.md 3.4), so it must not stay on pages either: there, too, the store has the last word.

use std::collections::HashSet;
use std::sync::Arc;

use tracing::{debug, warn};

use super::feed::{Audience, Item, Then, Verdict};
use super::job::Job;
use super::run::{Closed, Ended};
use super::state::{Conversation, Stage};
use super::{Conversations, Handle, Input, Shared};
use crate::id::{ElementId, StepId, ThreadId};
use crate::protocol::{ServerEvent, Step, StepKind, Thread};
use crate::store::{Append, Settled, StoreError, Stored, Working};

/// What a person is told of a run that was overtaken.
const OVERTAKEN: &str = "This answer could not be kept: the server was cut off from its store for too long.";

/// What pages show and the store may not have.
#[derive(Debug, Default)]
pub(crate) struct Doubtful {
    steps: HashSet<StepId>,
    elements: HashSet<ElementId>,
}

impl Doubtful {
    /// What an event shows.
    fn add(&mut self, event: &ServerEvent) {
        match event {
            ServerEvent::NewMessage(step)
            | ServerEvent::UpdateMessage(step)
            | ServerEvent::StreamStart(step)
            | ServerEvent::DeleteMessage(step) => drop(self.steps.insert(step.id.clone())),
            ServerEvent::StreamToken(token) => drop(self.steps.insert(token.id.clone())),
            ServerEvent::Ask(ask) => drop(self.steps.insert(ask.msg.id.clone())),
            ServerEvent::Element(element) => drop(self.elements.insert(element.id.clone())),
            _ => {}
        }
    }

    fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.elements.is_empty()
    }
}

/// Which run each record of an append is of, until the store has answered it.
pub(super) struct Named {
    place: u64,
    runs: Vec<Option<StepId>>,
}

impl Named {
    pub(super) fn of(place: u64, append: &Append) -> Option<Self> {
        let runs: Vec<Option<StepId>> = append.records.iter().map(|record| record.execution.clone()).collect();
        runs.iter().any(Option::is_some).then_some(Self { place, runs })
    }
}

impl Conversation {
    /// The store has spoken of the append with this place.
    pub(super) fn answered(&mut self, place: u64, verdict: &Verdict) {
        if let Some(index) = self.named.iter().position(|named| named.place == place)
            && let Some(named) = self.named.remove(index)
            && let Ok(Ok(outcomes)) = verdict
        {
            self.judge(&named, outcomes);
        }
        self.unstored.retain(|(append, _)| *append != place);
    }

    fn judge(&mut self, named: &Named, outcomes: &[Stored]) {
        let of = |wanted: Stored| {
            let runs = named.runs.iter().zip(outcomes).filter(move |(_, outcome)| **outcome == wanted);
            runs.filter_map(|(run, _)| run.clone()).collect::<HashSet<StepId>>()
        };
        let (put_aside, refused) = (of(Stored::Quarantined), of(Stored::AlreadySettled));
        if !put_aside.is_empty() {
            let mut doubtful = Doubtful::default();
            let said = self.unstored.iter().filter(|(place, _)| *place == named.place);
            said.for_each(|(_, event)| doubtful.add(event));
            self.look_up(doubtful);
        }
        for run in put_aside {
            self.overtaken(&run);
        }
        // Its end came too late: whoever settled it knows nothing of how it ended.
        for run in refused {
            warn!(thread = %self.thread, %run, "the end of a run came after it was settled as lost");
            let mut doubtful = Doubtful::default();
            doubtful.steps.insert(run);
            self.look_up(doubtful);
            let (mut records, mut shows) = (Vec::new(), Vec::new());
            self.tell_error(OVERTAKEN, &mut records, &mut shows);
            self.commit(records, shows, Then::Nothing);
        }
    }

    /// A run that works here was settled by somebody else: its hook is told to stop, and whatever it still says is kept off
    /// the pages. Nothing happens when it has ended already.
    pub(super) fn overtaken(&mut self, run: &StepId) {
        let (mut records, mut shows) = (Vec::new(), Vec::new());
        let Some(Closed { step, .. }) = self.close_run(run, Ended::Overtaken, &mut records, &mut shows) else { return };
        warn!(thread = %self.thread, %run, "a run that works here was settled as lost by somebody else");
        // What is of the run would only be put aside.
        records.retain(|record| record.execution.is_none());
        shows.push((Audience::All, ServerEvent::UpdateMessage(step)));
        let mut doubtful = Doubtful::default();
        shows.iter().for_each(|(_, event)| doubtful.add(event));
        self.tell_error(OVERTAKEN, &mut records, &mut shows);
        self.indicator(&mut shows);
        self.commit(records, shows, Then::Nothing);
        self.look_up(doubtful);
    }

    /// Somebody settled runs of a dead process in this thread: these steps are not what pages were shown.
    pub(super) fn settled(&mut self, steps: Vec<StepId>) {
        self.look_up(Doubtful { steps: steps.into_iter().collect(), ..Doubtful::default() });
    }

    fn look_up(&mut self, doubtful: Doubtful) {
        if !doubtful.is_empty() {
            self.jobs.push(Job::LookUp(doubtful));
        }
    }

    /// The store was asked: pages show what it has, and what it does not have goes.
    pub(super) fn looked_up(&mut self, doubtful: &Doubtful, thread: &Thread) {
        if matches!(self.stage, Stage::Deleted) {
            return;
        }
        let mut shows = Vec::new();
        for id in &doubtful.steps {
            let event = match thread.steps.iter().find(|step| step.id == *id) {
                Some(step) => {
                    if self.context.has(id) {
                        self.context.put(step);
                    }
                    ServerEvent::UpdateMessage(Arc::new(step.clone()))
                }
                None => {
                    self.context.remove(id);
                    let gone = Step::new(id.clone(), self.thread.clone(), StepKind::Undefined, "");
                    ServerEvent::DeleteMessage(Arc::new(gone))
                }
            };
            shows.push((Audience::All, event));
        }
        for id in &doubtful.elements {
            if !thread.elements.iter().any(|element| element.id == *id) {
                self.elements.shift_remove(id);
                shows.push((Audience::All, ServerEvent::RemoveElement(id.clone())));
            }
        }
        self.note(&shows);
        self.items.push(Item::show(shows));
    }
}

impl Conversations {
    /// A watchdog has settled runs of dead processes: pages that show their threads are brought up to date.
    pub async fn settled(&self, settled: Vec<Settled>) {
        for Settled { thread, runs, steps, .. } in settled {
            self.tell(&thread, Input::Settled(steps.into_iter().chain(runs).collect())).await;
        }
    }

    /// Runs that work here were settled by somebody else.
    pub async fn overtaken(&self, runs: Vec<Working>) {
        for (thread, run) in runs {
            self.tell(&thread, Input::Overtaken(run)).await;
        }
    }

    async fn tell(&self, thread: &ThreadId, input: Input) {
        let handle = self.live.get(thread).map(|entry| entry.value().clone());
        if let Some(handle) = handle {
            // It ended: then it has no pages.
            let _ = handle.inputs.send(Box::new(input)).await;
        }
    }
}

/// Asks the store for what pages show in doubt, and tells the conversation.
pub(super) fn look_up(shared: &Shared, handle: &Arc<Handle>, thread: ThreadId, doubtful: Doubtful) {
    let (store, handle, stop) = (shared.journal.store().clone(), handle.clone(), shared.stop.clone());
    shared.tracker.spawn(async move {
        let asked = async {
            match store.thread(&thread).await {
                Ok(Some(stored)) => {
                    let input = Input::LookedUp(doubtful, stored.thread);
                    let _ = handle.inputs.send(Box::new(input)).await;
                }
                Ok(None) => debug!(%thread, "a thread to look up is gone"),
                // A reload will tell.
                Err(error @ (StoreError::Unavailable(_) | StoreError::Corrupt(_) | StoreError::Refused(_))) => {
                    warn!(%thread, %error, "pages may show what is not stored");
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = asked => {}
        }
    });
}
