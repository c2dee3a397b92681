//! `verify`.

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressStyle};

use super::SETTINGS;
use super::out::say;
use crate::config::{Config, Flags};
use crate::id::ThreadId;
use crate::store::{self, Store};

/// Threads of one read.
const SOME: u32 = 200;

#[derive(clap::Args)]
#[command(after_help = SETTINGS)]
pub(super) struct Verify {
    #[command(flatten)]
    flags: Flags,

    /// Go on after this thread, where an earlier run was interrupted
    #[arg(long, value_name = "THREAD")]
    after: Option<String>,
}

impl Verify {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let config = Config::load(self.flags)?;
        let after = self.after.map(ThreadId::from);
        super::with_store(&config, async |store| verify(store, after).await)
    }
}

/// Looks at every thread after one, in the order of their ids.
async fn verify(store: &dyn Store, mut after: Option<ThreadId>) -> anyhow::Result<()> {
    let bar = bar(store.count_recorded_threads().await?);
    let (mut threads, mut wrong) = (0_u64, 0_u64);
    loop {
        let some =
            store.recorded_threads(after.as_ref(), SOME).await.with_context(|| went_as_far_as(after.as_ref()))?;
        let Some(last) = some.last().cloned() else { break };
        for thread in &some {
            let findings = store::verify(store, thread).await.with_context(|| went_as_far_as(after.as_ref()))?;
            for finding in &findings {
                bar.suspend(|| say(format_args!("{thread}: {finding}")));
            }
            wrong += u64::from(!findings.is_empty());
            threads += 1;
            after = Some(thread.clone());
            bar.inc(1);
        }
        after = Some(last);
    }
    bar.finish_and_clear();
    if wrong > 0 {
        bail!("{wrong} of {threads} threads are not as they must be");
    }
    say(format_args!("{threads} threads are as they must be"));
    Ok(())
}

fn went_as_far_as(after: Option<&ThreadId>) -> String {
    after.map_or_else(|| "nothing was looked at".into(), |thread| format!("go on with --after {thread}"))
}

/// A bar on a terminal, nothing elsewhere.
pub(super) fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} threads, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
