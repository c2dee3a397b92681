//! A bucket of S3, or of a server that speaks its protocol. Big files go in parts, one at a time.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ClientOptions, GetOptions, MultipartUpload, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::storage::{ByteStream, Incoming, Opened, Source, Storage};
use crate::protocol::Timestamp;

/// The smallest part that S3 takes, the last one excepted. So much of a file is in memory, at most twice.
const PART: usize = 5 * 1024 * 1024;

/// How long a storage that does not answer is tried.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which bucket, and how it is reached. What is not said is looked for where AWS's own programs look for it: the
/// variables `AWS_…`, the role of the machine.
#[derive(Clone, Default)]
pub struct BucketSettings {
    /// Its name.
    pub name: String,
    /// What stands before every key.
    pub prefix: String,
    /// Its region.
    pub region: Option<String>,
    /// Another server than AWS's.
    pub endpoint: Option<String>,
    /// The public half of a key.
    pub access_key: Option<String>,
    /// The secret half.
    pub secret_key: Option<String>,
}

/// A bucket.
#[derive(Clone)]
pub struct Bucket {
    client: Arc<AmazonS3>,
    name: String,
    prefix: String,
    /// Parts of a file that came to nothing are thrown away by tasks.
    tracker: TaskTracker,
    runtime: Handle,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket {}", self.name)
    }
}

impl Bucket {
    /// A bucket that is there. Nothing is asked of it yet. Must be called on the runtime whose tasks `tracker` tracks.
    ///
    /// # Errors
    /// When the settings make no sense; the text is for an operator and has no secrets.
    pub fn open(settings: BucketSettings, tracker: TaskTracker) -> Result<Self, String> {
        let BucketSettings { name, prefix, region, endpoint, access_key, secret_key } = settings;
        // Whole requests have no limit in time: a download may be slow. A server that is away is noticed by the
        // connection.
        let options = ClientOptions::new().with_timeout_disabled().with_connect_timeout(PATIENCE / 2);
        let retry = RetryConfig { max_retries: 3, retry_timeout: PATIENCE, ..RetryConfig::default() };
        let mut builder =
            AmazonS3Builder::from_env().with_bucket_name(&name).with_retry(retry).with_client_options(options);
        if let Some(region) = region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = endpoint {
            builder = builder.with_allow_http(endpoint.starts_with("http://")).with_endpoint(endpoint);
        }
        if let (Some(access), Some(secret)) = (access_key, secret_key) {
            builder = builder.with_access_key_id(access).with_secret_access_key(secret);
        }
        let client = Arc::new(builder.build().map_err(|error| error.to_string())?);
        Ok(Self { client, name, prefix, tracker, runtime: Handle::current() })
    }

    fn path(&self, key: &str) -> Option<Path> {
        let whole = if self.prefix.is_empty() { key.to_owned() } else { format!("{}/{key}", self.prefix) };
        Path::parse(whole).ok().filter(|_| !key.is_empty())
    }
}

#[async_trait]
impl Storage for Bucket {
    async fn create(&self, key: &str) -> io::Result<Box<dyn Incoming>> {
        let path = self.path(key).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Box::new(Writing { bucket: self.clone(), path, waiting: BytesMut::new(), parts: None }))
    }

    async fn open(&self, key: &str) -> io::Result<Option<Opened>> {
        let Some(path) = self.path(key) else { return Ok(None) };
        match self.client.head(&path).await {
            Ok(meta) => {
                let modified = Timestamp::from_micros(meta.last_modified.timestamp_micros());
                let source = Box::new(Reading { client: self.client.clone(), path });
                Ok(Some(Opened { length: meta.size, modified, source }))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(away(error)),
        }
    }

    async fn delete(&self, key: &str) -> io::Result<()> {
        let Some(path) = self.path(key) else { return Ok(()) };
        match self.client.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(away(error)),
        }
    }
}

fn away(error: object_store::Error) -> io::Error {
    io::Error::other(error)
}

struct Writing {
    bucket: Bucket,
    path: Path,
    /// Less than a part.
    waiting: BytesMut,
    parts: Option<Box<dyn MultipartUpload>>,
}

impl Writing {
    async fn part(&mut self, part: Bytes) -> io::Result<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            None => {
                let parts = self.bucket.client.put_multipart(&self.path).await.map_err(away)?;
                self.parts.insert(parts)
            }
        };
        parts.put_part(part.into()).await.map_err(away)
    }
}

#[async_trait]
impl Incoming for Writing {
    async fn write(&mut self, bytes: Bytes) -> io::Result<()> {
        self.waiting.extend_from_slice(&bytes);
        while self.waiting.len() >= PART {
            let part = self.waiting.split_to(PART).freeze();
            self.part(part).await?;
        }
        Ok(())
    }

    async fn finish(mut self: Box<Self>) -> io::Result<()> {
        let rest = std::mem::take(&mut self.waiting).freeze();
        if self.parts.is_none() {
            self.bucket.client.put(&self.path, rest.into()).await.map_err(away)?;
            return Ok(());
        }
        if !rest.is_empty() {
            self.part(rest).await?;
        }
        if let Some(parts) = &mut self.parts {
            parts.complete().await.map_err(away)?;
        }
        self.parts = None;
        Ok(())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let Some(mut parts) = self.parts.take() else { return };
        // Parts are kept, and paid for, until somebody says that nothing comes of them.
        let abort = async move {
            if let Err(error) = parts.abort().await {
                warn!(%error, "parts of a file that was not finished are left in the bucket");
            }
        };
        self.bucket.tracker.spawn_on(abort, &self.bucket.runtime);
    }
}

struct Reading {
    client: Arc<AmazonS3>,
    path: Path,
}

#[async_trait]
impl Source for Reading {
    async fn read(self: Box<Self>, range: Range<u64>) -> io::Result<ByteStream> {
        if range.is_empty() {
            return Ok(futures_util::stream::empty().boxed());
        }
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let got = self.client.get_opts(&self.path, options).await.map_err(away)?;
        Ok(got.into_stream().map_err(away).boxed())
    }
}
