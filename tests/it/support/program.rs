//! A server as a process of its own: the binary or the reference app, on a free port, with a data folder that goes
//! with it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::database::Database;
use super::tool;

/// Longer than any start or end of a server takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that is about to be started.
pub struct Launch {
    command: Command,
    folder: tempfile::TempDir,
    /// Where it keeps things, when that is to outlive it.
    data: Option<PathBuf>,
    root: String,
}

/// A running program; killed when dropped.
pub struct Program {
    child: Child,
    base: String,
    log: Log,
    folder: Option<tempfile::TempDir>,
}

/// What it said so far.
#[derive(Clone)]
struct Log {
    text: Arc<Mutex<String>>,
    /// Counts lines; ends with the process's output.
    lines: watch::Receiver<usize>,
}

impl Launch {
    /// The reference app: any name, password `pw`.
    pub fn reference() -> Self {
        Self::example("reference").env("CHAINLIT_AUTH_SECRET", "reference-app-secret-for-local-tests-only")
    }

    /// The surface app, with its folder: any name, password `pw`.
    pub fn surface() -> Self {
        let launch = Self::example("surface").env("CHAINLIT_AUTH_SECRET", "reference-app-secret-for-local-tests-only");
        launch.arg("--app-dir").arg(tool::project("client-fixtures/chainlit/surface"))
    }

    /// A program of examples/.
    pub fn example(name: &str) -> Self {
        let path = built().join("examples").join(name);
        assert!(path.is_file(), "{} is missing: cargo build --bins --examples", path.display());
        Self::of(&path)
    }

    /// The demo of the binary.
    pub fn demo() -> Self {
        Self::of(Path::new(env!("CARGO_BIN_EXE_rejoinder")))
    }

    fn of(path: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(path);
        let ours = |name: &str| {
            ["REJOINDER_", "CHAINLIT_", "REFERENCE_"].iter().any(|prefix| name.starts_with(prefix))
                || matches!(name, "DATABASE_URL" | "RUST_LOG")
        };
        for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
            command.env_remove(name);
        }
        command.current_dir(folder.path()).args(["serve", "--port", "0"]);
        Self { command, folder, data: None, root: String::new() }
    }

    /// What is started.
    pub fn program(&self) -> &std::ffi::OsStr {
        self.command.get_program()
    }

    /// Where it runs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// With a file of the app's folder.
    pub fn file(self, name: &str, content: &str) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Below a root path.
    pub fn root(mut self, path: &str) -> Self {
        self.root = path.to_owned();
        self.arg("--root-path").arg(path)
    }

    /// On that database instead of a SQLite file in its data folder.
    pub fn on(self, database: &Database) -> Self {
        self.arg("--database-url").arg(database.url())
    }

    /// With a data folder that outlives it.
    pub fn in_data(self, path: &Path) -> Self {
        Self { data: Some(path.to_owned()), ..self }
    }

    /// With the stock page; `None` where there is none.
    pub fn with_page(self) -> Option<Self> {
        Some(self.arg("--frontend").arg(tool::page()?))
    }

    /// Starts it; when this returns, it takes connections.
    pub async fn start(mut self) -> Program {
        self.set_data();
        let mut child = self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Log::follow(child.stderr.take().unwrap());
        let mut program = Program { child, base: String::new(), log, folder: Some(self.folder) };
        let line = program.says("serving http://localhost:").await;
        let address = line.split("http://").nth(1).and_then(|text| text.split_once('/')).unwrap().0;
        program.base = format!("http://{}{}", address.replace("localhost", "127.0.0.1"), self.root);
        program
    }

    fn set_data(&mut self) {
        let data = self.data.take().unwrap_or_else(|| self.folder.path().join("data"));
        self.command.arg("--data-dir").arg(data);
    }

    /// Runs it to its end, which comes by itself: exit code and what it said.
    pub async fn fails(mut self) -> (Option<i32>, String) {
        self.set_data();
        let ended = tokio::task::spawn_blocking(move || self.command.stdin(Stdio::null()).output().unwrap());
        let output = tokio::time::timeout(PATIENCE, ended).await.expect("it goes on").unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

impl Program {
    /// Runs any other server that says `ready` in its output when it takes connections at `base`.
    pub async fn other(mut command: Command, base: String, ready: &str) -> Self {
        // One pipe for both, so that nothing is missed.
        let (reader, writer) = std::io::pipe().unwrap();
        command.stdin(Stdio::null()).stdout(writer.try_clone().unwrap()).stderr(writer);
        let child = command.spawn().unwrap();
        drop(command);
        let program = Self { child, base, log: Log::follow(reader), folder: None };
        program.says(ready).await;
        program
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `http://127.0.0.1:PORT`, with the root path.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.base.strip_prefix("http://").unwrap().parse().unwrap()
    }

    /// `kill -9`. When this returns, the process is gone; gives what it said.
    pub async fn kill(mut self) -> String {
        self.child.kill().unwrap();
        self.end().await;
        self.log()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn log(&self) -> String {
        self.log.text.lock().unwrap().clone()
    }

    /// Waits until it logs a line with this in it, or has; gives the line.
    pub async fn says(&self, what: &str) -> String {
        let found = || self.log().lines().find(|line| line.contains(what)).map(str::to_owned);
        let mut lines = self.log.lines.clone();
        loop {
            lines.mark_unchanged();
            if let Some(line) = found() {
                return line;
            }
            match tokio::time::timeout(PATIENCE, lines.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return found().unwrap_or_else(|| panic!("it ended without {what:?}:\n{}", self.log())),
                Err(_) => panic!("it never said {what:?}:\n{}", self.log()),
            }
        }
    }

    /// Sends it a signal, `TERM` for example.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for its end.
    pub async fn end(&mut self) -> ExitStatus {
        // Its output ends with it.
        let mut lines = self.log.lines.clone();
        let silence = async { while lines.changed().await.is_ok() {} };
        tokio::time::timeout(PATIENCE, silence).await.unwrap_or_else(|_| panic!("it does not end:\n{}", self.log()));
        self.child.wait().unwrap()
    }

    /// Tells it to stop and waits until it has; its data folder is given back.
    pub async fn stop(mut self) -> Option<tempfile::TempDir> {
        self.signal("TERM");
        self.end().await;
        self.folder.take()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("---- the server's log ----\n{}", self.log());
        }
    }
}

impl Log {
    fn follow(output: impl std::io::Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let (count, lines) = watch::channel(0);
        let kept = Arc::clone(&text);
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&String::from_utf8_lossy(&line));
                kept.push('\n');
                drop(kept);
                count.send_modify(|count| *count += 1);
            }
        });
        Self { text, lines }
    }
}

/// Asks until it is so: Chainlit tells nobody.
pub async fn eventually(what: &str, is: impl AsyncFn() -> bool) {
    for _ in 0..400 {
        if is().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}");
}

/// Where cargo puts binaries.
fn built() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_rejoinder")).parent().unwrap().to_owned()
}
