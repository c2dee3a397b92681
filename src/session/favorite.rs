//! Favourites: messages that somebody starred, over all of their threads (chat-wire 3.4).

use std::sync::Arc;

use tokio::sync::oneshot;
use tracing::{error, info};

use super::Session;
use crate::conversation::Input;
use crate::id::RecordId;
use crate::protocol::{FavoriteMessage, ServerEvent};
use crate::record::{Fact, Record, Source};
use crate::store::{Append, StoreError};

/// So many are shown at most, the newest.
const MOST: u32 = 100;

impl Session {
    /// Whether anybody could have favourites here.
    fn has_favorites(&self) -> bool {
        self.owner.is_some() && self.config().features.favorites
    }

    /// Shows the favourites. Silence where there is nobody whose they could be, or no such feature.
    pub(super) fn show_favorites(self: &Arc<Self>) {
        if self.has_favorites() {
            let session = self.clone();
            self.home.tracker.spawn(async move { session.list_favorites().await });
        }
    }

    /// Stars a message or takes its star away; then the favourites are shown anew.
    pub(super) fn star(self: &Arc<Self>, favorite: FavoriteMessage) {
        if !self.has_favorites() {
            return;
        }
        // Asked for here, so that two of one page keep their order.
        let (done, starred) = oneshot::channel();
        self.tell(Input::Star(favorite.clone(), done));
        let session = self.clone();
        self.home.tracker.spawn(async move {
            if starred.await != Ok(true)
                && let Err(failure) = session.star_elsewhere(&favorite).await
            {
                error!(session = ?session.id, %failure, "a favourite could not be changed");
            }
            session.list_favorites().await;
        });
    }

    /// A message of another thread of theirs: as it is listed, so it can be taken off the list.
    async fn star_elsewhere(&self, favorite: &FavoriteMessage) -> Result<(), StoreError> {
        let owner = self.owner.as_ref().map(|owner| owner.identifier.clone());
        let Some(step) = self.home.store.step(owner.as_deref(), &favorite.id).await? else {
            info!(session = ?self.id, "no such message to star");
            return Ok(());
        };
        let step = favorite.on(&step);
        let thread = step.thread_id.clone();
        let (id, produced_at) = (RecordId::random(), self.home.clock.now());
        let fact = Fact::MessageUpdated(step.clone());
        let record = Record { id, execution: None, source: Source::User, produced_at, fact };
        let append = Append { thread, owner, records: vec![record], hinge: None };
        if matches!(self.home.journal.submit_or_withdraw(append).await.await, Ok(Ok(_))) {
            self.outbox.show(ServerEvent::UpdateMessage(Arc::new(step)));
        }
        Ok(())
    }

    async fn list_favorites(&self) {
        let Some(owner) = &self.owner else { return };
        match self.home.store.favorites(&owner.identifier, MOST).await {
            Ok(steps) => self.outbox.show(ServerEvent::SetFavorites(steps.into())),
            Err(failure) => error!(session = ?self.id, %failure, "favourites could not be read"),
        }
    }
}
