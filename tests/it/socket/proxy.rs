//! A line that can be broken: a TCP proxy.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The line.
pub struct Proxy {
    pub address: SocketAddr,
    carried: Arc<Mutex<Vec<JoinHandle<()>>>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// In front of `server`.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let carried = Arc::<Mutex<Vec<JoinHandle<()>>>>::default();
        let kept = Arc::clone(&carried);
        let accepting = tokio::spawn(async move {
            loop {
                let (mut near, _) = listener.accept().await.unwrap();
                let mut far = TcpStream::connect(server).await.unwrap();
                for stream in [&near, &far] {
                    // However it is closed, the other side sees a reset.
                    SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
                }
                kept.lock().unwrap().push(tokio::spawn(async move {
                    let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                }));
            }
        });
        Self { address, carried, accepting }
    }

    /// Resets every connection.
    pub fn reset(&self) {
        self.carried.lock().unwrap().drain(..).for_each(|task| task.abort());
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.reset();
    }
}
