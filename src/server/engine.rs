//! What sockets and routes stand on: store, journal, hooks, conversations, sessions — started and stopped in order.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::instance::Instance;
use super::watch::watch;
use super::{ServerError, stop};
use crate::app::{Answers, App};
use crate::clock::Clock;
use crate::config::{self, Config, FilesAt, Show, ShowErrors};
use crate::conversation::{self, Cancel, Conversations, Told};
use crate::file::{Bucket, BucketSettings, Files, LocalFolder, Storage};
use crate::hook::HookRuntime;
use crate::http::Live;
use crate::id::ThreadId;
use crate::journal::{Journal, JournalSettings, Watchdog, WatchdogSettings};
use crate::screen::Bounds;
use crate::session::fault::Faults;
use crate::session::{Foundation, SessionSettings, Sessions};
use crate::store::probe::Probes;
use crate::store::{self, OpenOptions, Store};

/// How long conversations may take to settle after the grace period of their hooks.
const SETTLING: Duration = Duration::from_secs(5);

/// How long the journal may take to write what waits.
const FLUSHING: Duration = Duration::from_secs(12);

/// What is not a setting, below the routes.
pub(super) struct Tuning {
    pub(super) journal: JournalSettings,
    pub(super) watchdog: WatchdogSettings,
    pub(super) probes: Probes,
    pub(super) faults: Faults,
}

pub(super) struct Engine {
    /// Locks the data folder, until the store is given back.
    _instance: Instance,
    pub(super) store: Arc<dyn Store>,
    pub(super) journal: Journal,
    pub(super) conversations: Arc<Conversations>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) files: Arc<Files>,
    pub(super) answers: Answers,
    grace: Duration,
    talking: TaskTracker,
    stop_talking: CancellationToken,
    writing: TaskTracker,
    stop_writing: CancellationToken,
}

impl Engine {
    /// Opens the store, settles what a dead process left, and starts what the rest needs.
    pub(super) async fn start(
        config: &Arc<Config>,
        app: &App,
        clock: Clock,
        tuning: Tuning,
    ) -> Result<Self, ServerError> {
        let Tuning { journal, watchdog, probes, faults } = tuning;
        let in_data_dir = |source| ServerError::DataDir { path: config.data_dir.clone(), source };
        let mut instance = Instance::of(&config.data_dir).map_err(in_data_dir)?;
        let options = OpenOptions {
            project: config.project.clone(),
            instance: instance.id.clone(),
            lease: watchdog.lease,
            numbered: config.sequence,
            clock: clock.clone(),
            probes,
            ..OpenOptions::default()
        };
        let store = store::open(&config.database_url(), options).await?;
        let left = store.settle_left(instance.former.as_deref(), clock.now()).await?;
        instance.succeed().map_err(in_data_dir)?;
        let runs: usize = left.iter().map(|settled| settled.runs.len()).sum();
        if runs > 0 {
            warn!(runs, "runs of a process that died are settled as lost");
        }
        let watched = clock.clone();
        let former = store.session_hashes().await?.into_iter().collect();
        let (talking, stop_talking) = (TaskTracker::new(), CancellationToken::new());
        let (writing, stop_writing) = (TaskTracker::new(), CancellationToken::new());
        let journal = Journal::start_with(store.clone(), &writing, stop_writing.clone(), journal);
        let storage = storage(config, &writing)?;
        let files = Arc::new(Files::new(storage, store.clone(), clock.clone(), writing.clone()));
        let hooks = HookRuntime::start().map_err(ServerError::Hooks)?;
        let answers = Answers::new(app.clone(), hooks.clone(), config.clone());
        let conversations = Conversations::new(conversation::Shared {
            app: app.clone(),
            journal: journal.clone(),
            files: files.clone(),
            hooks,
            clock: clock.clone(),
            settings: Arc::new(conversation_settings(config, app)),
            tracker: talking.clone(),
            stop: stop_talking.clone(),
        });
        let sessions = Sessions::new(Foundation {
            conversations: conversations.clone(),
            store: store.clone(),
            journal: journal.clone(),
            former,
            settings: session_settings(config, app, faults),
            answers: answers.clone(),
            tracker: talking.clone(),
            clock,
        });
        sweep(sessions.clone(), &talking, stop_talking.clone());
        sweep_files(files.clone(), sessions.clone(), &talking, stop_talking.clone());
        let watchdog = Watchdog::new(journal.clone(), watched, watchdog);
        watch(watchdog, conversations.clone(), &talking, stop_talking.clone());
        let grace = config.shutdown_grace;
        Ok(Self {
            _instance: instance,
            store,
            journal,
            conversations,
            sessions,
            files,
            answers,
            grace,
            talking,
            stop_talking,
            writing,
            stop_writing,
        })
    }

