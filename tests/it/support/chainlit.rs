//! The real Chainlit with the reference app's twin.

use std::path::Path;
use std::process::Command;

use super::program::{Program, eventually};
use super::tool;

/// Starts it in a folder; none where it is not installed. When this returns, it takes requests.
pub async fn start(home: &Path, variables: &[(&str, &str)]) -> Option<Program> {
    let venv = tool::chainlit()?;
    let port = free_port();
    let mut command = Command::new(tool::project("client-fixtures/chainlit/start"));
    command
        .arg(home)
        .arg(port.to_string())
        .env("CHAINLIT_VENV", venv)
        .env("TZ", "UTC")
        .env("PYTHONUNBUFFERED", "1")
        .envs(variables.iter().copied());
    let chainlit = Program::other(command, format!("http://127.0.0.1:{port}"), "Your app is available at").await;
    // It says so a moment before it listens.
    eventually("Chainlit listens", async || reqwest::get(format!("{}/health", chainlit.base())).await.is_ok()).await;
    Some(chainlit)
}

/// A port that nobody has at this moment.
fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}
