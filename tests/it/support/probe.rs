//! Waiting at, and failing at, named points of a store's transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rejoinder::store::probe::{Point, Probe, Probes};
use rejoinder::store::{OpenOptions, StoreError};
use tokio::sync::Semaphore;

/// Options of a store whose appends meet a probe.
pub fn probed(probe: Arc<dyn Probe>) -> OpenOptions {
    OpenOptions { instance: "here".into(), probes: Probes(Some(probe)), ..OpenOptions::default() }
}

/// Whoever comes to a point reports and waits to be let through.
pub struct Gate {
    point: Point,
    arrived: Semaphore,
    open: Semaphore,
}

impl Gate {
    pub fn at(point: Point) -> Arc<Self> {
        Arc::new(Self { point, arrived: Semaphore::new(0), open: Semaphore::new(0) })
    }

    /// Waits until somebody is at the gate.
    pub async fn arrival(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    /// Lets one through.
    pub fn let_through(&self) {
        self.open.add_permits(1);
    }

    /// Lets everybody through from now on.
    pub fn stay_open(&self) {
        self.open.add_permits(1_000_000);
    }
}

#[async_trait::async_trait]
impl Probe for Gate {
    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        if point == self.point {
            self.arrived.add_permits(1);
            self.open.acquire().await.unwrap().forget();
        }
        Ok(())
    }
}

/// The connection breaks at a point: the first so many times, or every so many.
pub struct Break {
    point: Point,
    which: Box<dyn Fn(usize) -> bool + Send + Sync>,
    seen: AtomicUsize,
}

impl Break {
    pub fn at(point: Point, which: impl Fn(usize) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { point, which: Box::new(which), seen: AtomicUsize::new(0) })
    }
}

#[async_trait::async_trait]
impl Probe for Break {
    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        if point == self.point && (self.which)(self.seen.fetch_add(1, Ordering::Relaxed)) {
            let cut = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "cut by the test");
            return Err(StoreError::Unavailable(sqlx::Error::Io(cut)));
        }
        Ok(())
    }
}

/// Everybody rests at a point, so that others can come between.
pub struct Pause(pub Point, pub Duration);

#[async_trait::async_trait]
impl Probe for Pause {
    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        if point == self.0 {
            tokio::time::sleep(self.1).await;
        }
        Ok(())
    }
}
