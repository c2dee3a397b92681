//! Files as hooks have them: made of bytes or of a file on disk, read as a stream.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncRead;

use crate::id::{FileId, SessionId, ThreadId};
use crate::protocol::StoredFile;

/// Where files are kept. What stands behind it is not a hook's business.
#[async_trait]
pub trait FileKeeper: Send + Sync + fmt::Debug + 'static {
    /// Keeps a file for a conversation. When this returns `Ok`, its bytes survive a crash, for as long as an element of a
    /// stored thread refers to them or the session lives. Never holds more than a buffer of it in memory.
    ///
    /// # Errors
    /// When it cannot be read or kept; then nothing is left of it.
    async fn keep(&self, place: &FilePlace, file: NewFile) -> Result<StoredFile, FileError>;

    /// The bytes of a file that is kept.
    ///
    /// # Errors
    /// When there is no such file, or its place is away.
    async fn read(&self, id: &FileId) -> Result<FileReader, FileError>;
}

/// The bytes of a file.
pub type FileReader = Pin<Box<dyn AsyncRead + Send>>;

/// For whom a file is kept: the tab that made it, and the thread that tab is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The tab.
    pub session: SessionId,
    /// Its thread, stored or not.
    pub thread: ThreadId,
}

/// A file before it is kept.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// Its name.
    pub name: String,
    /// Its content type.
    pub mime: String,
    /// What is in it.
    pub content: Content,
}

/// What is in a file.
#[derive(Clone, Debug)]
pub enum Content {
    /// These bytes.
    Bytes(Bytes),
    /// What a file on disk holds at the moment it is sent. It is copied as a stream.
    Path(PathBuf),
}

/// Why a file cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// The place where files are kept is away or full, or a file on disk cannot be read.
    #[error("the file cannot be reached: {0}")]
    Io(#[from] std::io::Error),
}
