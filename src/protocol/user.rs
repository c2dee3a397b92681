//! Who signed in (chat-wire 5.8).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Timestamp;
use crate::id::UserId;

/// A person as `GET /user` shows them. `metadata` is an object always: a page without it breaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// The row's id; absent where nobody stored them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<UserId>,
    /// When the row was made.
    #[serde(default, rename = "createdAt", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// What they sign in with, and what owns threads.
    pub identifier: String,
    /// What the page calls them; travels in the token, is not stored.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Free keys; `image` is the avatar.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl User {
    /// A user known by `identifier` alone.
    #[must_use]
    pub fn new(identifier: impl Into<String>) -> Self {
        Self { id: None, created_at: None, identifier: identifier.into(), display_name: None, metadata: Map::new() }
    }

    /// The same user with one more key of metadata.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_on_the_wire() {
        let stored = User {
            id: Some("U".into()),
            created_at: Some(Timestamp::from_micros(1_764_455_739_129_157)),
            display_name: Some("Anna".into()),
            ..User::new("anna").with("image", "/a.png")
        };
        // Without anything, `metadata` is still an object.
        insta::assert_json_snapshot!([stored, User::new("bert")]);
    }
}
