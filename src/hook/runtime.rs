//! Where hooks run: on a runtime of their own, so that one that blocks its thread stops no ping and nobody else's chat.

use std::future::Future;
use std::sync::Arc;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::TaskTracker;

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

    /// Waits until no hook runs.
    pub async fn idle(&self) {
        self.tracker.close();
        self.tracker.wait().await;
    }
}
