//! A vote on a run (chat-wire 5.6).

use serde::{Deserialize, Serialize};

use crate::id::{FeedbackId, StepId, ThreadId};

/// A thumb up or down, with words or without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feedback {
    /// Absent on the first vote.
    #[serde(default)]
    pub id: Option<FeedbackId>,
    /// The run the vote is on, not the message.
    pub for_id: StepId,
    /// The thread of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// 0 is down, 1 is up.
    pub value: u8,
    /// What the person wrote.
    #[serde(default)]
    pub comment: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_on_the_wire() {
        let first = Feedback { id: None, for_id: "R".into(), thread_id: Some("T".into()), value: 1, comment: None };
        let kept = Feedback {
            id: Some("F".into()),
            for_id: "R".into(),
            thread_id: None,
            value: 0,
            comment: Some("wrong".into()),
        };
        insta::assert_json_snapshot!([first, kept]);
    }
}
