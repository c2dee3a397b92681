//! What a journal gives for an append.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::store::Appended;

/// Why an append has no answer from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The store was away for longer than the journal waits. The records may be stored or not; the same append again
    /// tells.
    #[error("store did not answer in time")]
    Unavailable,
    /// The store answered something that cannot be right.
    #[error("store answered wrongly")]
    Broken,
    /// The journal has stopped.
    #[error("journal has stopped")]
    Stopped,
}

/// The answer to an append, once it is committed. Dropping it changes nothing: the append is stored all the same.
#[derive(Debug)]
pub struct Receipt(oneshot::Receiver<Result<Appended, JournalError>>);

impl Receipt {
    pub(super) fn new(answer: oneshot::Receiver<Result<Appended, JournalError>>) -> Self {
        Self(answer)
    }
}

impl Future for Receipt {
    type Output = Result<Appended, JournalError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.unwrap_or(Err(JournalError::Stopped)))
    }
}
