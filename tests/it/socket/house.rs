//! A server whose sessions are played: what pages say is kept, what is pushed is sent.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::{Router, ServiceExt};
use rejoinder::line::{Listener, Peer, Timeouts};
use rejoinder::protocol::{BadEvent, ClientEvent, ServerEvent, User};
use rejoinder::session::{Connect, Entry, Flooded, Refusal};
use rejoinder::socket::{AuthError, Authenticate, Config, OneSlash, OneSlashLayer, Sockets, Tab, Tabs};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use crate::support::raw::SOON;

/// The server under test.
pub struct House {
    pub address: SocketAddr,
    pub sockets: Sockets,
    pub tabs: Arc<PlayedTabs>,
    pub stop: CancellationToken,
    pub served: tokio::task::JoinHandle<()>,
}

/// The sessions, by their id.
#[derive(Default)]
pub struct PlayedTabs {
    pub tabs: Mutex<HashMap<String, Arc<Played>>>,
    /// How many links are held.
    pub held: Arc<AtomicUsize>,
    /// What `connect` answers instead of letting a session in.
    pub refuse: Mutex<Option<Refusal>>,
    /// `connect` never returns.
    pub hang: std::sync::atomic::AtomicBool,
    pub changed: Notify,
}

/// What is known of one session.
#[derive(Default)]
pub struct Played {
    pub state: Mutex<PlayedState>,
    pub changed: Notify,
    pub waiting: Notify,
}

#[derive(Default)]
pub struct PlayedState {
    pub connects: Vec<Connect>,
    pub said: Vec<Result<ClientEvent, BadEvent>>,
    /// What was proven when the last of it was heard.
    pub proven_when_said: u64,
    pub waiting: VecDeque<Entry>,
    pub last: u64,
    pub taken: u64,
    pub proven: u64,
    pub answers: Vec<(u64, Value)>,
    pub gone: usize,
    pub current: Option<CancellationToken>,
    pub floods: bool,
    pub panics: bool,
}

/// One socket's hold.
pub struct PlayedLink {
    tab: Arc<Played>,
    replaced: CancellationToken,
    held: Arc<AtomicUsize>,
}

impl Tabs for PlayedTabs {
    type Tab = PlayedLink;

    async fn connect(self: &Arc<Self>, page: Connect) -> Result<PlayedLink, Refusal> {
        if self.hang.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        if let Some(refusal) = self.refuse.lock().unwrap().clone() {
            return Err(refusal);
        }
        let tab = self.tab(page.session.expose());
        let replaced = CancellationToken::new();
        let before = {
            let mut state = tab.state.lock().unwrap();
            state.connects.push(page);
            state.current.replace(replaced.clone())
        };
        if let Some(before) = before {
            before.cancel();
        }
        self.held.fetch_add(1, Ordering::SeqCst);
        tab.changed.notify_waiters();
        self.changed.notify_waiters();
        Ok(PlayedLink { tab, replaced, held: Arc::clone(&self.held) })
    }
}

impl Tab for PlayedLink {
    fn receive(&self, event: Result<ClientEvent, BadEvent>) -> Result<(), Flooded> {
        let mut state = self.tab.state.lock().unwrap();
        if std::mem::take(&mut state.panics) {
            drop(state);
            panic!("told to");
        }
        if state.floods {
            return Err(Flooded);
        }
        state.said.push(event);
        state.proven_when_said = state.proven;
        drop(state);
        self.tab.changed.notify_waiters();
        Ok(())
    }

    async fn next(&self, most: usize) -> Option<Vec<Entry>> {
        loop {
            let waiting = self.tab.waiting.notified();
            {
                let mut state = self.tab.state.lock().unwrap();
                if !state.waiting.is_empty() {
                    let count = state.waiting.len().min(most);
                    let batch: Vec<Entry> = state.waiting.drain(..count).collect();
                    state.taken = batch[count - 1].number;
                    drop(state);
                    self.tab.changed.notify_waiters();
                    return Some(batch);
                }
            }
            waiting.await;
        }
    }

    fn proven(&self, number: u64) {
        {
            let mut state = self.tab.state.lock().unwrap();
            assert!(number <= state.taken, "{number} was never taken");
            state.proven = state.proven.max(number);
        }
        self.tab.changed.notify_waiters();
    }

