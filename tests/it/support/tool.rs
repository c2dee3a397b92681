//! The real clients, the real page and the real Chainlit that `make test-tools` installs. A test whose tool is missing
//! is skipped with a loud line, and fails in CI.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of the project.
pub fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Says that a test cannot be run here.
pub fn skipped<T>(missing: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{missing}, and CI never skips");
    eprintln!("SKIPPED: {missing} (make deps test-tools)");
    None
}

fn present(path: &str, what: &str) -> Option<PathBuf> {
    let path = project(path);
    if path.exists() { Some(path) } else { skipped(&format!("{what} is missing")) }
}

/// `node` with a script of tests/js, where the official client is at hand.
pub fn node(script: &str) -> Option<Command> {
    present("tests/js/node_modules/.package-lock.json", "the official Socket.IO client")?;
    if Command::new("node").arg("--version").output().is_err() {
        return skipped("node is missing");
    }
    let mut command = Command::new("node");
    command.arg(project("tests/js").join(script));
    Some(command)
}

/// A script of tests/py in its environment.
pub fn python(script: &str) -> Option<Command> {
    let python = present("target/tools/venv/bin/python", "the Python Socket.IO client")?;
    let mut command = Command::new(python);
    command.arg(project("tests/py").join(script));
    Some(command)
}

/// The folder of the stock page.
pub fn page() -> Option<PathBuf> {
    present("target/tools/page", "the stock page")
}

/// The built observer page.
pub fn observer() -> Option<PathBuf> {
    present("client/observer/dist/index.html", "the observer page")
}

/// The environment that the real Chainlit is in.
pub fn chainlit() -> Option<PathBuf> {
    present("target/tools/chainlit", "the real Chainlit")
}

/// Whether there is a browser to drive.
pub fn has_browser() -> bool {
    let path = std::env::var_os("CHROMIUM").map_or_else(|| PathBuf::from("/usr/bin/chromium"), PathBuf::from);
    path.exists() || skipped::<()>("Chromium is missing").is_some()
}

/// Runs a command to its end and shows what it said; it must succeed.
pub async fn succeeds(mut command: Command) {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}", output.status);
}
