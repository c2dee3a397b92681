//! Favourites: messages that somebody starred, over all of their threads (chat-wire 3.4).

use std::sync::Arc;

use tracing::{info, warn};

use super::Session;
use crate::protocol::FavoriteMessage;

impl Session {
    /// Shows the favourites. Silence where there is nobody whose they could be, or no such feature.
    pub(super) fn show_favorites(self: &Arc<Self>) {
        if self.owner.is_none() || !self.config().features.favorites {
            return;
        }
        info!(session = ?self.id, "favourites are not built");
    }

    /// Stars a message, or takes its star away.
    pub(super) fn star(self: &Arc<Self>, favorite: FavoriteMessage) {
        if self.owner.is_none() || !self.config().features.favorites {
            return;
        }
        warn!(session = ?self.id, favorite = favorite.favorite, "favourites are not built");
    }
}
