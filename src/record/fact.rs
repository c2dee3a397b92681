//! What a record can say. A new kind of record is a new variant here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{CommandId, ElementId, ExecutionId, FeedbackId, StepId, UserId};
use crate::protocol::{Element, Feedback, Step, StepKind, Timestamp};

/// Who made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The person.
    User,
    /// The application's answer.
    Assistant,
    /// A system message.
    System,
    /// A tool.
    Tool,
    /// The server on the application's behalf.
    App,
    /// Whoever settles what a dead process left.
    Watchdog,
}

impl Source {
    /// The text in the column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
            Self::App => "app",
            Self::Watchdog => "watchdog",
        }
    }

    /// From the text in the column.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "system" => Self::System,
            "tool" => Self::Tool,
            "app" => Self::App,
            "watchdog" => Self::Watchdog,
            _ => return None,
        })
    }
}

/// Why a run ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// The hook returned.
    Completed,
    /// Somebody pressed stop.
    UserStop,
    /// An edit above it replaced it.
    Superseded,
    /// The thread was deleted, or the server shut down.
    SessionCleared,
}

/// Why a run is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostReason {
    /// A process began that knows that the one before it is dead.
    ProcessRestarted,
    /// Its process did not say in time that it works on it.
    LeaseExpired,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "value")]
pub enum Outcome {
    /// Somebody answered; the answer as the page sent it.
    Answered(Value),
    /// Nobody did in time.
    TimedOut,
    /// Its run ended first.
    Cancelled,
}

/// The first fact of a thread that rejoinder made: whose it is and what it is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadStart {
    /// The first interaction.
    pub name: Option<String>,
    /// The owner's row.
    pub user_id: Option<UserId>,
    /// The owner's identifier.
    pub user_identifier: Option<String>,
    /// Tags.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Free keys.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

/// A change of a thread; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUpdate {
    /// Its new name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its new tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Merged key by key into the stored metadata; null deletes a key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A thread begins. Only this creates a thread's row.
    ThreadStarted(ThreadStart),
    /// A thread was renamed, tagged, or its session values changed.
    ThreadUpdated(ThreadUpdate),
    /// A message is complete. `interrupted`: a crash cut it off while it streamed.
    Message {
        /// The message.
        step: Step,
        /// Whether it was cut off before its end.
        interrupted: bool,
    },
    /// A complete message changed; the whole message as it is now.
    MessageUpdated(Step),
    /// A message or a step, with what hangs below it, is gone.
    StepDeleted(StepId),
    /// A step that is neither message nor run was opened.
    StepStarted(Step),
    /// It changed while open.
    StepUpdated(Step),
    /// It was closed.
    StepEnded(Step),
    /// A run began; inserts the execution. The record's `execution` is the run's own id.
    RunStarted {
        /// The run step.
        step: Step,
        /// The message it answers.
        trigger: Option<StepId>,
    },
    /// A run ended without an error; settles the execution, once.
    RunEnded {
        /// The run step, with its end.
        step: Step,
        /// Why.
        reason: EndReason,
        /// The request that stopped it, where one did.
        command: Option<CommandId>,
    },
    /// A run failed; settles the execution, once.
    RunFailed {
        /// The run step, marked as an error.
        step: Step,
        /// What a person may read.
        message: String,
    },
    /// A run whose process died; settles the execution, once.
    RunLost {
        /// The run.
        run: StepId,
        /// When it was found.
        lost_at: Timestamp,
        /// Why it was taken for lost.
        reason: LostReason,
    },
    /// A question was asked.
    Asked {
        /// The message that asks.
        step: Step,
        /// What an answer must be, as on the wire.
        spec: Value,
        /// When the server gives up.
        timeout_at: Timestamp,
    },
    /// A question ended.
    AskEnded {
        /// The message that asked.
        ask: StepId,
        /// How.
        outcome: Outcome,
    },
    /// An element came or changed.
    Element(Element),
    /// An element is gone.
    ElementRemoved(ElementId),
    /// Somebody voted.
    FeedbackSet(Feedback),
    /// A vote was taken back.
    FeedbackRemoved(FeedbackId),
    /// The chat settings were changed.
    SettingsUpdated(Map<String, Value>),
}

/// A stored record that cannot be read. It is skipped by every projection and breaks nothing (I-15).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    /// A record type that this version does not know.
    #[error("unknown record type")]
    UnknownType,
    /// Attributes of the wrong shape.
    #[error("attributes do not fit the record type")]
    Shape,
}

