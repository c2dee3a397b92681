//! The chat tables while a batch is planned: what is there, what the batch changes. The same rules as
//! [`crate::record::Folded`], on rows that were not read.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::known::KnownThread;
use super::prepare::PreparedRecord;
use super::row::{ElementRow, FeedbackRow, StepRow, text};
use super::writes::{StepChange, StepKey, ThreadRow, Writes};
use crate::id::{ElementId, FeedbackId, StepId, ThreadId};
use crate::protocol::{Element, Feedback, Step, Thread, Timestamp};
use crate::record::{
    Fact, ThreadStart, apply_settings, apply_update, as_stored, element_as_stored, feedback_as_stored, some_tags,
    subtree,
};

/// What the batch has done to the tables so far.
pub(super) struct Tables {
    threads: HashMap<ThreadId, Head>,
    /// Which thread an id belongs to, in the database or by an earlier record of the batch.
    step_owner: HashMap<StepId, ThreadId>,
    element_owner: HashMap<ElementId, ThreadId>,
    feedback_owner: HashMap<FeedbackId, ThreadId>,
    /// Rows in the database that this batch has not deleted.
    present: HashSet<StepId>,
    /// Only for threads in which something is deleted: every step, with the batch's own changes.
    trees: HashMap<ThreadId, HashMap<StepId, Option<StepId>>>,
    deleted: HashSet<StepKey>,
    steps: IndexMap<StepId, (Step, Option<u64>)>,
    changes: IndexMap<StepId, StepChange>,
    deleted_elements: HashSet<ElementId>,
    elements: IndexMap<ElementId, (Element, Option<u64>)>,
    deleted_feedback: HashSet<FeedbackId>,
    voted_steps: HashSet<StepId>,
    feedback: IndexMap<FeedbackId, (ThreadId, Feedback)>,
}

struct Head {
    row: Thread,
    /// Not in the database yet.
    new: bool,
    changed: bool,
    set_tags: bool,
    set_metadata: bool,
    legacy: (i64, Option<String>),
}

impl Tables {
    pub fn new(
        threads: HashMap<ThreadId, KnownThread>,
        steps: HashMap<StepId, ThreadId>,
        elements: HashMap<ElementId, ThreadId>,
        feedback: HashMap<FeedbackId, ThreadId>,
        trees: HashMap<ThreadId, HashMap<StepId, Option<StepId>>>,
    ) -> Self {
        Self {
            threads: threads.into_iter().map(|(id, known)| (id.clone(), Head::known(id, known))).collect(),
            present: steps.keys().chain(trees.values().flat_map(HashMap::keys)).cloned().collect(),
            step_owner: steps,
            element_owner: elements,
            feedback_owner: feedback,
            trees,
            deleted: HashSet::new(),
            steps: IndexMap::new(),
            changes: IndexMap::new(),
            deleted_elements: HashSet::new(),
            elements: IndexMap::new(),
            deleted_feedback: HashSet::new(),
            voted_steps: HashSet::new(),
            feedback: IndexMap::new(),
        }
    }

    /// The owner of a thread that has a row; the outer `None` when there is no row.
    pub fn owner(&self, thread: &ThreadId) -> Option<Option<&str>> {
        self.threads.get(thread).map(|head| head.row.user_identifier.as_deref())
    }

    /// How many steps a thread had before its first record, and the newest time among them.
    pub fn legacy(&self, thread: &ThreadId) -> (i64, Option<String>) {
        self.threads.get(thread).map(|head| head.legacy.clone()).unwrap_or_default()
    }

    /// Whether no id in the fact belongs to another thread. Ids come from clients.
    pub fn is_ours(&self, thread: &ThreadId, fact: &Fact) -> bool {
        let step = |id: &StepId| self.step_owner.get(id).is_none_or(|owner| owner == thread);
        let element = |id: &ElementId| self.element_owner.get(id).is_none_or(|owner| owner == thread);
        let vote = |id: &FeedbackId| self.feedback_owner.get(id).is_none_or(|owner| owner == thread);
        match fact {
            Fact::ThreadStarted(_) | Fact::ThreadUpdated(_) | Fact::SettingsUpdated(_) => true,
            Fact::Message { step: it, .. }
            | Fact::MessageUpdated(it)
            | Fact::StepStarted(it)
            | Fact::StepUpdated(it)
            | Fact::StepEnded(it)
            | Fact::RunStarted { step: it, .. }
            | Fact::RunEnded { step: it, .. }
            | Fact::RunFailed { step: it, .. }
            | Fact::Asked { step: it, .. } => step(&it.id),
            Fact::StepDeleted(id) | Fact::RunLost { run: id, .. } | Fact::AskEnded { ask: id, .. } => step(id),
            Fact::Element(it) => element(&it.id) && it.for_id.as_ref().is_none_or(step),
            Fact::ElementRemoved(id) => element(id),
            Fact::FeedbackSet(it) => step(&it.for_id) && it.id.as_ref().is_none_or(vote),
            Fact::FeedbackRemoved(id) => vote(id),
        }
    }

