//! How long the parts of a stop may take: a server that is told to stop does.

use std::io;
use std::time::Duration;

use tokio::task::JoinError;
use tokio::time::timeout;
use tracing::warn;

/// For requests that were accepted before.
pub(super) const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// For the app's stop hook.
pub(super) const APP_SHUTDOWN: Duration = Duration::from_secs(10);

/// For giving the database back.
pub(super) const CLOSING: Duration = Duration::from_secs(5);

/// Waits for a part, not longer than it may take. Whether it ended.
pub(super) async fn within<T>(part: &'static str, time: Duration, end: impl Future<Output = T>) -> bool {
    let in_time = timeout(time, end).await.is_ok();
    if !in_time {
        warn!(part, seconds = time.as_secs(), "did not stop in time");
    }
    in_time
}

/// Why accepting ended by itself.
pub(super) fn failure(result: Result<io::Result<()>, JoinError>) -> io::Error {
    match result {
        Ok(Ok(())) => io::Error::other("stopped accepting connections"),
        Ok(Err(error)) => error,
        Err(error) => io::Error::other(error),
    }
}
