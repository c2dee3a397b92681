//! Buttons below a message (chat-wire 5.3).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{ActionId, StepId};

/// A button. Never stored in a database; the page appends it blindly, so it is sent once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// Its identity.
    pub id: ActionId,
    /// The hook it calls.
    pub name: String,
    /// Given back untouched.
    #[serde(default)]
    pub payload: Map<String, Value>,
    /// What is on it; the name, when empty and without an icon.
    #[serde(default)]
    pub label: String,
    /// Shown on hovering.
    #[serde(default)]
    pub tooltip: String,
    /// A Lucide name.
    #[serde(default)]
    pub icon: Option<String>,
    /// The message it stands below.
    #[serde(default)]
    pub for_id: Option<StepId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_on_the_wire_says_every_key() {
        let bare: Action = serde_json::from_value(serde_json::json!({"id": "A", "name": "press"})).unwrap();
        insta::assert_json_snapshot!(bare);
    }
}
