//! The official client, in a process of its own (tests/js/client.mjs).

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::raw::SOON;

/// A process with official clients in it.
pub struct Official {
    child: Child,
    commands: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
    /// All reports so far.
    pub seen: Vec<Value>,
}

impl Official {
    /// Starts the process. `None`, and a loud word, where it is not installed — which is a failure in CI.
    pub fn start(test: &str) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/js");
        let is_there = folder.join("node_modules/socket.io-client").is_dir() && has_node();
        if !is_there {
            assert!(std::env::var_os("CI").is_none(), "{test} needs node and tests/js/node_modules: make test-tools");
            eprintln!("SKIPPED {test}: no node or no tests/js/node_modules (make test-tools)");
            return None;
        }
        let mut child = Command::new("node")
            .arg(folder.join("client.mjs"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let reports = BufReader::new(child.stdout.take().unwrap()).lines();
        Some(Self { child, commands, reports, seen: Vec::new() })
    }

    /// Gives a command.
    pub async fn tell(&mut self, command: Value) {
        self.commands.write_all(format!("{command}\n").as_bytes()).await.unwrap();
    }

    /// Connects a client named `id` as the session of that name, and waits until it is. Gives its report.
    pub async fn connect(&mut self, id: &str, url: &str, transports: &[&str]) -> Value {
        let auth = json!({"sessionId": id, "clientType": "webapp", "threadId": "", "userEnv": "{}", "chatProfile": ""});
        self.tell(json!({"op": "connect", "id": id, "url": url, "auth": auth, "transports": transports})).await;
        self.until(|report| report["kind"] == "connect").await
    }

    /// Reads reports up to one that is such.
    pub async fn until(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = tokio::time::timeout(SOON, self.reports.next_line()).await.expect("nothing was reported");
            let report: Value = serde_json::from_str(&line.unwrap().expect("the client ended")).unwrap();
            self.seen.push(report.clone());
            if is(&report) {
                return report;
            }
        }
    }

    /// The names of all events that any handler saw.
    pub fn events(&self) -> Vec<&str> {
        self.seen
            .iter()
            .filter(|report| report["kind"] == "event")
            .filter_map(|report| report["event"].as_str())
            .collect()
    }

    /// Sends a signal: `STOP` freezes the process, `CONT` lets it go on.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().unwrap().to_string();
        assert!(std::process::Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
    }
}

fn has_node() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder: PathBuf| folder.join("node").is_file())
}
