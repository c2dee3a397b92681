//! A database of its own for each test, on either backend.

use std::sync::Arc;

use rejoinder::store::{OpenOptions, Store, open};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};

/// A database that goes with the test.
pub struct Database {
    pub kind: Kind,
    url: String,
    _folder: Option<tempfile::TempDir>,
    is_ours: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

impl Database {
    /// An empty SQLite file.
    pub async fn sqlite() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("chat.db").display());
        Some(Self { kind: Kind::Sqlite, url, _folder: Some(folder), is_ours: true })
    }

    /// An empty PostgreSQL database in the cluster that `REJOINDER_TEST_POSTGRES` names; none when there is none.
    pub async fn postgres() -> Option<Self> {
        let server = postgres_server()?;
        let name = format!("t{}", uuid::Uuid::new_v4().simple());
        run(Kind::Postgres, &server, &format!("create database {name}")).await.unwrap();
        let (host, _) = server.rsplit_once('/').unwrap();
        Some(Self { kind: Kind::Postgres, url: format!("{host}/{name}"), _folder: None, is_ours: true })
    }

    /// A database that belongs to somebody else, and outlives this.
    pub fn existing(url: String) -> Self {
        let kind = if url.starts_with("sqlite:") { Kind::Sqlite } else { Kind::Postgres };
        Self { kind, url, _folder: None, is_ours: false }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Opens it as a server would.
    pub async fn open(&self) -> Arc<dyn Store> {
        self.open_with(OpenOptions { instance: "here".into(), ..OpenOptions::default() }).await
    }

    pub async fn open_with(&self, options: OpenOptions) -> Arc<dyn Store> {
        open(&self.url, options).await.unwrap()
    }

    /// Runs statements as another program would.
    pub async fn run(&self, sql: &str) {
        run(self.kind, &self.url, sql).await.unwrap();
    }

    /// Runs statements that the database may refuse.
    pub async fn try_run(&self, sql: &str) -> Result<(), sqlx::Error> {
        run(self.kind, &self.url, sql).await
    }

    /// One text from the database.
    pub async fn text(&self, sql: &str) -> Option<String> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.kind {
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar::<_, Option<String>>(sql).fetch_optional(&mut connection).await.unwrap().flatten()
            }
            Kind::Postgres => {
                let mut connection = PgConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar::<_, Option<String>>(sql).fetch_optional(&mut connection).await.unwrap().flatten()
            }
        }
    }

    /// How many rows a table has.
    pub async fn count(&self, table_and_condition: &str) -> i64 {
        let sql = format!("select cast(count(*) as text) from {table_and_condition}");
        self.text(&sql).await.unwrap().parse().unwrap()
    }
}

/// The cluster that `REJOINDER_TEST_POSTGRES` names; none when there is none.
pub fn postgres_server() -> Option<String> {
    let server = std::env::var("REJOINDER_TEST_POSTGRES").ok();
    if server.is_none() {
        assert!(std::env::var("CI").is_err(), "REJOINDER_TEST_POSTGRES is not set, and CI never skips");
        eprintln!("SKIPPED: no PostgreSQL here, set REJOINDER_TEST_POSTGRES (tests/env/with-postgres)");
    }
    server
}

async fn run(kind: Kind, url: &str, sql: &str) -> Result<(), sqlx::Error> {
    let sql = AssertSqlSafe(sql.to_owned());
    match kind {
        Kind::Sqlite => {
            let mut connection = SqliteConnection::connect(&format!("{url}?mode=rwc")).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await?;
            connection.close().await
        }
        Kind::Postgres => {
            let mut connection = PgConnection::connect(url).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await?;
            connection.close().await
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.kind == Kind::Sqlite || !self.is_ours {
            return;
        }
        let (server, name) = self.url.rsplit_once('/').unwrap();
        let (server, sql) = (format!("{server}/postgres"), format!("drop database if exists {name} with (force)"));
        // A test's runtime may be gone or may not block, so the last word is said from another thread.
        let drop = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _ = runtime.block_on(run(Kind::Postgres, &server, &sql));
        });
        let _ = drop.join();
    }
}

/// Runs each function on both databases: `sqlite::name` and `postgres::name`.
macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let database = crate::support::database::Database::sqlite().await.unwrap();
                super::$name(&database).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(database) = crate::support::database::Database::postgres().await {
                    super::$name(&database).await;
                }
            })*
        }
    };
}
pub(crate) use on_both;