impl Fact {
    /// The text in the column `record_type`.
    #[must_use]
    pub fn record_type(&self) -> &'static str {
        match self {
            Self::ThreadStarted(_) => "thread_start",
            Self::ThreadUpdated(_) => "thread_update",
            Self::Message { .. } => "message",
            Self::MessageUpdated(_) => "message_update",
            Self::StepDeleted(_) => "message_delete",
            Self::StepStarted(step) if step.kind == StepKind::Tool => "tool_call",
            Self::StepStarted(_) => "step_start",
            Self::StepUpdated(_) => "step_update",
            Self::StepEnded(step) if step.kind == StepKind::Tool => "tool_result",
            Self::StepEnded(_) => "step",
            Self::RunStarted { .. } => "task_start",
            Self::RunEnded { .. } => "task_end",
            Self::RunFailed { .. } => "task_error",
            Self::RunLost { .. } => "task_lost",
            Self::Asked { .. } => "interaction_request",
            Self::AskEnded { .. } => "interaction_response",
            Self::Element(_) => "element",
            Self::ElementRemoved(_) => "element_remove",
            Self::FeedbackSet(_) => "feedback",
            Self::FeedbackRemoved(_) => "feedback_remove",
            Self::SettingsUpdated(_) => "settings",
        }
    }

    /// What it is about: the id of a message, step, run, element or vote.
    #[must_use]
    pub fn entity(&self) -> Option<&str> {
        match self {
            Self::ThreadStarted(_) | Self::ThreadUpdated(_) | Self::SettingsUpdated(_) => None,
            Self::Message { step, .. }
            | Self::MessageUpdated(step)
            | Self::StepStarted(step)
            | Self::StepUpdated(step)
            | Self::StepEnded(step)
            | Self::RunStarted { step, .. }
            | Self::RunEnded { step, .. }
            | Self::RunFailed { step, .. }
            | Self::Asked { step, .. } => Some(step.id.as_str()),
            Self::StepDeleted(id) | Self::RunLost { run: id, .. } | Self::AskEnded { ask: id, .. } => Some(id.as_str()),
            Self::Element(element) => Some(element.id.as_str()),
            Self::ElementRemoved(id) => Some(id.as_str()),
            Self::FeedbackSet(feedback) => feedback.id.as_ref().map(FeedbackId::as_str),
            Self::FeedbackRemoved(id) => Some(id.as_str()),
        }
    }

    /// The run that it ends.
    #[must_use]
    pub fn ends(&self) -> Option<&ExecutionId> {
        match self {
            Self::RunEnded { step, .. } | Self::RunFailed { step, .. } => Some(&step.id),
            Self::RunLost { run, .. } => Some(run),
            Self::ThreadStarted(_)
            | Self::ThreadUpdated(_)
            | Self::Message { .. }
            | Self::MessageUpdated(_)
            | Self::StepDeleted(_)
            | Self::StepStarted(_)
            | Self::StepUpdated(_)
            | Self::StepEnded(_)
            | Self::RunStarted { .. }
            | Self::Asked { .. }
            | Self::AskEnded { .. }
            | Self::Element(_)
            | Self::ElementRemoved(_)
            | Self::FeedbackSet(_)
            | Self::FeedbackRemoved(_)
            | Self::SettingsUpdated(_) => None,
        }
    }

    /// The step it carries whole, which the fold writes into the step table.
    #[must_use]
    pub fn step(&self) -> Option<&Step> {
        match self {
            Self::Message { step, .. }
            | Self::MessageUpdated(step)
            | Self::StepStarted(step)
            | Self::StepUpdated(step)
            | Self::StepEnded(step)
            | Self::RunStarted { step, .. }
            | Self::RunEnded { step, .. }
            | Self::RunFailed { step, .. }
            | Self::Asked { step, .. } => Some(step),
            Self::ThreadStarted(_)
            | Self::ThreadUpdated(_)
            | Self::StepDeleted(_)
            | Self::RunLost { .. }
            | Self::AskEnded { .. }
            | Self::Element(_)
            | Self::ElementRemoved(_)
            | Self::FeedbackSet(_)
            | Self::FeedbackRemoved(_)
            | Self::SettingsUpdated(_) => None,
        }
    }
}
