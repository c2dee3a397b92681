//! What a socket sees of its session. A trait, so that tests can play the session.

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;

use crate::protocol::{BadEvent, ClientEvent};
use crate::session::{Connect, Entry, Flooded, Link, Refusal, Sessions};

/// Where pages are attached to their session.
pub trait Tabs: Send + Sync + 'static {
    /// A socket's hold on its session. Dropping it says that the socket is gone.
    type Tab: Tab;

    /// As [`Sessions::connect`].
    fn connect(self: &Arc<Self>, page: Connect) -> impl Future<Output = Result<Self::Tab, Refusal>> + Send;
}

/// A socket's hold on its session.
pub trait Tab: Send + Sync + 'static {
    /// As [`Link::receive`].
    ///
    /// # Errors
    /// [`Flooded`] when the inbox is full.
    fn receive(&self, event: Result<ClientEvent, BadEvent>) -> Result<(), Flooded>;

    /// As [`Link::next`].
    fn next(&self, most: usize) -> impl Future<Output = Option<Vec<Entry>>> + Send;

    /// As [`Link::proven`].
    fn proven(&self, number: u64);

    /// As [`Link::answered`].
    fn answered(&self, number: u64, value: Value);

    /// As [`Link::replaced`].
    fn replaced(&self) -> impl Future<Output = ()> + Send;
}

impl Tabs for Sessions {
    type Tab = Link;

    async fn connect(self: &Arc<Self>, page: Connect) -> Result<Link, Refusal> {
        Self::connect(self, page).await
    }
}

impl Tab for Link {
    fn receive(&self, event: Result<ClientEvent, BadEvent>) -> Result<(), Flooded> {
        Self::receive(self, event)
    }

    async fn next(&self, most: usize) -> Option<Vec<Entry>> {
        Self::next(self, most).await
    }

    fn proven(&self, number: u64) {
        Self::proven(self, number);
    }

    fn answered(&self, number: u64, value: Value) {
        Self::answered(self, number, value);
    }

    async fn replaced(&self) {
        Self::replaced(self).await;
    }
}
