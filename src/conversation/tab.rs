//! What a conversation knows of a tab.

use std::sync::Arc;

use crate::chat::{About, Values};
use crate::id::ThreadId;
use crate::protocol::{ServerEvent, Thread};

/// A page as the conversation sees it: it takes every event, at once, whatever its line does.
pub trait Tab: Send + Sync {
    /// Shows an event.
    fn show(&self, event: ServerEvent);

    /// The whole thread, for a page that has said that it cannot be brought there otherwise. Nothing for any other.
    fn refresh(&self, thread: Arc<Thread>);

    /// The person wrote this at the page, which shows it already.
    fn wrote(&self, event: ServerEvent);

    /// The conversation had its first interaction, under this thread.
    fn began(&self, thread: &ThreadId);
}

/// Which tab, within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TabId(pub u64);

/// A tab that takes part in a conversation.
#[derive(Clone)]
pub struct Member {
    /// Which.
    pub id: TabId,
    /// Its page.
    pub page: Arc<dyn Tab>,
    /// What hooks may know of it.
    pub about: Arc<About>,
    /// Its session values.
    pub values: Arc<Values>,
}
