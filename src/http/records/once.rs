//! Commands that came with a key: the same key again is the same command, and gets its answer.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::conversation::Cancelled;
use crate::id::{ExecutionId, ThreadId};

/// How long a key is known.
const KNOWN_FOR: Duration = Duration::from_secs(600);

/// How many keys are known; the oldest go first. A command whose key is forgotten is a new one.
const MOST: usize = 10_000;

/// A command, and what became of it.
pub(super) struct Command {
    expected: Option<ExecutionId>,
    since: Instant,
    /// The answer. Whoever comes while it is under way waits for it.
    pub(super) done: OnceCell<Cancelled>,
}

/// The commands of the last minutes.
#[derive(Default)]
pub struct Commands(Mutex<IndexMap<(ThreadId, String), Arc<Command>>>);

impl Commands {
    /// The command of a key for a thread, a new one when the key is new. `None` when the key was given with another wish.
    pub(super) fn get(&self, key: (ThreadId, String), expected: Option<ExecutionId>) -> Option<Arc<Command>> {
        let now = Instant::now();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // They stand in the order in which they came.
        let old = known.values().take_while(|command| now - command.since > KNOWN_FOR).count();
        let too_many = (known.len() + 1).saturating_sub(MOST);
        let gone = old.max(too_many).min(known.len());
        known.drain(..gone);
        let command = known
            .entry(key)
            .or_insert_with(|| Arc::new(Command { expected: expected.clone(), since: now, done: OnceCell::new() }));
        (command.expected == expected).then(|| command.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_is_one_command_for_a_while() {
        let commands = Commands::default();
        let key = |key: &str| (ThreadId::from("t"), key.to_owned());
        let first = commands.get(key("a"), None).unwrap();
        assert!(Arc::ptr_eq(&first, &commands.get(key("a"), None).unwrap()));
        assert!(commands.get(key("a"), Some("x".into())).is_none(), "another wish");
        assert!(!Arc::ptr_eq(&first, &commands.get((ThreadId::from("u"), "a".into()), None).unwrap()));
        tokio::time::advance(KNOWN_FOR + Duration::from_secs(1)).await;
        assert!(!Arc::ptr_eq(&first, &commands.get(key("a"), Some("x".into())).unwrap()));
        for n in 0..MOST + 5 {
            commands.get(key(&n.to_string()), None);
        }
        assert!(commands.0.lock().unwrap().len() <= MOST);
    }
}
