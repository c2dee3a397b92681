//! How much may wait for the store (records.md 3.5): so many records and bytes of a thread, so many bytes of them all.
//! Whoever has no place waits for one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::JournalSettings;
use crate::id::ThreadId;

/// What waits, by thread.
pub(super) struct Rooms {
    threads: DashMap<ThreadId, Arc<Room>>,
    records: u32,
    bytes: u32,
    all: Arc<Semaphore>,
    most: u32,
    /// When the oldest append was handed in that the writer works on.
    oldest: Mutex<Option<Instant>>,
}

/// What waits of one thread.
struct Room {
    records: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// The place of an append that waits. Dropping it gives the place back.
pub(super) struct Place {
    rooms: Arc<Rooms>,
    room: Arc<Room>,
    thread: ThreadId,
    records: usize,
    _permits: [OwnedSemaphorePermit; 3],
}

impl Rooms {
    pub fn new(settings: &JournalSettings) -> Arc<Self> {
        let bound = |number: usize| u32::try_from(number.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        let most = bound(settings.queue_bytes);
        Arc::new(Self {
            threads: DashMap::new(),
            records: bound(settings.thread_records),
            bytes: bound(settings.thread_bytes),
            all: Arc::new(Semaphore::new(most as usize)),
            most,
            oldest: Mutex::new(None),
        })
    }

    /// Waits for a place. Whoever asked first has it first. What is larger than all of the room takes all of it.
    pub async fn enter(self: &Arc<Self>, thread: &ThreadId, records: usize, bytes: usize) -> Option<Place> {
        let room = self.room(thread);
        let wanted = |number: usize, most: u32| u32::try_from(number).unwrap_or(most).min(most);
        let permits = [
            room.records.clone().acquire_many_owned(wanted(records, self.records)).await.ok()?,
            room.bytes.clone().acquire_many_owned(wanted(bytes, self.bytes)).await.ok()?,
            self.all.clone().acquire_many_owned(wanted(bytes, self.most)).await.ok()?,
        ];
        room.waiting.fetch_add(records, Ordering::AcqRel);
        Some(Place { rooms: self.clone(), room, thread: thread.clone(), records, _permits: permits })
    }

    /// How many records of a thread wait.
    pub fn waiting(&self, thread: &ThreadId) -> usize {
        self.threads.get(thread).map_or(0, |room| room.waiting.load(Ordering::Acquire))
    }

    /// How many records wait, and what they weigh in bytes.
    pub fn all(&self) -> (usize, usize) {
        let records = self.threads.iter().map(|room| room.waiting.load(Ordering::Acquire)).sum();
        (records, self.most as usize - self.all.available_permits())
    }

    /// The writer works on what was handed in at this moment, or on nothing.
    pub fn writing(&self, since: Option<Instant>) {
        *self.oldest.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// For how long that has waited.
    pub fn oldest(&self) -> Duration {
        self.oldest.lock().unwrap_or_else(PoisonError::into_inner).map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Removes what is left of threads of which nothing waits: a caller may have given up.
    pub fn sweep(&self) {
        self.threads.retain(|_, room| Arc::strong_count(room) > 1);
    }

    fn room(&self, thread: &ThreadId) -> Arc<Room> {
        // Under the shard's lock, so that nobody removes it in between.
        let entry = self.threads.entry(thread.clone()).or_insert_with(|| {
            Arc::new(Room {
                records: Arc::new(Semaphore::new(self.records as usize)),
                bytes: Arc::new(Semaphore::new(self.bytes as usize)),
                waiting: AtomicUsize::new(0),
            })
        });
        entry.value().clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.waiting.fetch_sub(self.records, Ordering::AcqRel);
        // The list's own and this one: nobody else waits in this room.
        self.rooms.threads.remove_if(&self.thread, |_, room| Arc::strong_count(room) <= 2);
    }
}
