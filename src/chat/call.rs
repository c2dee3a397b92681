//! Calls of functions of the page that a copilot is part of.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

use super::{AskError, Chat, Command};

/// A call of a function of the host page. Awaiting it gives what the function answered.
#[derive(Debug)]
#[must_use = "a function is called by awaiting this"]
pub struct FunctionCall {
    chat: Chat,
    name: String,
    args: Value,
    timeout: Duration,
}

impl FunctionCall {
    /// How long to wait; five minutes when nothing is said.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    async fn call(self) -> Result<Value, AskError> {
        let (sender, answer) = oneshot::channel();
        let Self { chat, name, args, timeout } = self;
        let told = chat.tell(Command::Call { name, args, timeout, answer: sender }).await;
        told.map_err(|_| AskError::Ended)?;
        answer.await.unwrap_or(Err(AskError::Ended))
    }
}

impl IntoFuture for FunctionCall {
    type Output = Result<Value, AskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.call())
    }
}

impl Chat {
    /// Calls a function of the page around the copilot, at the tab that this hook works for. A page that loses its line
    /// after the call reached it cannot answer any more: then the call ends as [`AskError::Disconnected`].
    pub fn call_fn(&self, name: impl Into<String>, args: impl Into<Value>) -> FunctionCall {
        let (name, args) = (name.into(), args.into());
        FunctionCall { chat: self.clone(), name, args, timeout: Duration::from_secs(300) }
    }
}
