//! The order in which things stand: what is shown later has a later time, so that a page that reads the thread from the
//! store shows it as the pages did that were there.

use std::collections::HashMap;

use crate::id::StepId;
use crate::protocol::{Step, Timestamp};

/// One microsecond: as fine as a time is stored.
const TICK: std::time::Duration = std::time::Duration::from_micros(1);

/// The times of what is shown in one conversation. Hooks note the time at which they make something; which of two that
/// work at the same time is shown first is known only here.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The time of what was shown last.
    newest: Option<Timestamp>,
    /// The steps that got another time than their hook knows, until the conversation ends: one for each race.
    moved: HashMap<StepId, Timestamp>,
}

impl Order {
    /// The time of something that is shown next, at `now` or a little later.
    pub(super) fn next(&mut self, now: Timestamp) -> Timestamp {
        let time = self.newest.map_or(now, |newest| now.max(newest + TICK));
        self.newest = Some(time);
        time
    }

    /// Gives a step that is shown next its time.
    pub(super) fn place(&mut self, step: &mut Step) {
        let Some(made) = step.created_at else { return };
        let time = self.next(made);
        if time != made {
            self.moved.insert(step.id.clone(), time);
            step.created_at = Some(time);
        }
    }

    /// Gives a step that was shown before the time that it has.
    pub(super) fn keep(&self, step: &mut Step) {
        if let Some(time) = self.moved.get(&step.id) {
            step.created_at = Some(*time);
        }
    }

    /// What is shown from now on stands below this.
    pub(super) fn below(&mut self, time: Timestamp) {
        self.newest = self.newest.max(Some(time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::StepKind;

    fn step(id: &str, time: i64) -> Step {
        let mut step = Step::new(id.into(), "t".into(), StepKind::AssistantMessage, id);
        step.created_at = Some(Timestamp::from_micros(time));
        step
    }

    #[test]
    fn what_is_shown_later_has_a_later_time_and_keeps_it() {
        let mut order = Order::default();
        let (mut first, mut second) = (step("first", 7), step("second", 5));
        order.place(&mut first);
        order.place(&mut second);
        assert_eq!(first.created_at, Some(Timestamp::from_micros(7)), "who is in order keeps the time");
        assert_eq!(second.created_at, Some(Timestamp::from_micros(8)));
        assert_eq!(order.next(Timestamp::from_micros(8)), Timestamp::from_micros(9));

        let mut again = step("second", 5);
        order.keep(&mut again);
        assert_eq!(again.created_at, Some(Timestamp::from_micros(8)), "as its hook says it again");
    }
}
