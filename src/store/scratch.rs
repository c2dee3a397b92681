//! Databases that are made for a while: a server that is only tried gets one of its own.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::StoreError;

/// A PostgreSQL database that nobody else has. It stays until [`Scratch::remove`].
#[derive(Debug)]
pub struct Scratch {
    /// The database that its maker was connected to.
    server: String,
    name: String,
    url: String,
}

impl Scratch {
    /// Makes one on the server of `url`, whose user must have the right to.
    ///
    /// # Errors
    /// When the server is away or refuses.
    pub async fn create(url: &str) -> Result<Self, StoreError> {
        let name = format!("rejoinder_scratch_{}", uuid::Uuid::new_v4().simple());
        run(url, format!("create database {name}")).await?;
        let (path, query) = url.split_once('?').map_or((url, ""), |(path, query)| (path, query));
        let host = path.rsplit_once('/').map_or(path, |(host, _)| host);
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        Ok(Self { server: url.to_owned(), url: format!("{host}/{name}{query}"), name })
    }

    /// Its address.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Drops it, whoever is still connected. What fails is left to whoever looks after the database server.
    pub async fn remove(self) {
        if let Err(error) = run(&self.server, format!("drop database if exists {} with (force)", self.name)).await {
            tracing::warn!(database = self.name, %error, "a database that was made for a while could not be dropped");
        }
    }
}

/// Runs a statement. Names in it are made here, of hexadecimal digits.
async fn run(url: &str, sql: String) -> Result<(), StoreError> {
    let mut connection = PgConnection::connect(url).await.map_err(StoreError::Unavailable)?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map_err(StoreError::Unavailable)?;
    connection.close().await.map_err(StoreError::Unavailable)
}
