//! A hand-made client over HTTP long-polling, each request when it is told.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{Client, Response};

/// One polling session.
pub struct Polling {
    http: Client,
    base: String,
    pub sid: String,
    turn: AtomicU64,
}

impl Polling {
    /// Opens a transport.
    pub async fn open(server: SocketAddr) -> Self {
        let base = format!("http://{server}/ws/socket.io/?EIO=4&transport=polling");
        let http = Client::new();
        let opening = http.get(&base).send().await.unwrap().text().await.unwrap();
        let sid = opening.split('"').nth(3).unwrap().to_owned();
        Self { http, base, sid, turn: AtomicU64::new(0) }
    }

    /// The same, connected as `session`. The packets that came with the answer have been read.
    pub async fn connect(server: SocketAddr, session: &str) -> Self {
        let polling = Self::open(server).await;
        polling.post(&format!("40{{\"sessionId\":\"{session}\"}}")).await;
        let mut packets = String::new();
        while !packets.contains("40{") {
            packets = polling.poll().await;
            if packets.split('\u{1e}').any(|packet| packet == "2") {
                polling.post("3").await;
            }
        }
        polling
    }

    /// A poll like no other before.
    pub async fn poll(&self) -> String {
        let turn = self.turn.fetch_add(1, Ordering::SeqCst);
        self.poll_as(&format!("t{turn}")).await.text().await.unwrap()
    }

    /// A poll with this `t`.
    pub async fn poll_as(&self, t: &str) -> Response {
        self.http.get(format!("{}&sid={}&t={t}", self.base, self.sid)).send().await.unwrap()
    }

    /// Says something.
    pub async fn post(&self, body: &str) -> Response {
        self.http.post(format!("{}&sid={}", self.base, self.sid)).body(body.to_owned()).send().await.unwrap()
    }
}
