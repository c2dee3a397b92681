//! What pages ask outside of a conversation: what there is to choose, votes, shared threads, goodbyes.

use std::sync::Arc;

use super::{FromHook, HookError, Input};
use crate::protocol::{Feedback, Thread, User};

/// A page wants to know what there is to choose: profiles, starters, categories of starters.
#[derive(Clone, Debug)]
pub struct ChoicesEvent {
    /// Who asks.
    pub user: Option<User>,
    /// In which language: `fr-CA`.
    pub language: Language,
    /// Under which profile.
    pub profile: ProfileName,
}

/// The language of a page: `fr-CA`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Language(pub String);

/// The profile that is chosen, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileName(pub Option<String>);

/// Somebody voted on an answer.
#[derive(Clone, Debug)]
pub struct FeedbackEvent {
    /// The vote; it is stored.
    pub feedback: Feedback,
    /// Who voted.
    pub user: Option<User>,
}

/// Somebody opens the link to a thread that is not theirs.
#[derive(Clone, Debug)]
pub struct SharedViewEvent {
    /// The thread.
    pub thread: SharedThread,
    /// Who wants to see it.
    pub user: Option<User>,
}

/// A thread that somebody else wants to see.
#[derive(Clone, Debug)]
pub struct SharedThread(pub Arc<Thread>);

/// Somebody signs out.
#[derive(Clone, Debug)]
pub struct LogoutEvent {
    /// Who, if they were signed in.
    pub user: Option<User>,
}

/// Something is about to be signed.
#[derive(Clone, Debug)]
pub struct AuthorEvent {
    /// By whom.
    pub author: Author,
}

/// The name under which something is about to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author(pub String);

macro_rules! arguments {
    ($($event:ty: $argument:ty = $field:ident;)*) => {
        $(impl FromHook<$event> for $argument {
            fn from_hook(input: &Input<$event>) -> Result<Self, HookError> {
                Ok(input.event.$field.clone())
            }
        })*
    };
}

arguments! {
    ChoicesEvent: Option<User> = user;
    ChoicesEvent: Language = language;
    ChoicesEvent: ProfileName = profile;
    FeedbackEvent: Feedback = feedback;
    FeedbackEvent: Option<User> = user;
    SharedViewEvent: SharedThread = thread;
    SharedViewEvent: Option<User> = user;
    LogoutEvent: Option<User> = user;
    AuthorEvent: Author = author;
}
