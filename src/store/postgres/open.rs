//! Opening a PostgreSQL database: pool, timeouts, tables.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::columns::Columns;
use super::history::Histories;
use super::read::Reads;
use super::sql::Statements;
use super::{PostgresStore, Tables, schema};
use crate::store::StoreError;
use crate::store::options::OpenOptions;

impl PostgresStore {
    /// Opens the database and brings its tables up to date.
    pub async fn open(url: &str, options: OpenOptions) -> Result<Self, StoreError> {
        let statement = options.statement_timeout.as_millis().to_string();
        let settings = PgConnectOptions::from_str(url)
            // The URL may hold a password, and so may the error.
            .map_err(|_| StoreError::Refused("the PostgreSQL URL cannot be read".into()))?
            .application_name("rejoinder")
            .options([
                ("statement_timeout", statement.as_str()),
                ("lock_timeout", "2000"),
                ("idle_in_transaction_session_timeout", "60000"),
                ("timezone", "UTC"),
            ])
            .disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(options.connections)
            .acquire_timeout(Duration::from_secs(5))
            .connect_with(settings)
            .await
            .map_err(StoreError::Unavailable)?;
        let columns = match schema::prepare(&pool, &options).await {
            Ok(columns) => columns,
            Err(error) => {
                pool.close().await;
                return Err(error);
            }
        };
        Ok(Self {
            pool,
            tables: Arc::new(tables(columns)),
            project: options.project,
            instance: options.instance,
            lease: options.lease,
            numbered: options.numbered,
            clock: options.clock,
            probes: options.probes,
        })
    }
}

fn tables(columns: Columns) -> Tables {
    Tables { sql: Statements::new(&columns), reads: Reads::new(&columns), histories: Histories::new(&columns), columns }
}
