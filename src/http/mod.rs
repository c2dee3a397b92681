//! Everything that pages ask over plain HTTP (chat-wire 6): one file a noun.

mod accept;
mod action;
mod cors;
mod element;
mod error;
mod extract;
mod feedback;
mod file;
mod health;
mod kept;
mod language;
mod login;
mod metrics;
mod multipart;
mod observe;
mod page;
mod picture;
mod records;
mod root;
mod session;
mod session_cookie;
mod settings;
mod share;
mod thread;
mod trace;
mod translation;
mod upload;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{Extensions, HeaderMap};
use axum::response::Response;
use axum::routing::{get, post, put};
use tokio_util::sync::CancellationToken;
use tower::Service;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::app::{Answers, App};
use crate::auth::Auth;
use crate::clock::Clock;
use crate::config::Config;
use crate::conversation::{Cancel, Conversations, Told};
use crate::file::Files;
use crate::frontend::Frontend;
use crate::id::ThreadId;
use crate::journal::Journal;
use crate::session::Sessions;
use crate::store::Store;

pub use error::ApiError;
pub use extract::{Caller, Line};
pub use records::{Commands, StreamLimits, StreamSettings, Streams};
#[doc(hidden)]
pub use records::{Point, StreamProbe};

/// What routes tell the conversations in memory.
#[async_trait]
pub trait Live: Send + Sync + 'static {
    /// A thread was deleted, its tombstone is stored: end its runs, tell its sessions.
    async fn thread_deleted(&self, thread: &ThreadId);

    /// A thread has a new name; its record is stored.
    async fn thread_renamed(&self, thread: &ThreadId, name: &str);

    /// Tells what runs on a thread here to stop, as the stop button does.
    async fn cancel(&self, thread: &ThreadId, cancel: Cancel) -> Told;

    /// Whether everything that runs on a thread was told to stop.
    fn is_stopping(&self, thread: &ThreadId) -> bool;
}

/// What the routes work with.
pub struct Http {
    /// What was set.
    pub config: Arc<Config>,
    /// The application.
    pub app: App,
    /// What the application answers, its hooks called where they hold up nobody.
    pub answers: Answers,
    /// Logins.
    pub auth: Auth,
    /// The database, for reading and for what is no record.
    pub store: Arc<dyn Store>,
    /// The way into it for records.
    pub journal: Journal,
    /// The conversations in memory.
    pub live: Arc<dyn Live>,
    /// The same, for what streams in them.
    pub conversations: Arc<Conversations>,
    /// The streams of events.
    pub streams: Streams,
    /// Commands that came with a key.
    pub commands: Commands,
    /// The live tabs.
    pub sessions: Arc<Sessions>,
    /// Files.
    pub files: Arc<Files>,
    /// The page.
    pub frontend: Frontend,
    /// The time.
    pub clock: Clock,
    /// Where the server listens.
    pub listen: SocketAddr,
    /// Cancelled when the server begins to stop.
    pub stopping: CancellationToken,
}

/// What handlers get.
type Shared = Arc<Http>;

/// The largest body of a route that takes JSON or a form.
const LARGEST_BODY: usize = 1 << 20;

/// From this size on answers are compressed, where the client takes it.
const WORTH_COMPRESSING: u64 = 500;

/// The routes, as they are without a root path. Any other GET is the page.
pub fn routes(http: Arc<Http>) -> Router {
    let compressed = SizeAbove::new(WORTH_COMPRESSING)
        .and(NotForContentType::SSE)
        .and(NotForContentType::IMAGES)
        .and(NotForContentType::const_new("audio/"))
        .and(NotForContentType::const_new("video/"))
        .and(|_, _, _: &HeaderMap, marks: &Extensions| marks.get::<kept::AsItIs>().is_none());
    let routes = Router::new()
        .route("/", get(page::show).head(health::head))
        .route("/health", get(health::health))
        .route("/livez", get(health::health))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::show))
        .route("/auth/config", get(login::config))
        .route("/login", post(login::password))
        .route("/logout", post(login::logout))
        .route("/auth/jwt", post(login::jwt))
        .route("/auth/header", post(login::header))
        .route("/auth/oauth/{provider}", get(login::oauth))
        .route("/auth/oauth/{provider}/callback", get(login::oauth).post(login::oauth))
        .route("/user", get(login::user))
        .route("/set-session-cookie", post(session_cookie::set))
        .route("/project/translations", get(translation::get))
        .route("/project/settings", get(settings::get))
        .route("/project/threads", post(thread::list))
        .route("/project/thread", put(thread::rename).delete(thread::delete))
        .route("/project/thread/share", put(share::set))
        .route("/project/thread/{thread}", get(thread::get))
        .route("/project/thread/{thread}/element/{element}", get(thread::element))
        .route("/project/element", put(element::change).delete(element::remove))
        .route("/project/action", post(action::press))
        .route("/project/thread/{thread}/element/{element}/content", get(kept::of_element))
        // Bodies of any size: what is taken of them is bounded where they are read.
        .route("/project/file", post(upload::upload).layer(DefaultBodyLimit::disable()))
        .route("/project/file/{file}", get(kept::of_session))
        .route("/project/share/{thread}", get(share::get))
        .route("/feedback", put(feedback::set).delete(feedback::remove))
        .route("/mcp", post(settings::no_mcp).delete(settings::no_mcp))
        .route("/observe/{thread}", get(observe::show))
        .route("/public/{*path}", get(file::public))
        .route("/assets/{*path}", get(file::assets))
        .route("/copilot/{*path}", get(file::copilot))
        .route("/favicon", get(picture::favicon))
        .route("/logo", get(picture::logo))
        .route("/avatars/{id}", get(picture::avatar))
        .merge(records::routes())
        .fallback(page::otherwise)
        .method_not_allowed_fallback(page::otherwise)
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(CompressionLayer::new().gzip(true).compress_when(compressed));
    trace::named(routes).with_state(http)
}

/// What answers requests below the root path.
pub trait Routes: Service<Request, Response = Response, Error = Infallible> + Clone + Send + Sync + 'static {}

impl<S> Routes for S where S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + Sync + 'static {}

/// `routes` as a server serves them: under the root path, for the origins that may use them, logged.
pub fn mounted<S: Routes>(routes: S, config: &Config) -> Router
where
    S::Future: Send + 'static,
{
    let routes = root::under(routes, config.root_path.clone());
    trace::logged(cors::shared(routes, &config.allow_origins))
}
