//! Named points of a transaction at which a test may wait, or end it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::StoreError;

/// A point of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Cursors are locked and everything is read; nothing is written.
    AfterLock,
    /// Everything is written.
    AfterInsert,
    /// The next thing is the commit.
    BeforeCommit,
    /// It is committed; nobody was told.
    AfterCommit,
}

/// What a test does at a point. An error there is taken for an outage.
#[async_trait]
pub trait Probe: Send + Sync {
    /// An append is at this point.
    async fn reach(&self, point: Point) -> Result<(), StoreError>;
}

/// The probe of a store, if a test gave it one.
#[derive(Clone, Default)]
pub struct Probes(pub Option<Arc<dyn Probe>>);

impl Probes {
    pub(super) async fn reach(&self, point: Point) -> Result<(), StoreError> {
        match &self.0 {
            Some(probe) => probe.reach(point).await,
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Probes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a probe" } else { "no probe" })
    }
}