    /// Running hooks get the grace period, then open runs are settled. What sockets still owe can be sent afterwards.
    pub(super) async fn fall_silent(&self) {
        self.sessions.close();
        self.stop_talking.cancel();
        self.talking.close();
        if timeout(self.grace + SETTLING, self.talking.wait()).await.is_err() {
            warn!(conversations = self.conversations.len(), "conversations did not settle in time");
        }
    }

    /// Everything that was said is written, and the database given back. What still talks is told to fall silent.
    pub(super) async fn stop(&self) {
        self.stop_talking.cancel();
        self.stop_writing.cancel();
        self.writing.close();
        if timeout(FLUSHING, self.writing.wait()).await.is_err() {
            warn!(appends = self.journal.pending(), "the journal could not write everything in time");
        }
        stop::within("database", stop::CLOSING, self.store.close()).await;
    }
}

/// Where the bytes of files are.
fn storage(config: &Config, tracker: &TaskTracker) -> Result<Arc<dyn Storage>, ServerError> {
    let failed = |why| ServerError::Files { at: config.files_at().to_string(), why };
    Ok(match config.files_at() {
        FilesAt::Folder(path) => Arc::new(LocalFolder::open(path).map_err(|error| failed(error.to_string()))?),
        FilesAt::Bucket { name, prefix } => {
            let config::Files { region, endpoint, access_key, secret_key, .. } = config.files.clone();
            let secret_key = secret_key.map(|secret| secret.expose().to_owned());
            let settings = BucketSettings { name, prefix, region, endpoint, access_key, secret_key };
            Arc::new(Bucket::open(settings, tracker.clone()).map_err(failed)?)
        }
    })
}

/// Removes files that nobody refers to any more: at the start, and from time to time.
fn sweep_files(files: Arc<Files>, sessions: Arc<Sessions>, tracker: &TaskTracker, stop: CancellationToken) {
    tracker.spawn(async move {
        loop {
            let sweep = async {
                files.sweep_and_log(&sessions.keys()).await;
                files.due().await;
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = sweep => {}
            }
        }
    });
}

/// Ends sessions whose page did not come back.
fn sweep(sessions: Arc<Sessions>, tracker: &TaskTracker, stop: CancellationToken) {
    let every = sessions.sweep_interval();
    tracker.spawn(async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(every) => sessions.sweep(Instant::now()),
            }
        }
    });
}

fn conversation_settings(config: &Config, app: &App) -> conversation::Settings {
    conversation::Settings {
        show: match config.show {
            Show::Stored => conversation::Show::Stored,
            Show::AtOnce => conversation::Show::AtOnce,
        },
        show_errors: config.show_errors == ShowErrors::AsItReads,
        grace: config.shutdown_grace,
        greets: app.hooks().chat_start.is_some(),
        answers: app.hooks().message.is_some(),
        resumes: app.hooks().chat_resume.is_some(),
        hears_settings: app.hooks().settings_update.is_some(),
        hears_edits: app.hooks().settings_edit.is_some(),
    }
}

fn session_settings(config: &Config, app: &App, faults: Faults) -> SessionSettings {
    SessionSettings {
        timeout: config.session_timeout,
        resumes: app.can_resume(),
        hears_window: app.hooks().window_message.is_some(),
        bounds: Bounds::default(),
        root: config.root_path.as_str().to_owned(),
        faults,
        tells_lines: app.hooks().disconnect.is_some() || app.hooks().reconnect.is_some(),
    }
}

#[async_trait]
impl Live for Conversations {
    async fn thread_deleted(&self, thread: &ThreadId) {
        info!(%thread, "thread deleted");
        self.deleted(thread).await;
    }

    async fn thread_renamed(&self, _: &ThreadId, _: &str) {}

    async fn cancel(&self, thread: &ThreadId, cancel: Cancel) -> Told {
        Conversations::cancel(self, thread, cancel).await
    }

    fn is_stopping(&self, thread: &ThreadId) -> bool {
        Conversations::is_stopping(self, thread)
    }
}
