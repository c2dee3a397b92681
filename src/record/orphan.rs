//! The end of a run that nobody works on any more, and that somebody stops all the same: what a conversation would have
//! said at its end, made from what is stored of it.

use super::{EndReason, Fact, Outcome, Record, Source, subtree};
use crate::id::{CommandId, ExecutionId};
use crate::protocol::{Step, StepKind, Thread, Timestamp};

/// The records that end `run` over its head: half texts as interrupted messages, what is open below it, then the end
/// itself. `thread` is as it is stored, with what streamed last. Their ids are derived, so that two who stop it at once
/// write each once.
#[must_use]
pub fn ends(thread: &Thread, run: &ExecutionId, command: &CommandId, now: Timestamp) -> Vec<Record> {
    // A step that was deleted does not come back by an end of it; the run has its end all the same.
    let known = thread.steps.iter().find(|step| step.id == *run).cloned();
    let step = known.unwrap_or_else(|| Step::new(run.clone(), thread.id.clone(), StepKind::Run, ""));
    let below = subtree(run, thread.steps.iter().map(|step| (&step.id, step.parent_id.as_ref())));
    let inside = thread.steps.iter().filter(|step| step.id != *run && below.contains(&step.id));
    let record = |source, fact| Record::derived(&thread.id, Some(run.clone()), 0, source, now, fact);
    let mut records: Vec<Record> =
        inside.filter_map(|step| left_open(step, now)).map(|fact| record(Source::App, fact)).collect();
    let step = Step { end: Some(now), is_error: true, feedback: None, ..step };
    let end = Fact::RunEnded { step, reason: EndReason::UserStop, command: Some(command.clone()) };
    records.push(record(Source::User, end));
    records
}

/// What is said of a step that its run leaves open; nothing when it is complete.
fn left_open(step: &Step, now: Timestamp) -> Option<Fact> {
    if step.wait_for_answer {
        return Some(Fact::AskEnded { ask: step.id.clone(), outcome: Outcome::Cancelled });
    }
    let is_open = step.streaming || (!step.is_message() && step.start.is_some() && step.end.is_none());
    is_open.then(|| cut_off(step.clone(), now))
}

/// What is said of a step that nobody will complete any more: a message that streamed is interrupted, anything else has
/// failed. Either has an end.
#[must_use]
pub fn cut_off(mut step: Step, now: Timestamp) -> Fact {
    step.streaming = false;
    step.feedback = None;
    step.end.get_or_insert(now);
    if step.is_message() {
        step.created_at.get_or_insert(now);
        return Fact::Message { step, interrupted: true };
    }
    step.is_error = true;
    Fact::StepEnded(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(id: &str, parent: Option<&str>, kind: StepKind) -> Step {
        let mut step = Step::new(id.into(), "T".into(), kind, id);
        (step.parent_id, step.start) = (parent.map(Into::into), Some(Timestamp::from_micros(1)));
        step
    }

    /// Red when it looks at the whole thread, or at children only; when what is complete is ended again.
    #[test]
    fn what_is_open_below_a_run_ends_with_it() {
        let mut thread = crate::record::fold(&"T".into(), &[]).into_thread();
        let complete = Step { end: Some(Timestamp::from_micros(2)), ..step("complete", Some("run"), StepKind::Tool) };
        let half = Step { streaming: true, ..step("half", Some("tool"), StepKind::AssistantMessage) };
        let question = Step { wait_for_answer: true, ..step("question", Some("run"), StepKind::AssistantMessage) };
        let said = step("said", Some("run"), StepKind::AssistantMessage);
        thread.steps = vec![
            step("run", None, StepKind::Run),
            step("tool", Some("run"), StepKind::Tool),
            complete,
            half,
            question,
            said,
            step("other", None, StepKind::Tool),
        ];
        let now = Timestamp::from_micros(9);
        let records = ends(&thread, &"run".into(), &"C".into(), now);
        let told: Vec<(&str, Option<&str>)> =
            records.iter().map(|record| (record.fact.record_type(), record.fact.entity())).collect();
        assert_eq!(
            told,
            [
                ("tool_result", Some("tool")),
                ("message", Some("half")),
                ("interaction_response", Some("question")),
                ("task_end", Some("run"))
            ]
        );
        let ended = |record: &Record| record.fact.step().map(|step| step.end);
        assert_eq!((ended(&records[0]), ended(&records[1])), (Some(Some(now)), Some(Some(now))), "also a message's");
        let Fact::RunEnded { step, command, .. } = &records[3].fact else { panic!("{records:?}") };
        assert_eq!((step.end, step.is_error, command), (Some(now), true, &Some("C".into())));
        assert_eq!(records[3].source, Source::User, "over its head");
        assert_eq!(ends(&thread, &"gone".into(), &"C".into(), now).len(), 1, "its end");
        let again = ends(&thread, &"run".into(), &"D".into(), Timestamp::from_micros(10));
        assert!(records.iter().zip(&again).all(|(one, other)| one.id == other.id));
    }
}
