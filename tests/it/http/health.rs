//! Whether the server lives, starts and stops as it should.

use rejoinder::config::Secret;
use rejoinder::{Config, Server};
use reqwest::StatusCode;
use serde_json::json;

use crate::support::server::{House, Running, open_app, password_app};

#[tokio::test]
async fn a_server_that_runs_is_alive_and_ready() {
    let server = Running::start(open_app()).await;
    for (path, status) in [("/health", "ok"), ("/livez", "ok"), ("/readyz", "ready")] {
        assert_eq!(server.visitor().get(path).await.json(), json!({"status": status}));
    }
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