    fn answered(&self, number: u64, value: Value) {
        self.tab.state.lock().unwrap().answers.push((number, value));
        self.tab.changed.notify_waiters();
    }

    async fn replaced(&self) {
        self.replaced.cancelled().await;
    }
}

impl Drop for PlayedLink {
    fn drop(&mut self) {
        self.tab.state.lock().unwrap().gone += 1;
        self.held.fetch_sub(1, Ordering::SeqCst);
        self.tab.changed.notify_waiters();
    }
}

impl PlayedTabs {
    /// The session with this id.
    pub fn tab(&self, session: &str) -> Arc<Played> {
        Arc::clone(self.tabs.lock().unwrap().entry(session.to_owned()).or_default())
    }
}

impl Played {
    /// Says something to the page; gives its number.
    pub fn push(&self, event: ServerEvent) -> u64 {
        let number = {
            let mut state = self.state.lock().unwrap();
            state.last += 1;
            let number = state.last;
            state.waiting.push_back(Entry { number, event });
            number
        };
        self.waiting.notify_one();
        number
    }

    /// Waits until the state is such.
    pub async fn until<R>(&self, what: &str, mut is: impl FnMut(&PlayedState) -> Option<R>) -> R {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if let Some(result) = is(&self.state.lock().unwrap()) {
                    return result;
                }
                changed.await;
            }
        };
        match tokio::time::timeout(SOON, wait).await {
            Ok(result) => result,
            Err(_) => panic!("never happened: {what}"),
        }
    }

    /// Waits until everything up to `number` is proven.
    pub async fn until_proven(&self, number: u64) {
        self.until(&format!("{number} proven"), |state| (state.proven >= number).then_some(())).await;
    }

    /// Waits until so many links were dropped.
    pub async fn until_gone(&self, count: usize) {
        self.until(&format!("{count} gone"), |state| (state.gone >= count).then_some(())).await;
    }
}

/// Lets in whoever has the cookie `user=NAME`; nobody else, when told so.
pub struct Doorman {
    pub required: bool,
}

#[async_trait]
impl Authenticate for Doorman {
    async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<User>, AuthError> {
        let cookie = headers.get("cookie").and_then(|cookie| cookie.to_str().ok()).unwrap_or_default();
        match cookie {
            _ if !self.required => Ok(None),
            "panic" => panic!("told to"),
            "user=ada" => {
                Ok(Some(serde_json::from_value(serde_json::json!({"id": "u", "identifier": "ada"})).unwrap()))
            }
            _ => Err(AuthError::NotSignedIn),
        }
    }
}

impl House {
    /// A server on a free port.
    pub async fn open() -> Self {
        Self::open_with(Config::default(), Timeouts::default(), Doorman { required: false }).await
    }

    /// The same, told how.
    pub async fn open_with(config: Config, timeouts: Timeouts, doorman: Doorman) -> Self {
        let (tabs, sockets, app) = app(config, doorman);
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), timeouts).unwrap();
        let address = axum::serve::Listener::local_addr(&listener).unwrap();
        let stop = CancellationToken::new();
        let make = ServiceExt::<Request>::into_make_service_with_connect_info::<Peer>(app);
        let server = axum::serve(listener, make).with_graceful_shutdown(stop.clone().cancelled_owned());
        let served = tokio::spawn(async move { server.await.unwrap() });
        Self { address, sockets, tabs, stop, served }
    }

    /// Behind a listener that is not ours.
    pub async fn open_unwatched() -> Self {
        let (tabs, sockets, app) = app(Config::default(), Doorman { required: false });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let make = ServiceExt::<Request>::into_make_service(app);
        let served = tokio::spawn(async move { axum::serve(listener, make).await.unwrap() });
        Self { address, sockets, tabs, stop, served }
    }
}

fn app(config: Config, doorman: Doorman) -> (Arc<PlayedTabs>, Sockets, OneSlash<Router>) {
    let tabs = Arc::<PlayedTabs>::default();
    let sockets = Sockets::new(config, Arc::clone(&tabs), Arc::new(doorman));
    let service = sockets.service();
    let router = Router::new()
        .route_service("/ws/socket.io", service.clone())
        .route_service("/ws/socket.io/", service.clone())
        .route_service("/base/ws/socket.io", service.clone())
        .route_service("/base/ws/socket.io/", service);
    (tabs, sockets, OneSlashLayer.layer(router))
}
