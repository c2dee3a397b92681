//! The reference app as a process of its own, which can be killed and started again on the same data.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::raw::SOON;

/// A running server.
pub struct Process {
    pub addr: SocketAddr,
    child: Child,
    log: Log,
}

/// What a process logged, line by line.
#[derive(Clone)]
pub struct Log(Arc<Mutex<Vec<String>>>, watch::Receiver<usize>);

impl Process {
    /// Starts the reference app on a database; logins of an earlier process stay good.
    pub async fn start(folder: &Path, database: &str) -> Self {
        let mut child = Command::new(reference())
            .args(["serve", "--port", "0", "--database-url", database, "--data-dir"])
            .arg(folder)
            .arg("--app-dir")
            .arg(folder)
            .env("CHAINLIT_AUTH_SECRET", super::server::SECRET)
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (count, counted) = watch::channel(0);
        let log = Log(kept.clone(), counted);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                kept.lock().unwrap().push(line);
                count.send_modify(|count| *count += 1);
            }
        });
        let line = log.until("serving http").await;
        let addr = line.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
        Self { addr: addr.parse().unwrap(), child, log }
    }

    /// `kill -9`. When this returns, the process is gone.
    pub async fn kill(mut self) -> Log {
        self.child.kill().await.unwrap();
        self.log
    }

    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Log {
    /// The first line with this text in it; waits for it.
    pub async fn until(&self, text: &str) -> String {
        let mut counted = self.1.clone();
        let find = || self.0.lock().unwrap().iter().find(|line| line.contains(text)).cloned();
        let found = async {
            loop {
                counted.mark_unchanged();
                if let Some(line) = find() {
                    return line;
                }
                counted.changed().await.unwrap_or_else(|_| panic!("never logged: {text}\n{}", self.tail()));
            }
        };
        tokio::time::timeout(SOON, found).await.unwrap_or_else(|_| panic!("not logged: {text}\n{}", self.tail()))
    }

    /// The lines with this text in them.
    pub fn with(&self, text: &str) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|line| line.contains(text)).cloned().collect()
    }

    fn tail(&self) -> String {
        let lines = self.0.lock().unwrap();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// The built example: `make test` builds examples before it runs tests.
fn reference() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_rejoinder")).parent().unwrap().join("examples").join("reference");
    assert!(path.exists(), "{} is missing: cargo build --examples", path.display());
    path
}
