//! The server: everything put together, started and stopped.

mod engine;
mod instance;
mod listen;
mod mount;
mod stop;
mod watch;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::app::App;
use crate::auth::{Auth, NoSecret};
use crate::clock::Clock;
use crate::config::Config;
use crate::frontend::{Frontend, NoPage, Part};
use crate::hook::HookError;
use crate::http::{Commands, Http, StreamSettings, Streams};
use crate::journal::{Journal, JournalSettings, WatchdogSettings};
use crate::line::{Listener, Peer};
use crate::session::fault::Faults;
use crate::socket::Sockets;
use crate::store::StoreError;
use crate::store::probe::Probes;
use engine::Engine;

/// Why a server does not start, or ended by itself. The text is for an operator.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken, forbidden, or none.
    #[error("cannot listen on {host}:{port}")]
    Listen {
        /// As it was set.
        host: String,
        /// As it was set.
        port: u16,
        /// Why.
        source: io::Error,
    },
    /// The data folder cannot be made.
    #[error("{}: cannot be used as data folder", path.display())]
    DataDir {
        /// The folder.
        path: std::path::PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database cannot be opened.
    #[error("cannot open the database")]
    Store(#[from] StoreError),
    /// A login without a secret.
    #[error(transparent)]
    Secret(#[from] NoSecret),
    /// `--frontend` names a folder without a page.
    #[error(transparent)]
    Page(#[from] NoPage),
    /// The place where files are kept cannot be used.
    #[error("{at}: files cannot be kept there: {why}")]
    Files {
        /// As it was set.
        at: String,
        /// Why.
        why: String,
    },
    /// No threads for hooks.
    #[error("cannot start the threads of the hooks")]
    Hooks(#[source] io::Error),
    /// The start hook failed.
    #[error("on_app_startup failed: {0}")]
    Startup(HookError),
    /// Accepting connections failed.
    #[error("serving failed")]
    Serve(#[source] io::Error),
}

/// What is not a setting: tests turn it.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Tuning {
    /// The journal's times and bounds.
    pub journal: JournalSettings,
    /// The streams' times and bounds.
    pub streams: StreamSettings,
    /// The watchdog's times and bounds.
    pub watchdog: WatchdogSettings,
    /// Points of the store's transactions.
    pub probes: Probes,
    /// What goes wrong on the way to pages.
    pub faults: Faults,
}

/// A server that listens. It answers as soon as [`Server::serve_until`] is awaited; until then connections wait.
pub struct Server {
    listener: Listener,
    addr: SocketAddr,
    router: Router,
    sockets: Sockets,
    app: App,
    config: Arc<Config>,
    engine: Engine,
    stopping: CancellationToken,
}

impl Server {
    /// Opens the database, settles what a dead process left, and listens. When this returns, connections are taken.
    ///
    /// # Errors
    /// [`ServerError`], with nothing left running.
    pub async fn bind(config: Config, app: App) -> Result<Self, ServerError> {
        Self::bind_tuned(config, app, Tuning::default()).await
    }

    /// The same with other times and bounds inside, and with points at which a test may come between.
    ///
    /// # Errors
    /// As above.
    #[doc(hidden)]
    pub async fn bind_tuned(config: Config, app: App, tuning: Tuning) -> Result<Self, ServerError> {
        let Tuning { journal, streams, watchdog, probes, faults } = tuning;
        let tuning = engine::Tuning { journal, watchdog, probes, faults };
        let config = Arc::new(config);
        let clock = Clock::system();
        // Everything that can be said to whoever starts the server comes before anything is opened.
        Auth::check(&config, &app)?;
        let frontend = Frontend::new(&config)?;
        std::fs::create_dir_all(&config.data_dir)
            .map_err(|source| ServerError::DataDir { path: config.data_dir.clone(), source })?;
        let listener = listen::bind(&config).await.map_err(|source| ServerError::Listen {
            host: config.host.clone(),
            port: config.port,
            source,
        })?;
        let addr = axum::serve::Listener::local_addr(&listener).map_err(ServerError::Serve)?;
        let engine = Engine::start(&config, &app, clock.clone(), tuning).await?;
        if let Err(failed) = app.startup().await {
            engine.stop().await;
            return Err(ServerError::Startup(failed));
        }
        let auth = Auth::new(&config, &app, Arc::clone(&engine.store), clock.clone())?;
        if frontend.part(Part::App).is_none() {
            warn!("there is no page to show yet; get the stock one by `rejoinder frontend fetch`");
        }
        let stopping = CancellationToken::new();
        let doorman = Arc::new(mount::Doorman(auth.clone()));
        let sockets = Sockets::new(mount::sockets(&config), Arc::clone(&engine.sessions), doorman);
        let http = Http {
            config: Arc::clone(&config),
            app: app.clone(),
            answers: engine.answers.clone(),
            auth,
            store: Arc::clone(&engine.store),
            journal: engine.journal.clone(),
            live: engine.conversations.clone(),
            conversations: engine.conversations.clone(),
            streams: Streams::new(streams),
            commands: Commands::default(),
            sessions: Arc::clone(&engine.sessions),
            files: Arc::clone(&engine.files),
            frontend,
            clock,
            listen: addr,
            stopping: stopping.clone(),
        };
        let router = mount::router(http, &sockets);
        Ok(Self { listener, addr, router, sockets, app, config, engine, stopping })
    }

    /// Where it listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// The way into its store, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn journal(&self) -> &Journal {
        &self.engine.journal
    }

    /// The address of the page, for a person.
    #[must_use]
    pub fn url(&self) -> String {
        let host = match self.addr.ip() {
            ip if ip.is_loopback() || ip.is_unspecified() => "localhost".to_owned(),
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        };
        format!("http://{host}:{}{}/", self.addr.port(), self.config.root_path)
    }

    /// Serves until `stop` resolves, then stops in order: `/readyz` fails and nothing new is accepted; running hooks
    /// get the grace period; open runs are settled and what waits is written; streams and transports are closed, the
    /// latter so that pages come back. All of it is bounded in time.
    ///
    /// # Errors
    /// When accepting connections fails.
    pub async fn serve_until(self, stop: impl Future<Output = ()>) -> Result<(), ServerError> {
        let service = self.router.into_make_service_with_connect_info::<Peer>();
        let stopping = self.stopping.clone();
        let serving = axum::serve(self.listener, service).with_graceful_shutdown(stopping.cancelled_owned());
        let mut serving = tokio::spawn(serving.into_future());
        let ended = tokio::select! {
            () = stop => Ok(()),
            result = &mut serving => Err(stop::failure(result)),
        };
        info!("stopping");
        self.stopping.cancel();
        self.engine.fall_silent().await;
        self.sockets.close().await;
        if ended.is_ok() && !stop::within("last requests", stop::LAST_REQUESTS, &mut serving).await {
            serving.abort();
        }
        stop::within("on_app_shutdown", stop::APP_SHUTDOWN, self.app.shutdown()).await;
        self.engine.stop().await;
        ended.map_err(ServerError::Serve)
    }
}
