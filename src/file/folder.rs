//! A folder on this machine: written aside, made durable, then given its name.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, SeekFrom, Write};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use super::BUFFER;
use super::storage::{ByteStream, Incoming, Opened, Source, Storage};
use crate::protocol::Timestamp;

/// A folder that belongs to this server.
pub struct LocalFolder {
    root: PathBuf,
    next: AtomicU64,
}

impl fmt::Debug for LocalFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "folder {}", self.root.display())
    }
}

impl LocalFolder {
    /// Makes the folder, and throws away what a former process had not finished.
    ///
    /// # Errors
    /// When it cannot be made or written to.
    pub fn open(root: PathBuf) -> io::Result<Self> {
        let partial = root.join("partial");
        fs::create_dir_all(&partial)?;
        for entry in fs::read_dir(&partial)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(Self { root, next: AtomicU64::new(0) })
    }

    /// Where a key lies: in one of 256 folders by its first two characters, unless it names folders itself, as those of
    /// other programs do. `None` for a key that leads out of the root.
    fn path(&self, key: &str) -> Option<PathBuf> {
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if key.is_empty() || key.contains(['\0', '\\']) || !Path::new(key).components().all(plain) {
            return None;
        }
        let shelf = key.get(..2).filter(|_| !key.contains('/'));
        Some(shelf.map_or_else(|| self.root.join(key), |shelf| self.root.join(shelf).join(key)))
    }
}

#[async_trait]
impl Storage for LocalFolder {
    async fn create(&self, key: &str) -> io::Result<Box<dyn Incoming>> {
        let path = self.path(key).ok_or(ErrorKind::InvalidInput)?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let aside = self.root.join("partial").join(format!("{}-{number}", std::process::id()));
        // Made where it cannot be interrupted: dropped half-way, the file is removed all the same.
        let partial = blocking(move || Partial::create(aside)).await?;
        Ok(Box::new(Writing { partial: Some(partial), path }))
    }

    async fn open(&self, key: &str) -> io::Result<Option<Opened>> {
        let Some(path) = self.path(key) else { return Ok(None) };
        let file = match tokio::fs::File::open(path).await {
            Ok(file) => file,
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata().await?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let modified = metadata.modified().ok().and_then(|time| jiff::Timestamp::try_from(time).ok());
        let modified = Timestamp::from_micros(modified.map_or(0, jiff::Timestamp::as_microsecond));
        Ok(Some(Opened { length: metadata.len(), modified, source: Box::new(Reading(file)) }))
    }

    async fn delete(&self, key: &str) -> io::Result<()> {
        let Some(path) = self.path(key) else { return Ok(()) };
        match tokio::fs::remove_file(path).await {
            Err(error) if !is_nothing(&error) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Nothing can be there: no such file, or a name that no file can have.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename)
}

/// A file aside. It goes when it is dropped, unless it was renamed.
struct Partial {
    file: File,
    path: PathBuf,
}

impl Partial {
    fn create(path: PathBuf) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok(Self { file, path })
    }

    /// Gives it its name, durably: the bytes first, then the name and the folders that it stands in.
    fn finish(self, path: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        let shelf = path.parent().ok_or(ErrorKind::InvalidInput)?;
        if !shelf.is_dir() {
            fs::create_dir_all(shelf)?;
            if let Some(root) = shelf.parent() {
                sync_folder(root)?;
            }
        }
        fs::rename(&self.path, path)?;
        sync_folder(shelf)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename there is nothing of that name.
        let _ = fs::remove_file(&self.path);
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

struct Writing {
    /// Away while a write is under way; a write that failed leaves nothing to go on with.
    partial: Option<Partial>,
    path: PathBuf,
}

#[async_trait]
impl Incoming for Writing {
    async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        let mut partial = self.partial.take().ok_or(ErrorKind::BrokenPipe)?;
        let partial = blocking(move || {
            partial.file.write_all(&bytes)?;
            Ok(partial)
        });
        self.partial = Some(partial.await?);
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> io::Result<()> {
        let partial = self.partial.take().ok_or(ErrorKind::BrokenPipe)?;
        let path = self.path;
        blocking(move || partial.finish(&path)).await
    }
}

struct Reading(tokio::fs::File);

#[async_trait]
impl Source for Reading {
    async fn read(mut self: Box<Self>, range: Range<u64>) -> io::Result<ByteStream> {
        if range.start > 0 {
            self.0.seek(SeekFrom::Start(range.start)).await?;
        }
        let length = range.end.saturating_sub(range.start);
        Ok(ReaderStream::with_capacity(self.0.take(length), BUFFER).boxed())
    }
}

/// Work on a disk, off the threads that serve.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_leads_out_of_the_folder() {
        let folder = LocalFolder { root: "/files".into(), next: AtomicU64::new(0) };
        for key in ["", "..", "../x", "a/../../x", "/etc/passwd", "a\0", "..\\x", "./x"] {
            assert_eq!(folder.path(key), None, "{key}");
        }
        assert_eq!(folder.path("abcd"), Some("/files/ab/abcd".into()));
        assert_eq!(folder.path("user/element/a.png"), Some("/files/user/element/a.png".into()));
    }
}
