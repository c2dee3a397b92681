//! A multipart body as a stream that holds little of it, whoever sends it: the parser would keep whatever the line gives
//! until it has found the end of a head, or a moment without bytes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::BodyDataStream;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use multer::{Field, Multipart};

/// What may come in without anything coming out: heads of parts are small.
const MOST_HELD: usize = 1 << 20;

/// How long a client may send nothing.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is read of a body that is of no use any more, so that its sender hears why: a browser that is cut off while it
/// sends shows nothing of an answer.
const MOST_DRAINED: usize = 512 << 20;

/// Why no more parts come.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadParts {
    /// Nothing came for a minute.
    #[error("nothing came for a minute")]
    Silent,
    /// It ends too early, or is none.
    #[error("the parts cannot be read: {0}")]
    Broken(#[from] multer::Error),
}

/// The parts of a request's body.
pub(super) struct Parts {
    multipart: Multipart<'static>,
    current: Option<Field<'static>>,
    held: Arc<AtomicUsize>,
}

impl Parts {
    /// `None` when the request has none.
    pub(super) fn of(request: Request) -> Option<Self> {
        let boundary = multer::parse_boundary(request.headers().get(CONTENT_TYPE)?.to_str().ok()?).ok()?;
        let held = Arc::new(AtomicUsize::new(0));
        let body = Paced { body: request.into_body().into_data_stream(), gave: false, held: held.clone() };
        Some(Self { multipart: Multipart::new(body, boundary), current: None, held })
    }

    /// The name, file name and content type of the next part. What was not read of the one before is passed over.
    pub(super) async fn next(&mut self) -> Result<Option<Part>, BadParts> {
        while self.chunk().await?.is_some() {}
        self.current = None;
        self.held.store(0, Ordering::Relaxed);
        let next =
            tokio::time::timeout(PATIENCE, self.multipart.next_field()).await.map_err(|_| BadParts::Silent)??;
        let Some(field) = next else { return Ok(None) };
        let part = Part {
            name: field.name().unwrap_or_default().to_owned(),
            file_name: field.file_name().map(str::to_owned),
            mime: field.content_type().map(|mime| mime.essence_str().to_owned()),
        };
        self.current = Some(field);
        Ok(Some(part))
    }

    /// The next bytes of the part; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, BadParts> {
        let Some(field) = &mut self.current else { return Ok(None) };
        let chunk = tokio::time::timeout(PATIENCE, field.chunk()).await.map_err(|_| BadParts::Silent)??;
        self.held.store(0, Ordering::Relaxed);
        Ok(chunk)
    }

    /// Reads what is left, up to a bound, and throws it away.
    pub(super) async fn drain(mut self) {
        let mut drained = 0;
        while drained < MOST_DRAINED {
            match self.chunk().await {
                Ok(Some(bytes)) => drained += bytes.len(),
                Ok(None) => match self.next().await {
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return,
                },
                Err(_) => return,
            }
        }
    }
}

/// The head of a part.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
    pub(super) mime: Option<String>,
}

/// A body that gives one buffer at a time.
struct Paced {
    body: BodyDataStream,
    gave: bool,
    held: Arc<AtomicUsize>,
}

impl Stream for Paced {
    type Item = Result<Bytes, multer::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.gave {
            // The parser asks until there is nothing: let it work on what it has first.
            self.gave = false;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.held.load(Ordering::Relaxed) > MOST_HELD {
            return Poll::Ready(Some(Err(multer::Error::StreamSizeExceeded { limit: MOST_HELD as u64 })));
        }
        match self.body.poll_next_unpin(context) {
            Poll::Ready(Some(Ok(bytes))) => {
                self.gave = true;
                self.held.fetch_add(bytes.len(), Ordering::Relaxed);
                Poll::Ready(Some(Ok(bytes)))
            }
            Poll::Ready(Some(Err(why))) => Poll::Ready(Some(Err(multer::Error::StreamReadFailed(why.into())))),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}
