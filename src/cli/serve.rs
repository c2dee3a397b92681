//! `serve`.

use anyhow::Context;
use tracing::info;

use super::log::Log;
use super::{SETTINGS, Secrets};
use crate::app::App;
use crate::config::{Config, Flags, Secret};
use crate::server::Server;

#[derive(clap::Args)]
#[command(after_help = SETTINGS)]
pub(super) struct Serve {
    #[command(flatten)]
    flags: Flags,

    #[command(flatten)]
    log: Log,
}

impl Serve {
    pub(super) fn run(self, app: App, secrets: Secrets) -> anyhow::Result<()> {
        self.log.start()?;
        let mut config = Config::load(self.flags)?;
        if let (Secrets::Kept, None) = (secrets, &config.auth_secret) {
            let dir = &config.data_dir;
            let secret = Secret::kept_in(dir).with_context(|| format!("keep a secret in {}", dir.display()))?;
            config.auth_secret = Some(secret);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start threads")?;
        runtime.block_on(async {
            let server = Server::bind(config, app).await?;
            info!(address = %server.local_addr(), "serving {}", server.url());
            server.serve_until(told_to_stop()).await?;
            info!("stopped");
            anyhow::Ok(())
        })
    }
}

/// Resolves at the first ctrl-c or SIGTERM. A second one ends the process at once.
async fn told_to_stop() {
    signal().await;
    tokio::spawn(async {
        signal().await;
        eprintln!("told to stop twice: not waiting any longer");
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    let _ = tokio::signal::ctrl_c().await;
}
