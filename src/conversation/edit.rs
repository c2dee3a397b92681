//! Somebody changed what they had written: what followed is gone — from the pages, the store and the context — and the
//! message is answered anew.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::feed::{Audience, Item, Then};
use super::run::{Beginning, Closed, Ended};
use super::state::{Conversation, Stage};
use super::tab::TabId;
use super::turn::Held;
use crate::hook::UserMessage;
use crate::id::StepId;
use crate::protocol::{EditedMessage, FavoriteMessage, ServerEvent, Step, StepKind};
use crate::record::{EndReason, Fact, Record, Source};

impl Conversation {
    /// Somebody changed a message at `tab`. Its run and those of what followed are superseded: what they still say is put
    /// aside. All of it is one append, so that no page and no reader sees half of an edit.
    pub(super) fn edit(&mut self, tab: TabId, edited: EditedMessage, held: Held) {
        let Some(member) = self.members.get(&tab).cloned() else { return };
        if matches!(self.stage, Stage::Deleted) {
            return self.complain(tab, "This conversation was deleted.");
        }
        let Some(written) = self.context.written(&edited.id) else {
            // The page has locked its composer.
            let mut shows = vec![(Audience::Only(tab), ServerEvent::TaskStart)];
            self.indicator(&mut shows);
            return self.items.push(Item::show(shows));
        };
        let mut step = Step::clone(&written.step);
        step.output.clone_from(&edited.output);
        self.context.put(&step);
        let changed = self.record(None, Source::User, Fact::MessageUpdated(step.clone()));
        let mut records = vec![changed];
        let mut shows = vec![(Audience::All, ServerEvent::UpdateMessage(Arc::new(step.clone())))];
        self.supersede(&edited.id, &mut records, &mut shows);

        let message = UserMessage::edited(&step, written.files.clone());
        let run = self.begin_run(&member, message, held);
        match &run {
            Some(Beginning { step, started }) => {
                records.push(started.clone());
                shows.push((Audience::All, ServerEvent::TaskStart));
                shows.push((Audience::All, ServerEvent::NewMessage(Arc::new(step.clone()))));
            }
            None => self.indicator(&mut shows),
        }
        let then = run.map_or(Then::Nothing, |run| Then::Start(run.step.id));
        self.commit(records, shows, then);
    }

    /// Somebody starred a message, or took its star away (chat-wire 3.4). Answers when that is stored.
    pub(super) fn star(&mut self, favorite: FavoriteMessage, done: oneshot::Sender<bool>) {
        let Some(written) = self.context.written(&favorite.id) else {
            let _ = done.send(false);
            return;
        };
        let step = favorite.on(&written.step);
        self.context.put(&step);
        let record = self.record(None, Source::User, Fact::MessageUpdated(step.clone()));
        let shows = vec![(Audience::All, ServerEvent::UpdateMessage(Arc::new(step)))];
        self.commit(vec![record], shows, Then::Tell(done));
    }

    /// Ends the runs of a message and of what followed it, and takes away all that followed it.
    fn supersede(&mut self, message: &StepId, records: &mut Vec<Record>, shows: &mut Vec<(Audience, ServerEvent)>) {
        let following = self.outline.following(message);
        let mut gone: HashSet<StepId> = HashSet::new();
        for root in &following {
            let nothing = Step::new(root.clone(), self.thread.clone(), StepKind::Undefined, "");
            records.push(self.record(None, Source::User, Fact::StepDeleted(root.clone())));
            shows.push((Audience::All, ServerEvent::DeleteMessage(Arc::new(nothing))));
            gone.extend(self.outline.remove(root));
        }
        gone.iter().for_each(|id| self.context.remove(id));
        self.growing.retain(|id, _| !gone.contains(id));
        self.elements.retain(|_, element| element.for_id.as_ref().is_none_or(|id| !gone.contains(id)));
        // A message may be the answer to a question: then the run that asked it is above.
        let above: HashSet<StepId> = self.outline.above(message).into_iter().collect();
        let superseded: Vec<StepId> = self
            .runs
            .values()
            .filter(|run| {
                let id = &run.step.id;
                gone.contains(id) || above.contains(id) || run.step.parent_id.as_ref() == Some(message)
            })
            .map(|run| run.step.id.clone())
            .collect();
        for id in superseded {
            let ended = Ended::Overruled(EndReason::Superseded);
            let closed = self.close_run(&id, ended, records, shows);
            // One that is gone stays so: whoever joins just now would take a change of it for news.
            if let Some(Closed { step, .. }) = closed.filter(|_| !gone.contains(&id)) {
                shows.push((Audience::All, ServerEvent::UpdateMessage(step)));
            }
        }
    }
}
