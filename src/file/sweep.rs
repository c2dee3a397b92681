//! Files that nobody can ask for any more go: first out of reach, then their bytes, then their rows.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use tracing::{info, warn};

use super::Files;
use crate::id::FileId;
use crate::protocol::Timestamp;
use crate::store::StoreError;

/// How long a file without a session and without an element is left alone. A record that refers to it may be on its way
/// into the store, and the row of its session as well: both are written behind.
pub const GRACE: Duration = Duration::from_secs(10 * 60);

/// Time between two sweeps.
const EVERY: Duration = Duration::from_secs(5 * 60);

/// Files that go at a time.
const BATCH: usize = 500;

/// Why files could not be removed; a later sweep does.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The storage is away.
    #[error("the storage of files is not available: {0}")]
    Storage(#[from] io::Error),
}

impl Files {
    /// Looks at every file once. One that neither a session (a live one, by its key in `live`, or one whose row a next
    /// process will find) nor an element refers to is noted; when a later sweep still finds it so after `grace`, it is
    /// removed. Gives how many were.
    ///
    /// # Errors
    /// When the store or the storage is away; what could not be removed is no longer found by anybody and goes with a later sweep.
    pub async fn sweep(&self, live: &HashSet<String>, grace: Duration) -> Result<usize, SweepError> {
        let now = self.clock.now();
        let micros = i64::try_from(grace.as_micros()).unwrap_or(i64::MAX);
        let before = Timestamp::from_micros(now.as_micros().saturating_sub(micros));
        let doomed = self.store.doom_files(live, now, before).await?;
        for batch in doomed.chunks(BATCH) {
            self.remove(batch).await?;
        }
        if !doomed.is_empty() {
            info!(files = doomed.len(), "files that nobody refers to are removed");
        }
        Ok(doomed.len())
    }

    /// The same, for a task that has nobody to tell.
    pub async fn sweep_and_log(&self, live: &HashSet<String>) {
        if let Err(why) = self.sweep(live, GRACE).await {
            warn!(%why, "files could not be swept, trying again later");
        }
    }

    /// Asks for a sweep soon: a thread was deleted.
    pub fn look(&self) {
        self.nudge.notify_one();
    }

    /// Waits until a sweep is due: some minutes, or until somebody asked for one.
    pub async fn due(&self) {
        let _ = tokio::time::timeout(EVERY, self.nudge.notified()).await;
    }

    /// Bytes before rows: a row without bytes is found again, bytes without a row are not.
    pub(super) async fn remove(&self, ids: &[FileId]) -> Result<(), SweepError> {
        for id in ids {
            self.storage.delete(id.as_str()).await?;
        }
        self.store.forget_files(ids).await?;
        Ok(())
    }
}