    /// Folds one record in. Gives by how much the number of the thread's steps grew, and the time of a written step.
    pub fn fold(&mut self, thread: &ThreadId, record: &PreparedRecord, sequence: Option<u64>) -> (i64, Option<String>) {
        match &record.fact {
            Fact::ThreadStarted(start) => self.start(thread, start, record.produced_at),
            Fact::ThreadUpdated(update) => {
                if let Some(head) = self.threads.get_mut(thread) {
                    apply_update(&mut head.row, update);
                    head.changed = true;
                    head.set_tags |= update.tags.is_some();
                    head.set_metadata |= !update.metadata.is_empty();
                }
            }
            Fact::SettingsUpdated(values) => {
                if let Some(head) = self.threads.get_mut(thread) {
                    apply_settings(&mut head.row.metadata, values);
                    head.changed = true;
                    head.set_metadata = true;
                }
            }
            Fact::Message { step, .. }
            | Fact::StepStarted(step)
            | Fact::StepEnded(step)
            | Fact::RunStarted { step, .. }
            | Fact::Asked { step, .. } => return self.write(as_stored(thread, step), sequence),
            Fact::MessageUpdated(step)
            | Fact::StepUpdated(step)
            | Fact::RunEnded { step, .. }
            | Fact::RunFailed { step, .. } => {
                if self.exists(&step.id) {
                    return self.write(as_stored(thread, step), sequence);
                }
            }
            Fact::RunLost { run, lost_at, .. } => {
                let end = *lost_at;
                self.change(run, |step| {
                    step.end = step.end.or(Some(end));
                    step.streaming = false;
                });
                if let Some(change) = self.changes.get_mut(run) {
                    change.end.get_or_insert(end.to_string());
                }
            }
            Fact::AskEnded { ask, .. } => {
                self.change(ask, |step| step.wait_for_answer = false);
                if let Some(change) = self.changes.get_mut(ask) {
                    change.answered = true;
                }
            }
            Fact::StepDeleted(id) => return (-self.delete(thread, id), None),
            Fact::Element(element) => {
                let stored = element_as_stored(thread, element);
                self.element_owner.insert(stored.id.clone(), thread.clone());
                self.elements.insert(stored.id.clone(), (stored, sequence));
            }
            Fact::ElementRemoved(id) => {
                self.elements.shift_remove(id);
                self.deleted_elements.insert(id.clone());
            }
            Fact::FeedbackSet(vote) => {
                let stored = feedback_as_stored(thread, &record.id, vote);
                self.drop_votes(|vote| vote.for_id == stored.for_id);
                self.voted_steps.insert(stored.for_id.clone());
                if let Some(id) = stored.id.clone() {
                    self.feedback_owner.insert(id.clone(), thread.clone());
                    self.feedback.insert(id, (thread.clone(), stored));
                }
            }
            Fact::FeedbackRemoved(id) => {
                self.feedback.shift_remove(id);
                self.deleted_feedback.insert(id.clone());
            }
        }
        (0, None)
    }

    fn start(&mut self, thread: &ThreadId, start: &ThreadStart, produced_at: Timestamp) {
        match self.threads.get_mut(thread) {
            Some(head) => {
                if head.row.name.is_none() && start.name.is_some() {
                    head.row.name.clone_from(&start.name);
                    head.changed = true;
                }
            }
            None => {
                self.threads.insert(thread.clone(), Head::new(thread.clone(), start, produced_at));
            }
        }
    }

    fn exists(&self, step: &StepId) -> bool {
        self.steps.contains_key(step) || self.present.contains(step)
    }

    fn write(&mut self, step: Step, sequence: Option<u64>) -> (i64, Option<String>) {
        let id = step.id.clone();
        let added = i64::from(!self.exists(&id));
        let newest = step.created_at.map(|time| time.to_string());
        self.step_owner.insert(id.clone(), step.thread_id.clone());
        if let Some(tree) = self.trees.get_mut(&step.thread_id) {
            tree.insert(id.clone(), step.parent_id.clone());
        }
        self.changes.shift_remove(&id);
        match self.steps.entry(id) {
            indexmap::map::Entry::Occupied(mut entry) => entry.get_mut().0 = step,
            indexmap::map::Entry::Vacant(entry) => {
                entry.insert((step, sequence));
            }
        }
        (added, newest)
    }

