//! Stands in until a database can be opened: it never answers.

use async_trait::async_trait;

use crate::id::{ExecutionId, ThreadId};
use crate::protocol::{ThreadPage, Timestamp, User};
use crate::store::{
    Append, Appended, Cursor, LiveSession, Partial, Store, StoreError, StoredRecord, StoredThread, ThreadHead,
    ThreadQuery,
};

pub(super) struct NoStore;

fn away<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable(sqlx::Error::PoolClosed))
}

#[async_trait]
impl Store for NoStore {
    async fn append(&self, _: &[Append]) -> Result<Vec<Appended>, StoreError> {
        away()
    }
    async fn save_partials(&self, _: &[Partial]) -> Result<(), StoreError> {
        away()
    }
    async fn thread(&self, _: &ThreadId) -> Result<Option<StoredThread>, StoreError> {
        away()
    }
    async fn thread_head(&self, _: &ThreadId) -> Result<Option<ThreadHead>, StoreError> {
        away()
    }
    async fn threads(&self, _: &ThreadQuery) -> Result<ThreadPage, StoreError> {
        away()
    }
    async fn delete_thread(&self, _: &ThreadId) -> Result<bool, StoreError> {
        away()
    }
    async fn user(&self, _: &str) -> Result<Option<User>, StoreError> {
        away()
    }
    async fn save_user(&self, _: &User) -> Result<User, StoreError> {
        away()
    }
    async fn save_sessions(&self, _: &[LiveSession]) -> Result<(), StoreError> {
        away()
    }
    async fn forget_sessions(&self, _: &[String]) -> Result<(), StoreError> {
        away()
    }
    async fn session(&self, _: &str) -> Result<Option<LiveSession>, StoreError> {
        away()
    }
    async fn settle_lost(&self, _: &str, _: Timestamp) -> Result<Vec<ExecutionId>, StoreError> {
        away()
    }
    async fn records(&self, _: &ThreadId, _: u64, _: Option<u64>, _: u32) -> Result<Vec<StoredRecord>, StoreError> {
        away()
    }
    async fn cursor(&self, _: &ThreadId) -> Result<Option<Cursor>, StoreError> {
        away()
    }
    async fn ping(&self) -> Result<(), StoreError> {
        away()
    }
    async fn close(&self) {}
}
