//! Commands and modes of the composer (chat-wire 5.10).

use serde::{Deserialize, Serialize};

/// A command that a message can be sent with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its identity and its name; comes back with the message.
    pub id: String,
    /// What it does.
    pub description: String,
    /// A Lucide name.
    pub icon: String,
    /// Whether it has a button of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub button: bool,
    /// Whether it stays chosen after sending.
    #[serde(default, skip_serializing_if = "is_false")]
    pub persistent: bool,
    /// Whether it is chosen when it arrives.
    #[serde(default, skip_serializing_if = "is_false")]
    pub selected: bool,
}

/// A choice that goes with every message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mode {
    /// Its identity; the key in a message's `modes`.
    pub id: String,
    /// What stands beside it.
    pub name: String,
    /// What there is to choose; an array always: a page that meets a mode without one breaks.
    pub options: Vec<ModeOption>,
}

/// One thing a mode can be. Chosen is the first that says `default`, or else the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeOption {
    /// Its identity; the value in a message's `modes`.
    pub id: String,
    /// What is shown.
    pub name: String,
    /// What it means.
    #[serde(default)]
    pub description: Option<String>,
    /// A Lucide name, a path below `/public`, or a URL.
    #[serde(default)]
    pub icon: Option<String>,
    /// Whether it is chosen at first.
    #[serde(default)]
    pub default: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_on_the_wire() {
        let command = |id: &str, special| Command {
            id: id.into(),
            description: "looks it up".into(),
            icon: "globe".into(),
            button: special,
            persistent: special,
            selected: special,
        };
        insta::assert_json_snapshot!([command("Search", false), command("Draw", true)]);
    }

    #[test]
    fn modes_on_the_wire() {
        let option = |id: &str, default: bool| ModeOption {
            id: id.into(),
            name: id.to_uppercase(),
            description: default.then(|| "careful".into()),
            icon: default.then(|| "brain".into()),
            default,
        };
        let mode = |options| Mode { id: "llm".into(), name: "Model".into(), options };
        insta::assert_json_snapshot!([mode(vec![option("a", false), option("b", true)]), mode(Vec::new())]);
    }
}
