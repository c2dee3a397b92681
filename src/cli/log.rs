//! What is logged, and how.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

#[derive(clap::Args)]
#[command(next_help_heading = "Logs")]
pub(super) struct Log {
    /// What is logged [default: info]: a level, or levels by part, such as warn,rejoinder=debug
    #[arg(long = "log", value_name = "FILTER", env = "RUST_LOG", hide_env_values = true)]
    filter: Option<String>,

    /// How it looks
    #[arg(
        long = "log-format",
        value_name = "FORMAT",
        env = "REJOINDER_LOG_FORMAT",
        default_value = "plain",
        hide_env_values = true
    )]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// Lines for people.
    Plain,
    /// One JSON object a line.
    Json,
}

impl Log {
    /// From here on what is logged goes to standard error.
    pub(super) fn start(&self) -> anyhow::Result<()> {
        let filter = EnvFilter::try_new(self.filter.as_deref().filter(|text| !text.is_empty()).unwrap_or("info"))?;
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let started = match self.format {
            Format::Plain => lines.with_ansi(std::io::stderr().is_terminal()).try_init(),
            Format::Json => lines.json().try_init(),
        };
        started.map_err(|why| anyhow::anyhow!("cannot log: {why}"))
    }
}
