//! The rows of people: each request's person is loaded, and stored when new.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tracing::warn;

use crate::protocol::User;
use crate::store::{Store, StoreError};

/// How long a person who was loaded is not loaded again: a row that another process changes is seen after this time
/// at the latest.
pub const REMEMBERED: Duration = Duration::from_secs(10);

/// How long a request waits for the store before it takes the token's word.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whoever is remembered beyond this many makes room by forgetting those whose time is over.
const MANY: usize = 10_000;

/// One person. The lock is held while the row is loaded, so that of many requests at once one asks the store.
type Slot = Arc<Mutex<Option<(Instant, User)>>>;

pub(super) struct People {
    store: Arc<dyn Store>,
    slots: DashMap<String, Slot>,
}

impl People {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, slots: DashMap::new() }
    }

    /// The row of whom a token names, made when there is none. The name to show is the token's: it is not stored.
    /// When the store does not answer, the token's user.
    pub(super) async fn known(&self, user: User) -> User {
        let slot = self.slot(&user.identifier);
        let mut remembered = slot.lock().await;
        if let Some((until, row)) = &*remembered
            && Instant::now() < *until
        {
            return User { display_name: user.display_name, ..row.clone() };
        }
        match answer(self.load(&user)).await {
            Ok(row) => {
                *remembered = Some((Instant::now() + REMEMBERED, row.clone()));
                User { display_name: user.display_name, ..row }
            }
            Err(why) => {
                warn!(%why, "a person's row was not loaded, the token's word is taken");
                user
            }
        }
    }

    async fn load(&self, user: &User) -> Result<User, StoreError> {
        match self.store.user(&user.identifier).await? {
            Some(row) => Ok(row),
            None => self.store.save_user(user).await,
        }
    }

    /// Stores whom a login hook named, metadata included.
    pub(super) async fn signed_in(&self, user: &User) {
        let slot = self.slot(&user.identifier);
        let mut remembered = slot.lock().await;
        *remembered = match answer(self.store.save_user(user)).await {
            Ok(row) => Some((Instant::now() + REMEMBERED, row)),
            Err(why) => {
                warn!(%why, "a person who signed in was not stored");
                None
            }
        };
    }

    fn slot(&self, identifier: &str) -> Slot {
        if self.slots.len() >= MANY {
            let now = Instant::now();
            let fresh = |row: &Option<(Instant, User)>| row.as_ref().is_some_and(|(until, _)| now < *until);
            // A slot that is locked is in use.
            self.slots.retain(|_, slot| slot.try_lock().map_or(true, |row| fresh(&row)));
        }
        Arc::clone(&self.slots.entry(identifier.to_owned()).or_default())
    }
}

/// What the store says, if it says something in time.
async fn answer(asked: impl Future<Output = Result<User, StoreError>>) -> Result<User, String> {
    match timeout(PATIENCE, asked).await {
        Ok(Ok(row)) => Ok(row),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("store does not answer".to_owned()),
    }
}
