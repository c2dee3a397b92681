//! How the steps of a thread stand: parents before children, orphans re-hung, subtrees.

use std::collections::{HashMap, HashSet};

use crate::id::StepId;
use crate::protocol::{Feedback, Step};

/// Brings steps into the order in which pages read them: by time, equal times by the order they came in, a parent
/// always before its children. A step whose parent is unknown, or is its own descendant, becomes a root: a page
/// would drop it with everything below.
#[must_use]
pub fn arrange(mut steps: Vec<Step>) -> Vec<Step> {
    let index: HashMap<StepId, usize> = steps.iter().enumerate().map(|(i, step)| (step.id.clone(), i)).collect();
    let parents: Vec<Option<usize>> =
        steps.iter().map(|step| step.parent_id.as_ref().and_then(|id| index.get(id).copied())).collect();
    for (step, parent) in steps.iter_mut().zip(&parents) {
        if parent.is_none() {
            step.parent_id = None;
        }
    }
    let mut by_time: Vec<usize> = (0..steps.len()).collect();
    // No time means that it is being written: last.
    by_time.sort_by_key(|&i| {
        let time = steps[i].created_at.or(steps[i].start);
        (time.is_none(), time)
    });

    let mut order = Vec::with_capacity(steps.len());
    let mut placed = vec![false; steps.len()];
    for i in by_time {
        let mut chain = Vec::new();
        let mut waiting = HashSet::new();
        let mut next = Some(i);
        while let Some(i) = next.filter(|&i| !placed[i]) {
            if !waiting.insert(i) {
                // A ring: whoever was reached first is cut loose.
                if let Some(&top) = chain.last() {
                    let top: &mut Step = &mut steps[top];
                    top.parent_id = None;
                }
                break;
            }
            chain.push(i);
            next = parents[i];
        }
        for i in chain.into_iter().rev() {
            placed[i] = true;
            order.push(i);
        }
    }
    let mut slots: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    order.into_iter().filter_map(|i| slots[i].take()).collect()
}

/// The ids at and below `root` among `(id, parent)` pairs.
#[must_use]
pub fn subtree<'a>(
    root: &StepId,
    pairs: impl IntoIterator<Item = (&'a StepId, Option<&'a StepId>)>,
) -> HashSet<StepId> {
    let mut children: HashMap<&StepId, Vec<&StepId>> = HashMap::new();
    for (id, parent) in pairs {
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut found = HashSet::from([root.clone()]);
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        for child in children.get(id).into_iter().flatten() {
            if found.insert((*child).clone()) {
                open.push(child);
            }
        }
    }
    found
}

/// Hangs votes onto their steps, as pages read them there: without the thread (chat-wire 5.6). Of several the last one
/// counts.
pub fn join_feedback(steps: &mut [Step], votes: impl IntoIterator<Item = Feedback>) {
    let mut votes: HashMap<StepId, Feedback> = votes.into_iter().map(|vote| (vote.for_id.clone(), vote)).collect();
    for step in steps {
        step.feedback = votes.remove(&step.id).map(|vote| Feedback { thread_id: None, ..vote });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{StepKind, Timestamp};

    fn step(id: &str, parent: Option<&str>, time: i64) -> Step {
        let mut step = Step::new(id.into(), "t".into(), StepKind::Run, id);
        step.parent_id = parent.map(StepId::from);
        step.created_at = Some(Timestamp::from_micros(time));
        step
    }

    fn ids(steps: Vec<Step>) -> Vec<String> {
        arrange(steps).into_iter().map(|step| step.id.to_string()).collect()
    }

    #[test]
    fn parents_come_first_then_time_then_the_order_they_came_in() {
        assert_eq!(
            ids(vec![step("child", Some("run"), 1), step("b", None, 2), step("c", None, 2), step("run", None, 3)]),
            ["run", "child", "b", "c"]
        );
    }

    #[test]
    fn an_orphan_becomes_a_root_and_a_ring_is_cut() {
        let arranged = arrange(vec![step("a", Some("gone"), 1), step("b", Some("c"), 2), step("c", Some("b"), 3)]);
        assert_eq!(arranged[0].parent_id, None);
        assert_eq!(arranged.len(), 3);
        assert_eq!(arranged[1].parent_id, None, "the first of a ring is a root");
        assert_eq!(arranged[2].parent_id.as_ref(), Some(&arranged[1].id));
    }

    #[test]
    fn a_subtree_is_everything_below() {
        let steps = [step("a", None, 1), step("b", Some("a"), 1), step("c", Some("b"), 1), step("d", None, 1)];
        let found = subtree(&"a".into(), steps.iter().map(|step| (&step.id, step.parent_id.as_ref())));
        assert_eq!(found, ["a", "b", "c"].map(StepId::from).into());
    }
}
