//! `number`.

use anyhow::{Context, bail};

use super::SETTINGS;
use super::out::say;
use super::verify::bar;
use crate::config::{Config, Flags};
use crate::id::ThreadId;
use crate::store::Store;

/// Threads of one read.
const SOME: u32 = 200;

#[derive(clap::Args)]
#[command(after_help = SETTINGS)]
pub(super) struct Number {
    #[command(flatten)]
    flags: Flags,

    /// The thread
    #[arg(required_unless_present = "all")]
    thread: Option<String>,

    /// Every thread; what has its numbers is left alone, so an interrupted run may be started again
    #[arg(long, conflicts_with = "thread")]
    all: bool,
}

impl Number {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let config = Config::load(self.flags)?;
        if !config.sequence {
            bail!("numbering is switched off (records.sequence)");
        }
        let thread = self.thread.map(ThreadId::from);
        super::with_store(&config, async |store| match thread {
            Some(thread) => one(store, &thread).await,
            None => all(store).await,
        })
    }
}

async fn one(store: &dyn Store, thread: &ThreadId) -> anyhow::Result<()> {
    if store.thread_head(thread).await?.is_none() {
        bail!("there is no thread {thread}");
    }
    say(format_args!("{} records got a number", store.number(thread).await?));
    Ok(())
}

async fn all(store: &dyn Store) -> anyhow::Result<()> {
    let bar = bar(0);
    let (mut after, mut threads, mut records) = (None, 0_u64, 0_u64);
    loop {
        let some = store.stored_threads(after.as_ref(), SOME).await?;
        bar.inc_length(u64::try_from(some.len()).unwrap_or_default());
        let Some(last) = some.last().cloned() else { break };
        for thread in &some {
            let numbered = store.number(thread).await.with_context(|| format!("number thread {thread}"))?;
            threads += u64::from(numbered > 0);
            records += numbered;
            bar.inc(1);
        }
        after = Some(last);
    }
    bar.finish_and_clear();
    say(format_args!("{records} records of {threads} threads got a number"));
    Ok(())
}
