//! How a server stops: in order, and in bounded time.

use std::io;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;
use tracing::warn;

use crate::app::App;
use crate::store::Store;

/// How long requests that were accepted may take to end.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// How long the database may take to close.
const CLOSING: Duration = Duration::from_secs(5);

/// How long the app's stop hook may take.
const APP_SHUTDOWN: Duration = Duration::from_secs(10);

/// What accepting connections came to.
type Serving = JoinHandle<io::Result<()>>;

/// What came first.
pub(super) enum Ended {
    /// Somebody asked to stop; connections are still served.
    Asked(Serving),
    /// Accepting failed.
    Failed(io::Error),
}

/// Waits until `stop` resolves or accepting fails.
pub(super) async fn until(stop: impl Future<Output = ()>, mut serving: Serving) -> Ended {
    tokio::select! {
        () = stop => Ended::Asked(serving),
        result = &mut serving => Ended::Failed(failure(result)),
    }
}

/// Ends the rest, once everybody was told.
pub(super) async fn rest(ended: Ended, app: &App, store: &dyn Store) -> io::Result<()> {
    let result = match ended {
        Ended::Asked(mut serving) => {
            if timeout(LAST_REQUESTS, &mut serving).await.is_err() {
                warn!("requests still ran when their time was over");
                serving.abort();
            }
            Ok(())
        }
        Ended::Failed(error) => Err(error),
    };
    if timeout(APP_SHUTDOWN, app.shutdown()).await.is_err() {
        warn!("on_app_shutdown took too long");
    }
    if timeout(CLOSING, store.close()).await.is_err() {
        warn!("the database did not close in time");
    }
    result
}

fn failure(result: Result<io::Result<()>, JoinError>) -> io::Error {
    match result {
        Ok(Ok(())) => io::Error::other("stopped accepting connections"),
        Ok(Err(error)) => error,
        Err(error) => io::Error::other(error),
    }
}
