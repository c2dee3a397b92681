//! What is logged, and how.

use std::io::IsTerminal;

use tracing::{Level, Metadata};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

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
        let quiet = filter_fn(|line| !says_what_people_say(line));
        let started = match self.format {
            Format::Plain => lines.with_ansi(std::io::stderr().is_terminal()).finish().with(quiet).try_init(),
            Format::Json => lines.json().finish().with(quiet).try_init(),
        };
        started.map_err(|why| anyhow::anyhow!("cannot log: {why}"))
    }
}

/// Libraries that write every frame into the log. No filter that somebody sets brings that back: an operator who looks for
/// a fault must not come to read what people say (I-60).
const TALKATIVE: [&str; 2] = ["tungstenite", "tokio_tungstenite"];

fn says_what_people_say(line: &Metadata<'_>) -> bool {
    let library = line.target().split("::").next().unwrap_or_default();
    *line.level() > Level::INFO && TALKATIVE.contains(&library)
}
