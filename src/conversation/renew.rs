//! Showing a tab its thread once more, when its session could not keep what it may have missed (`screen`): from the store
//! with what is not stored yet, or from memory alone. The tab takes part all the while; no hook hears of it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::feed::{Audience, Item};
use super::restore::is_content;
use super::state::{Conversation, Stage};
use super::tab::TabId;
use crate::id::ThreadId;
use crate::protocol::{ServerEvent, Step, Thread};
use crate::record::{Fact, Folded, fold};
use crate::screen::fold_onto;

/// Notices to one tab that are kept for it, at most: they are in no store.
const MOST_NOTICES: usize = 50;

/// A thread that is being read for a tab once more.
pub(super) struct Renewal {
    /// Something was on its way into the store when the reading began: it may be in what is read, or not.
    was_unstored: bool,
    /// What was not stored then, and what happened since.
    since: Vec<ServerEvent>,
}

impl Conversation {
    /// A tab needs its thread. The answer is the thread that has to be read for it ([`renewed`](Self::renewed)), or `None`
    /// when it is on the feed already. Without an answer, it is to be asked for again.
    pub(super) fn renew(&mut self, tab: TabId, answer: oneshot::Sender<Option<ThreadId>>) {
        if !self.members.contains_key(&tab) {
            return;
        }
        if let Some(attempt) = self.attempts.get(&tab) {
            let Some(thread) = attempt.so_far() else { return };
            self.show_again(tab, thread, Vec::new());
            drop(answer.send(None));
            return;
        }
        match &self.stage {
            Stage::Saved => {
                // Before it is read, or what happens between the two is lost.
                let since = self.not_stored().collect();
                self.renewals.insert(tab, Renewal { was_unstored: !self.unstored.is_empty(), since });
                drop(answer.send(Some(self.thread.clone())));
            }
            Stage::Unsaved(pending) => {
                let mut thread = fold(&self.thread, pending).into_thread();
                // Their bytes have an address only once the thread is stored: pages find those of a live session.
                thread.elements.clear();
                let elements = pending.iter().filter_map(|record| match &record.fact {
                    Fact::Element(element) => Some(ServerEvent::Element(Arc::new(element.clone()))),
                    Fact::ElementRemoved(id) => Some(ServerEvent::RemoveElement(id.clone())),
                    _ => None,
                });
                let elements = elements.collect();
                let since: Vec<ServerEvent> = self.not_stored().collect();
                self.show_again(tab, fold_onto(thread, &since), elements);
                drop(answer.send(None));
            }
            Stage::Deleted => {
                let nothing = self.nothing();
                self.show_again(tab, nothing, Vec::new());
                drop(answer.send(None));
            }
        }
    }

    /// It was read: `None` when it could not be. It is asked for again where it is still on its way into the store.
    pub(super) fn renewed(&mut self, tab: TabId, read: Option<Option<Thread>>) {
        let Some(Renewal { was_unstored, since }) = self.renewals.remove(&tab) else { return };
        let thread = match read {
            Some(Some(thread)) => thread,
            // It may have been stored right after it was read: then there is more than what was said since.
            Some(None) if self.unstored.is_empty() && !was_unstored => self.nothing(),
            Some(None) | None => return,
        };
        self.show_again(tab, fold_onto(thread, &since), Vec::new());
    }

    /// Follows what is shown, for tabs whose thread is being read.
    pub(super) fn note_for_renewals(&mut self, shows: &[(Audience, ServerEvent)]) {
        for (tab, Renewal { since, .. }) in &mut self.renewals {
            let theirs = |audience: &Audience| match audience {
                Audience::All | Audience::WrittenAt(_) => true,
                Audience::Only(one) => one == tab,
                Audience::Others(other) => other != tab,
                Audience::Again(_) => false,
            };
            let content = shows.iter().filter(|(audience, event)| theirs(audience) && is_content(event));
            since.extend(content.map(|(_, event)| event.clone()));
        }
    }

    /// Something was told to one tab that is no part of the history. The page shows it for as long as it stands.
    pub(super) fn noticed(&mut self, tab: TabId, notice: Arc<Step>) {
        let notices = self.notices.entry(tab).or_default();
        if notices.len() >= MOST_NOTICES {
            notices.remove(0);
        }
        notices.push(notice);
    }

    fn show_again(&mut self, tab: TabId, thread: Thread, beside: Vec<ServerEvent>) {
        let notices = self.notices.get(&tab).into_iter().flatten().cloned().map(ServerEvent::NewMessage);
        let thread = fold_onto(thread, &notices.collect::<Vec<_>>());
        let mut shows = vec![(Audience::Again(tab), ServerEvent::ResumeThread(Arc::new(thread)))];
        shows.extend(beside.into_iter().map(|event| (Audience::Only(tab), event)));
        self.items.push(Item::show(shows));
    }

    fn nothing(&self) -> Thread {
        Folded::new(self.thread.clone()).into_thread()
    }
}
