//! Files: their bytes in a storage, their rows in the store. What an upload's answer promised survives `kill -9`.
//!
//! A file is written in three steps: a row that says that it is coming, the bytes, a word in the row that it is kept.
//! Going is the same backwards. Whatever a crash leaves between two steps is a row, and the sweep finds it.

mod bucket;
mod folder;
mod incoming;
mod name;
mod storage;
mod sweep;

pub use bucket::{Bucket, BucketSettings};
pub use folder::LocalFolder;
pub use incoming::{ReceiveError, Upload};
pub use name::{BadName, file_name, mime_type};
pub use storage::{ByteStream, Incoming, Opened, Storage};
pub use sweep::GRACE;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use tokio::sync::Notify;
use tokio_util::io::{ReaderStream, StreamReader};
use tokio_util::task::TaskTracker;

use crate::chat::{Content, FileError, FileKeeper, FilePlace, FileReader, NewFile};
use crate::clock::Clock;
use crate::id::FileId;
use crate::protocol::StoredFile;
use crate::store::{FileRow, Store, StoreError};

/// The files of this server.
#[derive(Clone)]
pub struct Files {
    storage: Arc<dyn Storage>,
    store: Arc<dyn Store>,
    clock: Clock,
    /// A file whose last byte has come is kept to the end, also when nobody waits for it any more.
    tracker: TaskTracker,
    /// Something was deleted that files may have hung on.
    nudge: Arc<Notify>,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "files in {:?}", self.storage)
    }
}

impl Files {
    /// Files whose bytes are in `storage`. The tracker must be waited for before the store is closed.
    #[must_use]
    pub fn new(storage: Arc<dyn Storage>, store: Arc<dyn Store>, clock: Clock, tracker: TaskTracker) -> Self {
        Self { storage, store, clock, tracker, nudge: Arc::default() }
    }

    /// What is known of a file; `None` when it is not kept.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn find(&self, id: &FileId) -> Result<Option<FileRow>, StoreError> {
        self.store.file(id).await
    }

    /// The bytes under a key: the id of a file, or the `objectKey` of an element that another program wrote. `None`
    /// when there are none.
    ///
    /// # Errors
    /// When the storage is away.
    pub async fn open(&self, key: &str) -> std::io::Result<Option<Opened>> {
        self.storage.open(key).await
    }
}

#[async_trait]
impl FileKeeper for Files {
    async fn keep(&self, place: &FilePlace, file: NewFile) -> Result<StoredFile, FileError> {
        // What a hook calls it is bounded as what a page does, and never refused.
        let name = file.name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        let upload = Upload { place: place.clone(), name, mime: mime_type(Some(&file.mime)), most: None };
        let content: ByteStream = match file.content {
            Content::Bytes(bytes) => futures_util::stream::once(async move { Ok(bytes) }).boxed(),
            Content::Path(path) => ReaderStream::with_capacity(tokio::fs::File::open(path).await?, BUFFER).boxed(),
        };
        self.receive(upload, content).await.map_err(|failed| match failed {
            ReceiveError::Content(why) | ReceiveError::Storage(why) => FileError::Io(why),
            ReceiveError::TooLarge => FileError::Io(std::io::ErrorKind::FileTooLarge.into()),
            ReceiveError::Store(why) => FileError::Io(std::io::Error::other(why)),
        })
    }

    async fn read(&self, id: &FileId) -> Result<FileReader, FileError> {
        let row = self.find(id).await.map_err(std::io::Error::other)?.ok_or(FileError::NotFound)?;
        let opened = self.open(row.file.id.as_str()).await?.ok_or(FileError::NotFound)?;
        Ok(Box::pin(StreamReader::new(opened.read(None).await?)))
    }
}

/// The longest name that a hook gives, in characters.
const LONGEST_NAME: usize = 255;

/// How much of a file is in memory at a time.
const BUFFER: usize = 64 * 1024;
