//! Runs that nobody works on here: of a process that died, or whose end could not be stored. They can be told nothing, so
//! whoever stops them ends them, over their heads (records.md 3.4): should somebody work on one elsewhere after all, what
//! it still says is put aside.

use tracing::info;

use super::access::Access;
use super::error::RecordError;
use crate::http::Http;
use crate::id::{CommandId, ExecutionId};
use crate::record::ends;
use crate::store::{Append, Refused};

/// Runs of a thread, oldest first.
pub(super) struct Orphans(Vec<ExecutionId>);

impl Orphans {
    /// All runs that have no end in the store.
    pub(super) async fn open(http: &Http, access: &Access) -> Result<Self, RecordError> {
        let snapshot = http.store.snapshot(&access.thread).await?.ok_or(RecordError::no_session())?;
        Ok(Self(snapshot.running.into_iter().map(|run| run.id).collect()))
    }

    /// Those that a conversation does not work on.
    pub(super) fn without(mut self, worked_on: &[ExecutionId]) -> Self {
        self.0.retain(|run| !worked_on.contains(run));
        self
    }

    /// Those that have no end either once everything is stored that was said here before: an end may be on its way.
    pub(super) async fn settled_meanwhile(mut self, http: &Http, access: &Access) -> Result<Self, RecordError> {
        if self.0.is_empty() {
            return Ok(self);
        }
        // Stored in order, so when nothing is stored, all that came before it is.
        let nothing = self::append(access, Vec::new());
        let _: Result<_, Refused> = http.journal.submit_patiently(nothing).await.await?;
        let Self(open) = Self::open(http, access).await?;
        self.0.retain(|run| open.contains(run));
        Ok(self)
    }

    /// The one that began last.
    pub(super) fn newest(&self) -> Option<&ExecutionId> {
        self.0.last()
    }

    /// Forgets all but one.
    pub(super) fn only(&mut self, wanted: &ExecutionId) {
        self.0.retain(|run| run == wanted);
    }

    /// Ends them. When this returns, their ends are stored: these or those of somebody who was faster.
    pub(super) async fn end(self, http: &Http, access: &Access, command: &CommandId) -> Result<(), RecordError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let stored = http.store.thread(&access.thread).await?.ok_or(RecordError::no_session())?;
        let now = http.clock.now();
        let records = self.0.iter().flat_map(|run| ends(&stored.thread, run, command, now)).collect();
        let ended = http.journal.submit_patiently(append(access, records)).await.await?;
        ended.map_err(|_| RecordError::no_session())?;
        info!(thread = %access.thread, runs = self.0.len(), "runs that nobody worked on were stopped");
        Ok(())
    }
}

fn append(access: &Access, records: Vec<crate::record::Record>) -> Append {
    let owner = access.user.as_ref().map(|user| user.identifier.clone());
    Append { thread: access.thread.clone(), owner, records, hinge: None }
}
