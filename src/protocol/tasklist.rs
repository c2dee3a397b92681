//! The file behind an element of kind `tasklist` (chat-wire 5.5).

use serde::{Deserialize, Serialize};

use crate::id::StepId;

/// A list of tasks. The page shows the last that it got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskList {
    /// What is going on.
    pub status: String,
    /// The tasks; an array always: a page that meets a list without one breaks.
    pub tasks: Vec<Task>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// What is to be done, in Markdown.
    pub title: String,
    /// How far it is.
    pub status: TaskStatus,
    /// The message that a click leads to.
    #[serde(default)]
    pub for_id: Option<StepId>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Ready,
    /// Under way.
    Running,
    /// Given up.
    Failed,
    /// Finished.
    Done,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_on_the_wire() {
        let task = |title: &str, status, for_id| Task { title: title.into(), status, for_id };
        insta::assert_json_snapshot!(TaskList {
            status: "Running...".into(),
            tasks: vec![
                task("one", TaskStatus::Done, Some("M".into())),
                task("two", TaskStatus::Failed, None),
                task("three", TaskStatus::Running, None),
                task("four", TaskStatus::Ready, None),
            ],
        });
        insta::assert_json_snapshot!(TaskList { status: String::new(), tasks: Vec::new() });
    }
}
