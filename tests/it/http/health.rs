//! Whether the server lives, starts and stops as it should.

use std::sync::Arc;

use rejoinder::config::Secret;
use rejoinder::{Config, Server};
use reqwest::StatusCode;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::server::{House, Running, open_app, password_app};

#[tokio::test]
async fn a_server_that_runs_is_alive_and_ready() {
    let server = Running::start(open_app()).await;
    for (path, status) in [("/health", "ok"), ("/livez", "ok"), ("/readyz", "ready")] {
        assert_eq!(server.visitor().get(path).await.json(), json!({"status": status}));
    }
}

/// Sessions, none of them live.
fn nobodys_sessions(
    app: &rejoinder::App,
    store: &Arc<dyn rejoinder::store::Store>,
    journal: &rejoinder::journal::Journal,
    files: &Arc<rejoinder::file::Files>,
    tracker: &tokio_util::task::TaskTracker,
) -> Arc<rejoinder::session::Sessions> {
    use rejoinder::conversation::{Conversations, Settings, Shared, Show};
    use rejoinder::session::{Foundation, SessionSettings, Sessions};

    let settings = Settings {
        show: Show::Stored,
        show_errors: true,
        author: "Assistant".into(),
        auto_tag_thread: false,
        persist_user_env: false,
        grace: std::time::Duration::ZERO,
        greets: true,
        answers: false,
        resumes: false,
        hears_settings: false,
        hears_edits: false,
    };
    let conversations = Conversations::new(Shared {
        app: app.clone(),
        journal: journal.clone(),
        files: files.clone(),
        hooks: rejoinder::hook::HookRuntime::current(),
        clock: rejoinder::clock::Clock::system(),
        settings: Arc::new(settings),
        tracker: tracker.clone(),
        stop: CancellationToken::new(),
    });
    Sessions::new(Foundation {
        conversations,
        store: store.clone(),
        journal: journal.clone(),
        former: Default::default(),
        settings: SessionSettings {
            timeout: std::time::Duration::from_secs(1),
            user_env: Vec::new(),
            author: "Assistant".into(),
            resumes: false,
            root: String::new(),
            tells_lines: false,
            audio: false,
            hears_window: false,
            favorites: false,
        },
        tracker: tracker.clone(),
        clock: rejoinder::clock::Clock::system(),
    })
}

/// Routes alone, so that a request can still come in when the server would take none any more.
#[tokio::test]
async fn a_server_is_not_ready_without_its_store_nor_while_it_stops() {
    use rejoinder::http::{Http, Live, routes};
    use tower::ServiceExt;

    struct Nobody;
    #[async_trait::async_trait]
    impl Live for Nobody {
        async fn thread_deleted(&self, _: &rejoinder::id::ThreadId) {}
        async fn thread_renamed(&self, _: &rejoinder::id::ThreadId, _: &str) {}
    }

    let house = House::new().file("data/.keep", "");
    let config = Arc::new(house.config());
    let store = rejoinder::store::open(&config.database_url(), rejoinder::store::OpenOptions::default()).await.unwrap();
    let clock = rejoinder::clock::Clock::system();
    let stopping = CancellationToken::new();
    let tracker = tokio_util::task::TaskTracker::new();
    let app = open_app();
    let folder = rejoinder::file::LocalFolder::open(house.app().join("files")).unwrap();
    let files = rejoinder::file::Files::new(Arc::new(folder), Arc::clone(&store), clock.clone(), tracker.clone());
    let files = Arc::new(files);
    let journal = rejoinder::journal::Journal::start(Arc::clone(&store), &tracker, stopping.clone());
    let sessions = nobodys_sessions(&app, &store, &journal, &files, &tracker);
    let routes = routes(Arc::new(Http {
        auth: rejoinder::auth::Auth::new(&config, &app, Arc::clone(&store), clock.clone()).unwrap(),
        frontend: rejoinder::frontend::Frontend::new(&config).unwrap(),
        sessions,
        files,
        journal,
        live: Arc::new(Nobody),
        listen: "127.0.0.1:1".parse().unwrap(),
        store: Arc::clone(&store),
        stopping: stopping.clone(),
        config,
        app,
        clock,
    }));
    let ready = async || {
        let request = axum::extract::Request::get("/readyz").body(axum::body::Body::empty()).unwrap();
        let response = routes.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        (status, serde_json::from_slice::<serde_json::Value>(&body).unwrap())
    };
    assert_eq!(ready().await, (200, json!({"status": "ready"})));
    store.close().await;
    assert_eq!(ready().await, (503, json!({"status": "store not available"})));
    stopping.cancel();
    assert_eq!(ready().await, (503, json!({"status": "stopping"})));
}

#[tokio::test]
async fn a_server_that_stopped_can_be_started_again_on_its_data() {
    let server = Running::start(password_app()).await;
    let id = server.person("anna").await.get("/user").await.json()["id"].clone();
    let server = server.stop().await.serve(password_app()).await;
    assert_eq!(server.person("anna").await.get("/user").await.json()["id"], id);
}

#[tokio::test]
async fn what_keeps_a_server_from_starting_is_named() {
    let running = Running::start(open_app()).await;
    let house = House::new();
    let base = || Config { data_dir: house.app().join("other"), ..house.config() };
    let taken = Config { port: running.addr.port(), ..base() };
    let no_secret = Config { auth_secret: None, ..base() };
    let empty_secret = Config { auth_secret: Some(Secret::from("")), ..base() };
    let no_page = Config { frontend: Some(house.app().to_owned()), ..base() };
    let no_host = Config { host: "not a host".to_owned(), ..base() };
    let bad_url = Config { database_url: Some("mysql://me:hush@db/x".to_owned()), ..base() };
    for (config, text) in [
        (taken, format!("cannot listen on 127.0.0.1:{}", running.addr.port())),
        (no_secret, "set CHAINLIT_AUTH_SECRET to a secret of your own; `rejoinder secret` makes one".to_owned()),
        (empty_secret, "set CHAINLIT_AUTH_SECRET".to_owned()),
        (no_page, "no built page here".to_owned()),
        (no_host, "cannot listen on not a host:0".to_owned()),
        (bad_url, "database URL must be".to_owned()),
    ] {
        let Err(error) = Server::bind(config, password_app()).await else { panic!("it started: {text}") };
        let said = format!("{:#}", anyhow::Error::from(error));
        assert!(said.contains(&text), "{said}");
        assert!(!said.contains("hush"), "{said}");
    }
    assert_eq!(running.visitor().get("/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_stop_waits_for_no_idle_connection() {
    let server = Running::start(open_app()).await;
    let visitor = server.visitor();
    visitor.get("/health").await;
    let mut socket = crate::support::raw::Raw::open(server.addr).await;
    let auth = json!({
        "clientType": "webapp", "sessionId": "5f0c1a52-6cbb-4a6e-9d1d-6a1b0f6f3c11", "threadId": "", "userEnv": "{}",
        "chatProfile": ""
    });
    socket.say(&format!("40{auth}")).await;
    assert!(socket.packet().await.unwrap().starts_with("40{"));
    let began = std::time::Instant::now();
    drop(visitor);
    server.stop().await;
    assert!(began.elapsed() < std::time::Duration::from_secs(4), "{:?}", began.elapsed());
    drop(socket);
}
