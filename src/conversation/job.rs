//! What a conversation leaves for its task to do.

use super::overtaken::Doubtful;
use super::tab::TabId;
use crate::id::StepId;

/// Something to carry out.
pub(super) enum Job {
    /// Call the hook of a run.
    Run(StepId),
    /// Call the resume hook for a tab.
    Resume(TabId),
    /// Call the hook of an errand.
    Errand(u64),
    /// The thread had its first interaction: its tabs' sessions can be resumed from now on.
    ThreadBegan,
    /// Ask the store for what pages show in doubt.
    LookUp(Doubtful),
}

/// Hooks that belong to a session rather than to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionHook {
    /// `on_stop`.
    Stop,
    /// `on_disconnect`.
    Disconnect,
    /// `on_reconnect`.
    Reconnect,
    /// `on_chat_end`; the tab leaves afterwards.
    End,
}
