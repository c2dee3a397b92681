//! What stands in a conversation and in which order: the ids of its steps, each with its parent.

use std::collections::HashSet;

use indexmap::IndexMap;

use crate::id::StepId;
use crate::protocol::{ServerEvent, Step, Thread};

/// Every step of a conversation, in the order in which pages got them. A step keeps its first parent, as pages do.
#[derive(Clone, Debug, Default)]
pub(super) struct Outline {
    parents: IndexMap<StepId, Option<StepId>>,
    /// Whether the stored steps are in it.
    restored: bool,
}

impl Outline {
    /// Follows what pages are shown.
    pub(super) fn follow(&mut self, event: &ServerEvent) {
        match event {
            ServerEvent::NewMessage(step) | ServerEvent::StreamStart(step) => self.put(step),
            ServerEvent::Ask(ask) => self.put(&ask.msg),
            ServerEvent::DeleteMessage(step) => drop(self.remove(&step.id)),
            _ => {}
        }
    }

    fn put(&mut self, step: &Step) {
        self.parents.entry(step.id.clone()).or_insert_with(|| step.parent_id.clone());
    }

    /// Puts the stored steps before what was said since. The second time changes nothing: what is stored is in it.
    pub(super) fn restore(&mut self, thread: &Thread) {
        if std::mem::replace(&mut self.restored, true) {
            return;
        }
        let since = std::mem::take(&mut self.parents);
        thread.steps.iter().for_each(|step| self.put(step));
        for (id, parent) in since {
            self.parents.entry(id).or_insert(parent);
        }
    }

    /// Whether a step stands in the conversation.
    pub(super) fn has(&self, id: &StepId) -> bool {
        self.parents.contains_key(id)
    }

    /// The steps whose removal, each with everything below it, takes away what follows a message: what stands below it,
    /// and after it and its ancestors on their level. In order. Costs a look at every step after it.
    pub(super) fn following(&self, message: &StepId) -> Vec<StepId> {
        let above = self.above(message);
        let Some(start) = above.last().and_then(|root| self.parents.get_index_of(root)) else { return Vec::new() };
        let mut passed: HashSet<&StepId> = HashSet::new();
        let mut following = Vec::new();
        for (id, parent) in self.parents.iter().skip(start) {
            if above.contains(id) {
                passed.insert(id);
                continue;
            }
            let follows = match parent {
                Some(parent) if parent == message => true,
                // Beside one of those above it: from where that one stands on.
                parent => above.iter().any(|id| {
                    passed.contains(id) && self.parents.get(id).is_some_and(|beside| beside.as_ref() == parent.as_ref())
                }),
            };
            if follows {
                following.push(id.clone());
            }
        }
        following
    }

    /// A step and what it hangs below, innermost first.
    pub(super) fn above(&self, id: &StepId) -> Vec<StepId> {
        let mut above = Vec::new();
        let mut next = self.has(id).then_some(id);
        while let Some(id) = next.filter(|id| !above.contains(*id)) {
            above.push(id.clone());
            next = self.parents.get(id).and_then(Option::as_ref).filter(|parent| self.has(parent));
        }
        above
    }

    /// Takes a step out, with everything below it. Gives what is gone.
    pub(super) fn remove(&mut self, id: &StepId) -> HashSet<StepId> {
        let pairs = self.parents.iter().map(|(id, parent)| (id, parent.as_ref()));
        let gone = crate::record::subtree(id, pairs);
        self.parents.retain(|id, _| !gone.contains(id));
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::StepKind;

    fn outline(steps: &[(&str, Option<&str>)]) -> Outline {
        let mut outline = Outline::default();
        for (id, parent) in steps {
            let mut step = Step::new((*id).into(), "t".into(), StepKind::Run, *id);
            step.parent_id = parent.map(StepId::from);
            outline.put(&step);
        }
        outline
    }

    fn following(steps: &[(&str, Option<&str>)], message: &str) -> Vec<String> {
        outline(steps).following(&message.into()).iter().map(ToString::to_string).collect()
    }

    /// Made red by taking every later step: the answer to an earlier message went with an edit of a later one.
    #[test]
    fn what_follows_a_message_is_below_it_and_after_it() {
        let steps = [
            ("greeting", None),
            ("one", None),
            ("run 1", Some("one")),
            ("two", None),
            ("run 2", Some("two")),
            ("late answer to one", Some("run 1")),
            ("tool", Some("run 2")),
            ("notice", None),
        ];
        assert_eq!(following(&steps, "two"), ["run 2", "notice"]);
        assert_eq!(following(&steps, "one"), ["run 1", "two", "notice"]);
        assert_eq!(following(&steps, "nothing"), Vec::<String>::new());
    }

    #[test]
    fn what_follows_an_answer_is_the_rest_of_its_run_and_what_came_after() {
        let steps = [
            ("one", None),
            ("run", Some("one")),
            ("before", Some("run")),
            ("answer", Some("run")),
            ("after", Some("run")),
            ("two", None),
        ];
        assert_eq!(following(&steps, "answer"), ["after", "two"]);
    }

    #[test]
    fn a_ring_ends() {
        assert_eq!(outline(&[("a", Some("b")), ("b", Some("a"))]).above(&"a".into()).len(), 2);
    }
}
