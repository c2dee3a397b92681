//! A line that can be broken, made slow or made silent: a TCP proxy.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The line.
pub struct Proxy {
    pub address: SocketAddr,
    streams: Arc<Mutex<Vec<Arc<TcpStream>>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Proxy {
    /// In front of `server`.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let streams = Arc::<Mutex<Vec<Arc<TcpStream>>>>::default();
        let kept = Arc::clone(&streams);
        let accepting = tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(server).await.unwrap();
                let (near, far) = (Arc::new(near), Arc::new(far));
                kept.lock().unwrap().extend([Arc::clone(&near), Arc::clone(&far)]);
                tokio::spawn(carry(Arc::clone(&near), Arc::clone(&far)));
                tokio::spawn(carry(far, near));
            }
        });
        Self { address, streams, tasks: vec![accepting] }
    }

    /// Resets every connection.
    pub fn reset(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let socket = SockRef::from(&*stream);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
            // Closing takes all its holders; this ends them.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

async fn carry(from: Arc<TcpStream>, to: Arc<TcpStream>) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        if from.readable().await.is_err() {
            return;
        }
        let count = match from.try_read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return,
        };
        let mut rest = &bytes[..count];
        while !rest.is_empty() {
            if to.writable().await.is_err() {
                return;
            }
            match to.try_write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}
