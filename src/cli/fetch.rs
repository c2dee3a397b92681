//! `frontend fetch`.

use std::path::PathBuf;

use crate::frontend::fetch::{Fetch, VERSION};
use crate::frontend::fetched;

#[derive(clap::Args)]
pub(super) struct FetchPage {
    /// Version of the package; another one than the default may not fit this server
    #[arg(long, default_value = VERSION)]
    version: String,

    /// A wheel of the package that is on this machine already, instead of a download
    #[arg(long, value_name = "FILE")]
    wheel: Option<PathBuf>,

    /// Folder for what the server keeps
    #[arg(long, value_name = "DIR", env = "REJOINDER_DATA_DIR", default_value = ".rejoinder", hide_env_values = true)]
    data_dir: PathBuf,
}

impl FetchPage {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let fetch = Fetch { version: self.version, wheel: self.wheel, into: fetched(&self.data_dir) };
        fetch.run(|step| eprintln!("{step}"))?;
        Ok(())
    }
}
