//! Opening a SQLite file: ownership, settings, tables.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

use super::SqliteStore;
use super::insert::Inserts;
use super::schema;
use crate::store::StoreError;
use crate::store::options::OpenOptions;

/// Readers beside the one writer.
const READERS: u32 = 4;

impl SqliteStore {
    /// Opens or makes the file. The lock that makes this process its owner is the operating system's, on a file
    /// beside it: it goes with the process, however that ends.
    pub async fn open(path: &Path, options: OpenOptions) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let (path, lock) = tokio::task::spawn_blocking(move || own(path))
            .await
            .map_err(|error| StoreError::Corrupt(error.to_string()))??;
        let settings = SqliteConnectOptions::new()
            .filename(&path)
            .busy_timeout(Duration::from_secs(5))
            .foreign_keys(true)
            .synchronous(SqliteSynchronous::Full)
            // Statement journals are small and short.
            .pragma("temp_store", "memory")
            // Ids are random, so each batch touches many pages: fewer, larger checkpoints write each page once.
            .pragma("wal_autocheckpoint", "8000")
            .disable_statement_logging();
        let writer = SqlitePoolOptions::new()
            .min_connections(1)
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_with(
                settings
                    .clone()
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal)
                    // The default of 2 MB spills pages of a batch before its commit. Readers have no batches: theirs would
                    // only grow with what is replayed.
                    .pragma("cache_size", "-65536"),
            )
            .await
            .map_err(StoreError::Unavailable)?;
        let prepared = schema::prepare(&writer, &options).await;
        let disable_feedback = match prepared {
            Ok(disable_feedback) => disable_feedback,
            Err(error) => {
                writer.close().await;
                return Err(error);
            }
        };
        let readers = readers(settings).await?;
        Ok(Self {
            writer,
            readers,
            inserts: Inserts::new(disable_feedback),
            project: options.project,
            instance: options.instance,
            lease: options.lease,
            numbered: options.numbered,
            clock: options.clock,
            probes: options.probes,
            lock: std::sync::Mutex::new(Some(lock)),
        })
    }
}

async fn readers(settings: SqliteConnectOptions) -> Result<SqlitePool, StoreError> {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(settings.read_only(true))
        .await
        .map_err(StoreError::Unavailable)
}

/// Makes the folder and takes the lock.
fn own(path: PathBuf) -> Result<(PathBuf, File), StoreError> {
    let failed =
        |what: &str, error: std::io::Error| StoreError::Refused(format!("cannot {what} {}: {error}", path.display()));
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| failed("make the folder of", error))?;
    }
    let mut name = path.clone().into_os_string();
    name.push(".lock");
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&name)
        .map_err(|error| failed("make the lock file of", error))?;
    match lock.try_lock() {
        Ok(()) => Ok((path, lock)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Refused(format!(
            "another server has {} open: a SQLite file belongs to one process",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed("lock", error)),
    }
}
