//! The command line: what the binary offers, and with the same flags every program that calls [`main`].

mod fetch;
mod log;
mod number;
mod out;
#[cfg(feature = "fixtures")]
mod play;
mod serve;
mod verify;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::app::{App, BuildError};
use crate::config::{Config, Flags, Secret};
use crate::store::{self, OpenOptions, Store};

/// A realtime chat server for Chainlit's frontends: a broken line loses nothing and doubles nothing.
#[derive(Parser)]
#[command(
    name = "rejoinder",
    version,
    arg_required_else_help = true,
    after_help = "Start with:\n  rejoinder frontend fetch   get the page that people chat on (once)\n  \
                  rejoinder serve            serve it on http://localhost:8000"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the app until it is told to stop (ctrl-c, SIGTERM)
    Serve(Box<serve::Serve>),
    /// The page that people chat on
    #[command(subcommand)]
    Frontend(Frontend),
    /// Print the settings that are in force, secrets hidden
    #[command(after_help = SETTINGS)]
    Config {
        #[command(flatten)]
        flags: Box<Flags>,
    },
    /// Print a new secret for CHAINLIT_AUTH_SECRET
    Secret,
    /// Give numbers to what a thread has without: rows of before its first record
    Number(Box<number::Number>),
    /// Look whether the records of a database are what was stored, and its rows what the records say
    Verify(Box<verify::Verify>),
    /// Play scenarios of broken lines, against a server that runs or one that is started for it
    #[cfg(feature = "fixtures")]
    Play(Box<play::Play>),
    /// Serve the reference app, to which the scenarios talk: any name, password `pw`
    #[cfg(feature = "fixtures")]
    Reference(Box<play::Reference>),
}

#[derive(Subcommand)]
enum Frontend {
    /// Get the stock page from the package `chainlit` (by pip) into the data folder
    Fetch(fetch::FetchPage),
}

/// Where settings come from.
const SETTINGS: &str = "The first that says something wins: flag, REJOINDER_… variable, the variables that Chainlit \
    reads (CHAINLIT_HOST, CHAINLIT_PORT, CHAINLIT_ROOT_PATH, DATABASE_URL, …), the file of --config, \
    .chainlit/config.toml in the app's folder.\n\nAn app with a login needs a secret in CHAINLIT_AUTH_SECRET (or \
    auth_secret in the file of --config); `rejoinder secret` makes one.";

/// Whether a program that was given no secret makes one of its own.
#[derive(Clone, Copy)]
enum Secrets {
    Given,
    Kept,
}

/// The whole `main` of a program that serves `app`, as `build()` gives it: reads the command line, does what it says, and gives the exit
/// code: 0 when all went well (a server that was told to stop did), 1 when something failed, which is said on
/// standard error, 2 when the command line was not understood.
pub fn main(app: Result<App, BuildError>) -> ExitCode {
    run(app, Secrets::Given)
}

/// The same for a program that somebody only tries: when a login needs a secret and none is given, one is made and
/// kept in the data folder.
pub fn demo(app: Result<App, BuildError>) -> ExitCode {
    run(app, Secrets::Kept)
}

fn run(app: Result<App, BuildError>, secrets: Secrets) -> ExitCode {
    let app = match app {
        Ok(app) => app,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let done = match Cli::parse().command {
        Command::Serve(serve) => serve.run(app, secrets),
        Command::Frontend(Frontend::Fetch(fetch)) => fetch.run(),
        Command::Config { flags } => print_config(*flags),
        Command::Secret => {
            out::say(Secret::generate().expose());
            Ok(())
        }
        Command::Number(number) => number.run(),
        Command::Verify(verify) => verify.run(),
        #[cfg(feature = "fixtures")]
        Command::Play(play) => match play.run() {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        #[cfg(feature = "fixtures")]
        Command::Reference(reference) => reference.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn print_config(flags: Flags) -> anyhow::Result<()> {
    out::say(Config::load(flags)?.print().trim_end());
    Ok(())
}

/// Does something with the database of the settings, and gives it back. Nothing is swept and nothing settled; a SQLite
/// file that a server has open is refused.
fn with_store(config: &Config, work: impl AsyncFnOnce(&dyn Store) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("start threads")?;
    runtime.block_on(async {
        let options =
            OpenOptions { project: config.project.clone(), numbered: config.sequence, ..OpenOptions::default() };
        let store = store::open(&config.database_url(), options).await?;
        let done = work(&*store).await;
        store.close().await;
        done
    })
}
