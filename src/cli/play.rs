//! `play`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::log::Log;
use super::out::say;
use super::serve::Serve;
use crate::fixture::{self, Against, Chance, Launch, Outcome, Player, Script};

/// What is good to know beyond the flags.
const MORE: &str = "Exit status: 0 when every scenario passed, 1 when one did not, 2 when the command line was not \
    understood.\n\nWithout --url, servers with the reference app are started: one for all scenarios that can share it, \
    one more for each that ends its server. How to write a scenario: client-fixtures/README.md.";

#[derive(clap::Args)]
#[command(after_help = MORE)]
pub(super) struct Play {
    /// Scenario files, and folders of them
    #[arg(required_unless_present_any = ["schema", "random"], value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    /// Play against a server that runs, as http://127.0.0.1:8000
    #[arg(long, value_name = "BASE")]
    url: Option<String>,

    /// Let the servers that are started use databases on this PostgreSQL server [default: a SQLite file each]
    #[arg(long, value_name = "URL", conflicts_with = "url")]
    database_url: Option<String>,

    /// How many scenarios are played at the same time
    #[arg(long, value_name = "N", default_value_t = 8)]
    jobs: usize,

    /// Play each scenario so often
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u32,

    /// Draw what a scenario leaves to chance from this number [default: another one each time]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// How many seconds a step waits for what it wants to see, where the scenario does not say
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    patience: u64,

    /// Play so many conversations by chance instead, in which lines break at random; stop at the first that fails, and
    /// write what is left of it when it is shrunk into a file here
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "repeat"])]
    random: Option<u32>,

    /// With --random: kill the server now and then
    #[arg(long, requires = "random", conflicts_with = "url")]
    kills: bool,

    /// Print what came of each scenario as JSON, one a line, with everything that happened; with --random, only of the one
    /// that failed, before and after it was shrunk
    #[arg(long)]
    json: bool,

    /// Only list the scenarios with what they prove
    #[arg(long)]
    list: bool,

    /// Only print the JSON Schema of scenarios
    #[arg(long, exclusive = true)]
    schema: bool,

    #[command(flatten)]
    log: Log,
}

impl Play {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if self.schema {
            say(format_args!("{:#}", fixture::schema()));
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(histories) = self.random {
            self.log.start()?;
            return runtime()?.block_on(self.play_at_random(histories));
        }
        let scripts = fixture::load(&self.paths)?;
        if self.list {
            scripts
                .iter()
                .for_each(|script| say(format_args!("{}\n    {}", script.name, script.scenario.proves.trim())));
            return Ok(ExitCode::SUCCESS);
        }
        self.log.start()?;
        let outcomes = runtime()?.block_on(self.play(&scripts))?;
        Ok(self.sum_up(&outcomes))
    }

    async fn play_at_random(&self, histories: u32) -> anyhow::Result<ExitCode> {
        let player = self.player()?;
        if !self.json {
            say(format_args!("seed {}", player.seed));
        }
        let bar = self.bar(usize::try_from(histories).unwrap_or(usize::MAX));
        let broken = player.chance(histories, Chance { kills: self.kills }, |_| bar.inc(1)).await;
        let passed = bar.position();
        bar.finish_and_clear();
        let Some(broken) = broken.map_err(anyhow::Error::msg)? else {
            if !self.json {
                say(format_args!("{passed} passed, 0 failed"));
            }
            return Ok(ExitCode::SUCCESS);
        };
        let file = &broken.outcome.path;
        std::fs::write(file, &broken.text).with_context(|| format!("write {}", file.display()))?;
        if self.json {
            for outcome in [&broken.first, &broken.outcome] {
                say(serde_json::to_string(outcome).unwrap_or_default());
            }
        } else {
            say(broken.outcome.told());
            say(format_args!("what is left of it, in {}:\n\n{}", file.display(), broken.text));
            say(format_args!("{passed} passed, 1 failed"));
        }
        Ok(ExitCode::FAILURE)
    }

    fn player(&self) -> anyhow::Result<Player> {
        let against = match &self.url {
            Some(url) => Against::Running(url.clone()),
            None => Against::Started(Launch {
                program: std::env::current_exe().context("find this program")?,
                command: "reference".to_owned(),
                database: self.database_url.clone(),
            }),
        };
        let mut player = Player::new(against);
        player.at_once = self.jobs;
        player.repeat = self.repeat;
        player.patience = Duration::from_secs(self.patience);
        player.seed = self.seed.unwrap_or(player.seed);
        Ok(player)
    }

    async fn play(&self, scripts: &[Script]) -> anyhow::Result<Vec<Outcome>> {
        let player = self.player()?;
        let bar = self.bar(scripts.len());
        let played = player.play(scripts, |outcome| {
            bar.inc(1);
            if self.json {
                say(serde_json::to_string(outcome).unwrap_or_default());
            } else if let Some(why) = &outcome.skipped {
                bar.suspend(|| say(format_args!("SKIPPED {}: {why}", outcome.name)));
            } else if outcome.passed() {
                bar.suspend(|| say(format_args!("passed {} ({} ms)", outcome.name, outcome.took.as_millis())));
            } else {
                bar.suspend(|| say(outcome.told()));
            }
        });
        let outcomes = played.await;
        bar.finish_and_clear();
        match outcomes {
            Ok(outcomes) => Ok(outcomes),
            Err(why) => bail!(why),
        }
    }

    fn bar(&self, scripts: usize) -> ProgressBar {
        if self.json || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let plays = u64::try_from(scripts).unwrap_or_default() * u64::from(self.repeat.max(1));
        let style = ProgressStyle::with_template("{bar:40} {pos} of {len} scenarios");
        ProgressBar::new(plays).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// The last line, and the exit status.
    fn sum_up(&self, outcomes: &[Outcome]) -> ExitCode {
        let passed = outcomes.iter().filter(|outcome| outcome.passed()).count();
        let skipped = outcomes.iter().filter(|outcome| outcome.skipped.is_some()).count();
        let failed: Vec<&str> = outcomes
            .iter()
            .filter(|outcome| !outcome.passed() && outcome.skipped.is_none())
            .map(|outcome| outcome.name.as_str())
            .collect();
        if !self.json {
            say(format_args!("{passed} passed, {} failed, {skipped} skipped", failed.len()));
            failed.iter().for_each(|name| say(format_args!("  failed: {name}")));
        }
        if failed.is_empty() && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("start threads")
}

/// `reference`: the app that scenarios talk to.
#[derive(clap::Args)]
pub(super) struct Reference {
    #[command(flatten)]
    serve: Serve,
}

impl Reference {
    pub(super) fn run(self) -> anyhow::Result<()> {
        self.serve.run(fixture::reference()?, super::Secrets::Kept)
    }
}
