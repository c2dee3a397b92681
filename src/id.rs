//! Ids: opaque texts with a type each, so that a thread's id cannot be passed for a session's.
//!
//! They are shared slices, cheap to clone. Ids of old databases may be any text; new ones are UUIDs of version 4.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// A new random id, a UUID of version 4 as text.
            #[must_use]
            pub fn random() -> Self {
                Self(Uuid::new_v4().hyphenated().encode_lower(&mut Uuid::encode_buffer()).to_owned().into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether this is a UUID of version 4 in its usual spelling, as frontends make them.
            #[must_use]
            pub fn is_uuid4(&self) -> bool {
                Uuid::try_parse(&self.0).is_ok_and(|uuid| uuid.get_version_num() == 4)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

id! {
    /// A stored conversation.
    ThreadId
}
id! {
    /// A step: a message, a tool call, a run.
    StepId
}
id! {
    /// An element: a file, a picture, a table beside a message.
    ElementId
}
id! {
    /// A button below a message.
    ActionId
}
id! {
    /// A file that was uploaded, or that a hook made.
    FileId
}
id! {
    /// A row of the user table. Not the identifier a person signs in with.
    UserId
}
id! {
    /// One immutable stored fact. A producer fixes it before the first attempt, so that a retry is recognised.
    RecordId
}
id! {
    /// A vote on a run.
    FeedbackId
}
id! {
    /// A wish to stop that came over HTTP. Whoever gave it finds it again in the event of the end.
    CommandId
}

/// One call of a hook for a user's turn. It has the id of the run step that shows it.
pub type ExecutionId = StepId;

/// One live tab, named by the page. A secret: it is all that protects an anonymous visitor, so it has no `Display`,
/// and its `Debug` is [`SessionId::hash`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// The id as the page sent it. Never for a log.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The hash under which the store knows the session: 64 hex digits.
    #[must_use]
    pub fn key(&self) -> String {
        Sha256::digest(self.0.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A short hash that may be logged: 16 hex digits.
    #[must_use]
    pub fn hash(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Read from requests; never written.
impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.into()))
    }
}

impl From<&str> for SessionId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", self.hash())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_never_shows_itself() {
        let id = SessionId::from("5f0c1a52-secret");
        assert!(!format!("{id:?}").contains("secret"));
        assert_eq!(id.hash().len(), 16);
    }

    #[test]
    fn only_version_four_counts_as_a_frontends_id() {
        assert!(StepId::random().is_uuid4());
        assert!(!StepId::from("00000000-0000-1000-8000-000000000000").is_uuid4());
        assert!(!StepId::from("m1").is_uuid4());
    }
}
