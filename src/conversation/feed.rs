//! The ordered feed: what a conversation shows, in one order for all of its tabs, each thing when it is stored.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::debug;

use super::preview::Piece;
use super::restore::{Restored, is_content};
use super::tab::TabId;
use crate::id::StepId;
use crate::journal::{JournalError, Receipt};
use crate::protocol::ServerEvent;
use crate::store::{Append, Appended, Stored};

/// How long a thing waits for the store before it is shown all the same (promise 15).
pub const PATIENCE: Duration = Duration::from_millis(250);

/// Who is shown an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Every tab of the conversation.
    All,
    /// One tab, whether it takes part yet or not.
    Only(TabId),
    /// One tab that is shown its thread once more, in place of what its session could not keep.
    Again(TabId),
    /// Every tab but this one.
    Others(TabId),
    /// Every tab; this one shows it already, since its visitor wrote it.
    WrittenAt(TabId),
}

/// What happens once the records of an item are stored, or are not.
#[derive(Debug)]
pub enum Then {
    /// Nothing: a failure is told.
    Nothing,
    /// A run waits for its message to be stored.
    Start(StepId),
    /// As `Start`, and the thread begins with it: the append is kept, should the thread belong to somebody else.
    Open(StepId, Box<Append>),
    /// A request waits.
    Tell(oneshot::Sender<bool>),
    /// A hook waits for its answer to be stored.
    Answer(oneshot::Sender<serde_json::Value>, serde_json::Value),
}

/// One step of the feed.
#[derive(Debug)]
pub struct Item {
    /// What is stored first.
    pub append: Option<Append>,
    /// The place of the append in the conversation's order of appends.
    pub place: u64,
    /// What happens when it is stored.
    pub then: Then,
    /// What is shown.
    pub showing: Showing,
}

/// What happens when an item has its turn.
#[derive(Debug, Default)]
pub struct Showing {
    /// What is shown, in order.
    pub shows: Vec<(Audience, ServerEvent)>,
    /// A tab that takes part from here on.
    pub joins: Option<TabId>,
    /// What whoever follows over HTTP is told of it.
    pub piece: Option<Piece>,
    /// A session whose tab is shown its thread by now, or the error instead.
    pub restored: Option<(oneshot::Sender<Restored>, Restored)>,
}

impl Item {
    /// An item that only shows.
    pub fn show(shows: Vec<(Audience, ServerEvent)>) -> Self {
        Showing { shows, ..Showing::default() }.into()
    }
}

impl From<Showing> for Item {
    fn from(showing: Showing) -> Self {
        Self { append: None, place: 0, then: Then::Nothing, showing }
    }
}

/// What the store said of an item.
pub type Verdict = Result<Appended, JournalError>;

/// Items on their way: the head is let go when it is stored or after [`PATIENCE`]; nothing overtakes it.
#[derive(Default)]
pub struct Feed {
    queue: VecDeque<Waiting>,
    late: FuturesUnordered<Late>,
}

struct Waiting {
    showing: Showing,
    receipt: Option<(Receipt, Then, u64)>,
    deadline: Instant,
}

struct Late(Option<Then>, u64, Receipt);

impl Future for Late {
    type Output = (Then, u64, Verdict);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let verdict = std::task::ready!(Pin::new(&mut self.2).poll(cx));
        Poll::Ready((self.0.take().unwrap_or(Then::Nothing), self.1, verdict))
    }
}

/// Whether the store has put all of it aside.
fn is_put_aside(verdict: &Verdict) -> bool {
    matches!(verdict, Ok(Ok(stored)) if !stored.is_empty() && stored.iter().all(|one| *one == Stored::Quarantined))
}

/// What the feed lets go.
pub enum Released {
    /// This has its turn.
    Show(Showing),
    /// The store has spoken of the append with this place.
    Stored(Then, u64, Verdict),
}

impl Feed {
    /// Adds an item whose records were handed to the journal. `wait`: not shown before they are stored.
    pub fn push(&mut self, item: Item, receipt: Option<Receipt>, wait: bool) {
        let Item { then, place, showing, .. } = item;
        let receipt = receipt.map(|receipt| (receipt, then, place));
        let (receipt, late) = if wait { (receipt, None) } else { (None, receipt) };
        if let Some((receipt, then, place)) = late {
            self.late.push(Late(Some(then), place, receipt));
        }
        self.queue.push_back(Waiting { showing, receipt, deadline: Instant::now() + PATIENCE });
    }

    /// How many items are on their way.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.late.is_empty()
    }

    /// The next thing that is let go; waits for ever while there is none. Cancel safe.
    pub async fn next(&mut self) -> Released {
        loop {
            let Some(head) = self.queue.front_mut() else {
                return match self.late.next().await {
                    Some((then, place, verdict)) => Released::Stored(then, place, verdict),
                    None => std::future::pending().await,
                };
            };
            let Some((receipt, _, place)) = &mut head.receipt else {
                if let Some(head) = self.queue.pop_front() {
                    return Released::Show(head.showing);
                }
                continue;
            };
            tokio::select! {
                biased;
                verdict = receipt => {
                    let place = *place;
                    if is_put_aside(&verdict) {
                        // Nobody has seen it, and nobody shall.
                        head.showing.shows.retain(|(_, event)| !is_content(event));
                    }
                    let then = head.receipt.take().map_or(Then::Nothing, |(_, then, _)| then);
                    return Released::Stored(then, place, verdict);
                }
                Some((then, place, verdict)) = self.late.next() => return Released::Stored(then, place, verdict),
                () = tokio::time::sleep_until(head.deadline) => {
                    if let Some((receipt, then, place)) = head.receipt.take() {
                        debug!("the store is slow: shown before it is stored");
                        self.late.push(Late(Some(then), place, receipt));
                    }
                }
            }
        }
    }
}
