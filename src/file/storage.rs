//! Where bytes are: a folder or a bucket.

use std::fmt;
use std::io;
use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::protocol::Timestamp;

/// Bytes on their way, a buffer at a time.
pub type ByteStream = BoxStream<'static, io::Result<Bytes>>;

/// A place for bytes under keys.
#[async_trait]
pub trait Storage: Send + Sync + fmt::Debug + 'static {
    /// Begins to write what will be found under `key`.
    ///
    /// # Errors
    /// When the storage is away or full.
    async fn create(&self, key: &str) -> io::Result<Box<dyn Incoming>>;

    /// What is under `key`; `None` when there is nothing.
    ///
    /// # Errors
    /// When the storage is away.
    async fn open(&self, key: &str) -> io::Result<Option<Opened>>;

    /// Removes what is under `key`. Nothing there is a success.
    ///
    /// # Errors
    /// When the storage is away.
    async fn delete(&self, key: &str) -> io::Result<()>;
}

/// Bytes that are being written. Dropped before [`Incoming::finish`] was called, nothing of them is left.
#[async_trait]
pub trait Incoming: Send {
    /// Writes on. Holds no more than some megabytes in memory: it waits while the storage is slow.
    ///
    /// # Errors
    /// When the storage is away or full.
    async fn write(&mut self, bytes: Bytes) -> io::Result<()>;

    /// The end. When this returns `Ok`, everything is found under the key, also after a crash; before, nothing is.
    /// Must not be dropped in between: whether something is there would be unknown.
    ///
    /// # Errors
    /// When the storage is away or full.
    async fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Bytes that were found.
pub struct Opened {
    /// How many there are.
    pub length: u64,
    /// Since when.
    pub modified: Timestamp,
    pub(super) source: Box<dyn Source>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.length)
    }
}

impl Opened {
    /// The bytes of a range that lies within the length, or all of them.
    ///
    /// # Errors
    /// When the storage is away.
    pub async fn read(self, range: Option<Range<u64>>) -> io::Result<ByteStream> {
        let range = range.unwrap_or(0..self.length);
        self.source.read(range).await
    }
}

/// How a storage reads what it found.
#[async_trait]
pub(super) trait Source: Send {
    async fn read(self: Box<Self>, range: Range<u64>) -> io::Result<ByteStream>;
}
