//! The words of a hook on their way to its conversation.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::AskError;
use crate::error::HookError;
use crate::id::{ElementId, StepId};
use crate::protocol::{Action, AskKind, Element, ServerEvent, Step, StepKind, Token};

/// Which hook call speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speaker {
    /// The tab it works for, as the conversation numbers them.
    pub tab: u64,
    /// The run it is the work of.
    pub run: Option<StepId>,
    /// The attempt to restore a tab's thread that it is.
    pub attempt: Option<u64>,
    /// The errand of a tab that it is: a hook that is neither run nor restore.
    pub errand: Option<u64>,
}

impl Speaker {
    /// Whether both are the same hook call.
    #[must_use]
    pub fn same_work(&self, other: &Self) -> bool {
        self.run == other.run && self.attempt == other.attempt && self.errand == other.errand
    }
}

/// How a hook call came to its end.
#[derive(Debug)]
pub enum HookEnd {
    /// It returned.
    Returned,
    /// It failed.
    Failed(HookError),
    /// It was stopped at an await.
    Cancelled,
}

/// A command with its speaker.
#[derive(Debug)]
pub struct Envelope {
    /// Who speaks.
    pub speaker: Speaker,
    /// What.
    pub command: Command,
}

/// One message of the chat context.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The message.
    pub id: StepId,
    /// Who said it.
    pub kind: StepKind,
    /// The author's name.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A question as a hook asks it.
#[derive(Debug)]
pub struct NewAsk {
    /// The message that asks.
    pub step: Step,
    /// What is wanted.
    pub kind: AskKind,
    /// The buttons below it.
    pub actions: Vec<Action>,
    /// The form beside it.
    pub element: Option<Element>,
    /// How long to wait.
    pub timeout: Duration,
    /// Takes the answer; dropped without one when the time is over.
    pub answer: oneshot::Sender<Value>,
}

/// What a hook can tell its conversation. The step inside is always complete; the conversation fills in the thread.
#[derive(Debug)]
pub enum Command {
    /// A complete message.
    Message(Step),
    /// A complete message changed.
    Update(Step),
    /// A message or a step is gone, with what hangs below it.
    Remove(StepId),
    /// A step was opened.
    Open(Step),
    /// An open step changed.
    Change(Step),
    /// A step was closed.
    Close(Step),
    /// A message began to stream, with its first token inside.
    StreamStart(Step),
    /// A streaming message or an open step grew.
    Token(Token),
    /// A streaming message is complete.
    Finish(Step),
    /// A streaming message was dropped before its end.
    CutOff(StepId),
    /// A question.
    Ask(Box<NewAsk>),
    /// A function of the host page is called.
    Call {
        /// Which.
        name: String,
        /// With what.
        args: Value,
        /// How long to wait.
        timeout: Duration,
        /// Takes the answer.
        answer: oneshot::Sender<Result<Value, AskError>>,
    },
    /// Something beside a message or a step came or changed.
    Element(Element),
    /// It is gone.
    RemoveElement(ElementId),
    /// A button came.
    Action(Action),
    /// It is gone.
    RemoveAction(Action),
    /// Something for the hook's tab alone.
    Show(ServerEvent),
    /// The chat context is wanted.
    History(oneshot::Sender<Vec<Said>>),
    /// The hook call is over. What its chat says afterwards comes from work that it left behind.
    End(HookEnd),
}

impl Command {
    /// The bytes of text it carries.
    pub(crate) fn text_length(&self) -> usize {
        match self {
            Self::Message(step)
            | Self::Update(step)
            | Self::Open(step)
            | Self::Change(step)
            | Self::Close(step)
            | Self::StreamStart(step)
            | Self::Finish(step) => step.output.len().max(step.input.len()),
            Self::Ask(ask) => ask.step.output.len(),
            Self::Token(token) => token.token.len(),
            Self::Remove(_)
            | Self::CutOff(_)
            | Self::Call { .. }
            | Self::Element(_)
            | Self::RemoveElement(_)
            | Self::Action(_)
            | Self::RemoveAction(_)
            | Self::Show(_)
            | Self::History(_)
            | Self::End(_) => 0,
        }
    }
}
