//! A hand-made Engine.IO and Socket.IO client over one websocket: it says what it is told, nothing by itself.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Nothing in a test takes longer, or it hangs.
pub const SOON: Duration = Duration::from_secs(20);

/// One websocket.
pub struct Raw {
    pub stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// How many pings are answered.
    pub answers: usize,
    /// How many pings came, markers among them.
    pub pings: usize,
}

impl Raw {
    /// Opens a transport; the Engine.IO opening has been read.
    pub async fn open(server: SocketAddr) -> Self {
        Self::open_at(&format!("ws://{server}/ws/socket.io/?EIO=4&transport=websocket"), &[]).await.unwrap()
    }

    /// The same at any address, with headers.
    pub async fn open_at(url: &str, headers: &[(&'static str, &str)]) -> Result<Self, String> {
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (stream, _) = connect_async(request).await.map_err(|error| error.to_string())?;
        let mut raw = Self { stream, answers: usize::MAX, pings: 0 };
        let opening = raw.packet().await.ok_or("closed")?;
        assert!(opening.starts_with('0'), "{opening}");
        Ok(raw)
    }

    /// Opens a transport and connects as `session`.
    pub async fn connect(server: SocketAddr, session: &str) -> Self {
        let mut raw = Self::open(server).await;
        raw.say(&format!("40{}", json!({"sessionId": session}))).await;
        let answer = raw.packet().await.unwrap();
        assert!(answer.starts_with("40{"), "{answer}");
        raw
    }

    /// Sends a packet.
    pub async fn say(&mut self, packet: &str) {
        self.stream.send(Message::text(packet)).await.unwrap();
    }

    /// Sends a packet that may find the line closed.
    pub async fn try_say(&mut self, packet: &str) {
        let _ = self.stream.send(Message::text(packet)).await;
    }

    /// Puts a packet into the buffer.
    pub async fn feed(&mut self, packet: &str) {
        self.stream.feed(Message::text(packet)).await.unwrap();
    }

    /// Sends the buffer.
    pub async fn flush(&mut self) {
        self.stream.flush().await.unwrap();
    }

    /// Sends an event.
    pub async fn emit(&mut self, event: &str, args: &[Value]) {
        let mut array = vec![json!(event)];
        array.extend_from_slice(args);
        self.say(&format!("42{}", Value::Array(array))).await;
    }

    /// The next packet that is no ping; `None` when the line closed.
    pub async fn packet(&mut self) -> Option<String> {
        loop {
            let message = tokio::time::timeout(SOON, self.stream.next()).await.expect("nothing came");
            match message {
                Some(Ok(Message::Text(text))) if text.as_str() == "2" => {
                    self.pings += 1;
                    if self.pings <= self.answers {
                        self.say("3").await;
                    }
                }
                // Engine.IO's close.
                Some(Ok(Message::Text(text))) if text.as_str() == "1" => return None,
                Some(Ok(Message::Text(text))) => return Some(text.to_string()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next event, as its name and its argument.
    pub async fn event(&mut self) -> Option<(String, Value)> {
        loop {
            let packet = self.packet().await?;
            if let Some(text) = packet.strip_prefix("42") {
                let text = text.trim_start_matches(|c: char| c.is_ascii_digit());
                let array: Vec<Value> = serde_json::from_str(text).unwrap();
                return Some((array[0].as_str().unwrap().to_owned(), array.get(1).cloned().unwrap_or_default()));
            }
        }
    }
}
