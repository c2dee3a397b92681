//! The beats of the watchdog, for as long as anybody talks.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::conversation::Conversations;
use crate::journal::{Found, Watchdog};

/// Lets the watchdog beat until `stop`. What it finds is told to the conversations, so that pages show it.
pub(super) fn watch(
    mut watchdog: Watchdog,
    conversations: Arc<Conversations>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) {
    tracker.spawn(async move {
        loop {
            let beat = async {
                watchdog.due().await;
                let Found { settled, overtaken } = watchdog.beat().await;
                conversations.overtaken(overtaken).await;
                conversations.settled(settled).await;
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = beat => {}
            }
        }
    });
}