    /// Changes a step that the batch writes, or notes a change for one that only the database has.
    fn change(&mut self, id: &StepId, change: impl FnOnce(&mut Step)) {
        if let Some((step, _)) = self.steps.get_mut(id) {
            change(step);
        } else if self.present.contains(id) {
            self.changes.entry(id.clone()).or_insert_with(|| StepChange { id: id.to_string(), ..Default::default() });
        }
    }

    /// Removes a step and everything below; gives how many steps that were.
    fn delete(&mut self, thread: &ThreadId, root: &StepId) -> i64 {
        let tree = self.trees.entry(thread.clone()).or_default();
        let gone = subtree(root, tree.iter().map(|(id, parent)| (id, parent.as_ref())));
        let before = tree.len();
        tree.retain(|id, _| !gone.contains(id));
        let count = i64::try_from(before - tree.len()).unwrap_or(i64::MAX);
        self.steps.retain(|id, _| !gone.contains(id));
        self.changes.retain(|id, _| !gone.contains(id));
        // An element that the batch moved here may have a row under another step.
        let hangs = |element: &Element| element.for_id.as_ref().is_some_and(|id| gone.contains(id));
        self.deleted_elements.extend(self.elements.extract_if(.., |_, (it, _)| hangs(it)).map(|(id, _)| id));
        self.drop_votes(|vote| gone.contains(&vote.for_id));
        for id in gone {
            self.present.remove(&id);
            self.deleted.insert(StepKey { thread: thread.clone(), id });
        }
        count
    }

    /// Takes votes of the batch back, and their rows, which may be under another step.
    fn drop_votes(&mut self, which: impl Fn(&Feedback) -> bool) {
        self.deleted_feedback.extend(self.feedback.extract_if(.., |_, (_, vote)| which(vote)).map(|(id, _)| id));
    }

    /// The rows to write.
    pub fn finish(self, writes: &mut Writes) {
        for head in self.threads.into_values().filter(|head| head.new || head.changed) {
            let row = head.row;
            let target = if head.new { &mut writes.new_threads } else { &mut writes.changed_threads };
            target.push(ThreadRow {
                id: row.id,
                created_at: row.created_at.map(|time| time.to_string()),
                name: row.name,
                user_identifier: row.user_identifier,
                tags: row.tags.as_ref().map(text),
                metadata: Some(text(&row.metadata)),
                set_tags: head.set_tags,
                set_metadata: head.set_metadata,
            });
        }
        writes.deleted_steps = self.deleted.into_iter().collect();
        writes.finished_partials.extend(writes.deleted_steps.iter().cloned());
        let row = |(id, (step, sequence))| StepRow::new(step, sequence, !self.present.contains(&id));
        writes.steps = self.steps.into_iter().map(row).collect();
        writes.changed_steps = self.changes.into_values().collect();
        writes.deleted_elements = self.deleted_elements.into_iter().collect();
        writes.elements =
            self.elements.into_values().map(|(element, sequence)| ElementRow::new(element, sequence)).collect();
        writes.deleted_feedback = self.deleted_feedback.into_iter().collect();
        writes.voted_steps = self.voted_steps.into_iter().collect();
        writes.feedback =
            self.feedback.into_iter().map(|(id, (thread, vote))| FeedbackRow::new(id, thread, vote)).collect();
    }
}

impl Head {
    fn known(id: ThreadId, known: KnownThread) -> Self {
        let row = Thread {
            id,
            created_at: None,
            name: known.name,
            user_id: None,
            user_identifier: known.owner,
            tags: None,
            metadata: known.metadata,
            steps: Vec::new(),
            elements: Vec::new(),
        };
        let legacy = (known.steps, known.newest);
        Self { row, new: false, changed: false, set_tags: false, set_metadata: false, legacy }
    }

    fn new(id: ThreadId, start: &ThreadStart, produced_at: Timestamp) -> Self {
        let row = Thread {
            id,
            created_at: Some(produced_at),
            name: start.name.clone(),
            user_id: start.user_id.clone(),
            user_identifier: start.user_identifier.clone(),
            tags: some_tags(&start.tags),
            metadata: start.metadata.clone(),
            steps: Vec::new(),
            elements: Vec::new(),
        };
        Self { row, new: true, changed: false, set_tags: false, set_metadata: false, legacy: (0, None) }
    }
}
