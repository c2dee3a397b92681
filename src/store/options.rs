//! How a database is opened, and by which backend.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::probe::Probes;
use super::{Store, StoreError, postgres, sqlite};
use crate::clock::Clock;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The project that the database must hold; a new database takes its name.
    pub project: String,
    /// This process: runs that it starts carry it.
    pub instance: String,
    /// How long a run counts as alive since its process last said so ([`Store::renew`]).
    pub lease: Duration,
    /// Whether records get sequences (setting `records.sequence`).
    pub numbered: bool,
    /// Connections of a PostgreSQL pool.
    pub connections: u32,
    /// How long one PostgreSQL statement may take before it counts as an outage.
    pub statement_timeout: Duration,
    /// Where the time comes from.
    pub clock: Clock,
    /// Points at which a test waits.
    #[doc(hidden)]
    pub probes: Probes,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            project: "default".into(),
            instance: uuid::Uuid::new_v4().to_string(),
            lease: Duration::from_secs(90),
            numbered: true,
            connections: 10,
            statement_timeout: Duration::from_secs(5),
            clock: Clock::system(),
            probes: Probes::default(),
        }
    }
}

/// Where a database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file.
    Sqlite(PathBuf),
    /// A server, as a URL that the driver knows.
    Postgres(String),
}

/// Opens a database, makes or completes its tables, and takes ownership of a SQLite file. `sqlite://` makes the file
/// and its folders. Chainlit's spellings (`sqlite+aiosqlite:///`, `postgresql+asyncpg://`) are understood.
pub async fn open(url: &str, options: OpenOptions) -> Result<Arc<dyn Store>, StoreError> {
    Ok(match place(url)? {
        Place::Sqlite(path) => Arc::new(sqlite::SqliteStore::open(&path, options).await?),
        Place::Postgres(url) => Arc::new(postgres::PostgresStore::open(&url, options).await?),
    })
}

fn place(url: &str) -> Result<Place, StoreError> {
    let refused = || {
        // The URL may hold a password, so it is not in the sentence.
        StoreError::Refused("database URL must be sqlite://PATH or postgres://USER@HOST/NAME".into())
    };
    let (scheme, rest) = url.split_once("://").ok_or_else(refused)?;
    match scheme.split_once('+').map_or(scheme, |(scheme, _driver)| scheme) {
        "sqlite" => {
            let path = rest.split_once('?').map_or(rest, |(path, _)| path);
            // SQLAlchemy writes one slash more: three for a relative path, four for an absolute one.
            let path = if scheme.contains('+') { path.strip_prefix('/').unwrap_or(path) } else { path };
            if path.is_empty() || path == ":memory:" {
                return Err(StoreError::Refused("a database in memory would lose everything: give a file".into()));
            }
            Ok(Place::Sqlite(PathBuf::from(path)))
        }
        "postgres" | "postgresql" => Ok(Place::Postgres(format!("postgres://{rest}"))),
        _ => Err(refused()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_both_worlds() {
        let sqlite = |path: &str| Place::Sqlite(path.into());
        let postgres = |url: &str| Place::Postgres(url.into());
        for (url, expected) in [
            ("sqlite:///var/lib/chat.db", sqlite("/var/lib/chat.db")),
            ("sqlite://data/chat.db?mode=rwc", sqlite("data/chat.db")),
            ("sqlite+aiosqlite:///./chat.db", sqlite("./chat.db")),
            ("sqlite+aiosqlite:////srv/chat.db", sqlite("/srv/chat.db")),
            ("postgresql+asyncpg://u:p@h:5432/d", postgres("postgres://u:p@h:5432/d")),
            ("postgres://h/d", postgres("postgres://h/d")),
        ] {
            assert_eq!(place(url).unwrap(), expected, "{url}");
        }
        for url in ["chat.db", "mysql://h/d", "sqlite://", "sqlite://:memory:"] {
            assert!(matches!(place(url), Err(StoreError::Refused(_))), "{url}");
        }
    }
}
