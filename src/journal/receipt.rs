//! What a journal gives for an append.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::store::Appended;

/// Why an append has no answer from the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The store was away for longer than somebody could wait. The records may be stored or not; the same append again
    /// tells.
    #[error("store did not answer in time")]
    Unavailable,
    /// Too much waits already, and nothing of it found its way into the store for a while: the append was not taken. Its
    /// thread is marked as incomplete as soon as the store answers.
    #[error("too much waits for the store")]
    Full,
    /// The store answered something that cannot be right.
    #[error("store answered wrongly")]
    Broken,
    /// The journal has stopped.
    #[error("journal has stopped")]
    Stopped,
}

/// The answer to an append, once it is committed. Dropping it changes nothing: the append is stored all the same.
#[derive(Debug)]
pub struct Receipt {
    answer: oneshot::Receiver<Result<Appended, JournalError>>,
    patience: Option<Patience>,
}

/// Until when somebody waits, who must be told that it failed.
#[derive(Debug)]
struct Patience {
    ends: Pin<Box<Sleep>>,
    withdrawn: Option<Arc<AtomicBool>>,
}

impl Receipt {
    pub(super) fn new(answer: oneshot::Receiver<Result<Appended, JournalError>>) -> Self {
        Self { answer, patience: None }
    }

    /// One that ends at a time. Then `withdrawn`, where there is one, says that nobody wants the append any more.
    pub(super) fn until(self, end: Instant, withdrawn: Option<Arc<AtomicBool>>) -> Self {
        Self { patience: Some(Patience { ends: Box::pin(sleep_until(end)), withdrawn }), ..self }
    }

    /// One that failed already.
    pub(super) fn failed(error: JournalError) -> Self {
        let (tell, answer) = oneshot::channel();
        // The other half is right here.
        let _ = tell.send(Err(error));
        Self::new(answer)
    }
}

impl Future for Receipt {
    type Output = Result<Appended, JournalError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(answer) = Pin::new(&mut self.answer).poll(cx) {
            return Poll::Ready(answer.unwrap_or(Err(JournalError::Stopped)));
        }
        if let Some(patience) = &mut self.patience
            && patience.ends.as_mut().poll(cx).is_ready()
        {
            if let Some(withdrawn) = &patience.withdrawn {
                withdrawn.store(true, Ordering::Release);
            }
            return Poll::Ready(Err(JournalError::Unavailable));
        }
        Poll::Pending
    }
}
