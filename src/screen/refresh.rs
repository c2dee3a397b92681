//! Beyond its bounds a screen forgets the content of what is unproven. A page that may have missed something of it gets
//! its whole thread instead, fitted to what it is known to show.

use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::{Number, Screen};
use crate::id::StepId;
use crate::metrics::counts;
use crate::protocol::{ServerEvent, Step, Thread};

/// Keys of a thread's metadata that mean something to a page only when it comes to the thread: they would make it connect
/// again, or lose what was typed into the settings (chat-wire 1.8, 9.4).
const ARRIVAL: [&str; 2] = ["chat_profile", "chat_settings"];

/// What is no longer known of what is unproven.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    /// The last event whose content is not known any more, while it is unproven.
    last: Option<Number>,
    /// The thread that is pending came from a refresh: it can be had again.
    refreshed: bool,
    /// What a restored thread said for the page's arrival, when it was forgotten before it was proven.
    arrival: Map<String, Value>,
}

impl Forgotten {
    /// The content of this event is not known any more.
    pub(super) fn missed(&mut self, number: Number) {
        self.last = Some(number);
    }

    /// The whole thread is known again. `is_repeated`: it is the one that was pending.
    pub(super) fn mended(&mut self, is_repeated: bool) {
        self.last = None;
        self.refreshed &= is_repeated;
    }

    /// A thread has reached the page.
    pub(super) fn restored(&mut self) {
        self.refreshed = false;
        self.arrival.clear();
    }

    pub(super) fn proven(&mut self, number: Number) {
        if self.last.is_some_and(|last| last <= number) {
            self.last = None;
        }
    }
}

impl Screen {
    /// Whether [`catch_up`](Self::catch_up) cannot bring a page here by itself, since something unproven was forgotten:
    /// [`refresh`](Self::refresh) with the thread first.
    #[must_use]
    pub fn needs_thread(&self) -> bool {
        self.forgotten.last.is_some() && self.thread.is_none()
    }

    /// Takes the whole thread in place of what was forgotten; it is owed to the page from now on. It is fitted to what the
    /// page shows: its steps stand in the page's order and below the page's parents, those that the page was never shown
    /// are left out. What is in no store (lists of tasks) stays.
    pub fn refresh(&mut self, number: Number, thread: Arc<Thread>) {
        let thread = self.fitted(Arc::unwrap_or_clone(thread));
        let loose = self.elements.loose();
        self.apply(number, &ServerEvent::ResumeThread(Arc::new(thread)));
        self.forgotten.refreshed = true;
        loose.iter().for_each(|element| self.elements.put(number, element, self.bounds));
    }

    /// There is no page any more that could take what is under way. `last` is the last number that was given. A thread that
    /// can be had again, and is larger than what may be kept, is not kept.
    pub fn line_lost(&mut self, last: Number) {
        let weight = |thread: &Thread| thread.steps.iter().map(super::bounds::step).sum::<usize>();
        let large = self.thread.as_ref().is_some_and(|thread| weight(&thread.folded()) > self.bounds.bytes);
        if large && self.forgotten.refreshed {
            self.forget(last);
        }
    }

    /// Forgets the content of what is unproven, up to `number`, and gives its memory back.
    pub(super) fn forget(&mut self, number: Number) {
        if let Some(thread) = self.thread.take()
            && !self.forgotten.refreshed
        {
            let thread = thread.folded();
            let arrival = thread.metadata.iter().filter(|(key, _)| ARRIVAL.contains(&key.as_str()));
            self.forgotten.arrival = arrival.map(|(key, value)| (key.clone(), value.clone())).collect();
        }
        self.forgotten.missed(number);
        counts().windows_forgotten.inc();
        self.steps = IndexMap::new();
        self.bytes = 0;
        self.elements.forget();
    }

    fn fitted(&self, mut thread: Thread) -> Thread {
        let mut steps: Vec<(usize, Step)> = Vec::with_capacity(thread.steps.len());
        for mut step in thread.steps {
            let Some((place, _, parent)) = self.tree.get_full(&step.id) else { continue };
            step.parent_id = Option::<StepId>::clone(parent);
            steps.push((place, step));
        }
        steps.sort_by_key(|(place, _)| *place);
        thread.steps = steps.into_iter().map(|(_, step)| step).collect();
        ARRIVAL.iter().for_each(|key| drop(thread.metadata.remove(*key)));
        thread.metadata.extend(self.forgotten.arrival.clone());
        thread
    }
}
