//! Taking a file in.

use std::io;

use futures_util::{Stream, StreamExt};
use tracing::error;

use super::Files;
use super::storage::Incoming;
use crate::chat::FilePlace;
use crate::id::FileId;
use crate::protocol::StoredFile;
use crate::store::{FileRow, StoreError};

/// A file that is about to come.
#[derive(Clone, Debug)]
pub struct Upload {
    /// For whom it is kept.
    pub place: FilePlace,
    /// Its name.
    pub name: String,
    /// Its content type.
    pub mime: String,
    /// At most so many bytes.
    pub most: Option<u64>,
}

/// Why a file was not taken. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// Its bytes broke off.
    #[error("the file did not come to its end: {0}")]
    Content(#[source] io::Error),
    /// It has more bytes than it may.
    #[error("the file is too large")]
    TooLarge,
    /// The place for its bytes is away or full.
    #[error("the storage of files is not available: {0}")]
    Storage(#[source] io::Error),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Files {
    /// Takes a file in as it comes; holds some megabytes of it at most. When this returns `Ok`, it survives a crash.
    /// Dropped before the last byte came, it leaves nothing; afterwards the file is kept all the same, and goes with
    /// its session.
    ///
    /// # Errors
    /// [`ReceiveError`].
    pub async fn receive(
        &self,
        upload: Upload,
        mut content: impl Stream<Item = io::Result<bytes::Bytes>> + Unpin + Send,
    ) -> Result<StoredFile, ReceiveError> {
        let id = FileId::random();
        let mut incoming = self.storage.create(id.as_str()).await.map_err(ReceiveError::Storage)?;
        let mut size: u64 = 0;
        while let Some(bytes) = content.next().await {
            let bytes = bytes.map_err(ReceiveError::Content)?;
            size = size.saturating_add(bytes.len() as u64);
            if upload.most.is_some_and(|most| size > most) {
                return Err(ReceiveError::TooLarge);
            }
            incoming.write(bytes).await.map_err(ReceiveError::Storage)?;
        }
        let Upload { place, name, mime, .. } = upload;
        let file = StoredFile { id, name, mime, size };
        let row = FileRow {
            file: file.clone(),
            session: place.session.key(),
            thread: place.thread,
            created_at: self.clock.now(),
        };
        // What follows is not interrupted: a dropped request must not leave bytes that no row knows.
        let files = self.clone();
        let finished = self.tracker.spawn(async move { files.finish(incoming, row).await }).await;
        finished.map_err(|panicked| ReceiveError::Storage(io::Error::other(panicked)))??;
        Ok(file)
    }

    /// Row, bytes, row. A crash in between leaves a row that is not kept, which the sweep finds.
    async fn finish(&self, incoming: Box<dyn Incoming>, row: FileRow) -> Result<(), ReceiveError> {
        let id = row.file.id.clone();
        self.store.add_file(&row).await?;
        let kept = match incoming.finish().await {
            Ok(()) => self.store.keep_file(&id).await.map_err(ReceiveError::Store),
            Err(why) => Err(ReceiveError::Storage(why)),
        };
        if kept.is_err()
            && let Err(why) = self.remove(std::slice::from_ref(&id)).await
        {
            error!(file = %id, %why, "what is left of a file will be removed by a sweep");
        }
        kept
    }
}
