//! Append, then wake (stand-in until the store is merged).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::store::{Append, Appended, LiveSession, Partial, Store};

/// Why an append was given up.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The store did not answer in time.
    #[error("store not available")]
    Unavailable,
}

/// Resolves when the append is committed.
pub struct Receipt(Pin<Box<dyn Future<Output = Result<Appended, JournalError>> + Send>>);

impl Future for Receipt {
    type Output = Result<Appended, JournalError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

/// The one writer.
#[derive(Clone)]
pub struct Journal {
    #[allow(dead_code)]
    store: Arc<dyn Store>,
}

impl Journal {
    /// Hands an append over.
    pub async fn submit(&self, _append: Append) -> Receipt {
        Receipt(Box::pin(async { Err(JournalError::Unavailable) }))
    }
    /// Writes a partial.
    pub fn partial(&self, _partial: Partial) {}
    /// Remembers a tab.
    pub fn remember(&self, _row: LiveSession) {}
    /// Forgets a tab.
    pub fn forget(&self, _hash: String) {}
}
