//! Where hooks run: on a runtime of their own, so that one that blocks its thread stops no ping and nobody else's chat.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::{Handler, Input};
use crate::error::HookError;

/// Threads for hooks. More than cores: a hook that blocks one must leave others.
const THREADS: usize = 16;

/// The runtime of the hooks. Dropping the last clone abandons hooks that still block a thread.
#[derive(Clone, Debug)]
pub struct HookRuntime {
    handle: Handle,
    tracker: TaskTracker,
    _owned: Option<Arc<Owned>>,
}

#[derive(Debug)]
struct Owned(Option<Runtime>);

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl HookRuntime {
    /// A runtime of its own.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub fn start() -> std::io::Result<Self> {
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("rejoinder-hook").enable_all().build()?;
        let handle = runtime.handle().clone();
        Ok(Self { handle, tracker: TaskTracker::new(), _owned: Some(Arc::new(Owned(Some(runtime)))) })
    }

    /// The runtime that calls this, for tests that move the clock.
    #[must_use]
    pub fn current() -> Self {
        Self { handle: Handle::current(), tracker: TaskTracker::new(), _owned: None }
    }

    /// Runs a task of a hook.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn_on(work, &self.handle);
    }

    /// Calls a hook and waits for what it returns, no longer than `patience`: one that still works then is given up, one
    /// that blocks its thread holds up only itself.
    ///
    /// # Errors
    /// What the hook fails with; also when it panics or takes too long.
    pub async fn ask<E, T>(&self, hook: &Handler<E, T>, input: Input<E>, patience: Duration) -> Result<T, HookError>
    where
        E: Send + 'static,
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let hook = hook.clone();
        self.spawn(async move {
            let work = AssertUnwindSafe(async move { hook(input).await }).catch_unwind();
            let result = match timeout(patience, work).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(Unanswered::Panicked.into()),
                Err(_) => Err(Unanswered::TooLong(patience.as_secs()).into()),
            };
            // Nobody waits any more when the request is gone.
            let _ = answer.send(result);
        });
        match timeout(patience, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Unanswered::Stopping.into()),
            Err(_) => Err(Unanswered::TooLong(patience.as_secs()).into()),
        }
    }

    /// Waits until no hook runs.
    pub async fn idle(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Why a hook that was asked gave no answer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Unanswered {
    #[error("it panicked")]
    Panicked,
    #[error("it took longer than {0} s")]
    TooLong(u64),
    #[error("the server is stopping")]
    Stopping,
}
