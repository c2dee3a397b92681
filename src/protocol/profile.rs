//! Profiles and starters, as the settings carry them (chat-wire 5.10).

use serde::{Deserialize, Serialize};

/// A face of the application that people choose. The picker shows from two on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatProfile {
    /// Its identity; comes with the connection.
    pub name: String,
    /// What is shown instead of the name.
    #[serde(default)]
    pub display_name: Option<String>,
    /// What it is for, in Markdown.
    pub markdown_description: String,
    /// A picture's address.
    #[serde(default)]
    pub icon: Option<String>,
    /// Whether it is chosen at first.
    #[serde(default)]
    pub default: bool,
    /// Replace the global starters while it is chosen.
    #[serde(default)]
    pub starters: Option<Vec<Starter>>,
}

/// A message that is offered on an empty page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starter {
    /// What is on it.
    pub label: String,
    /// What is sent.
    pub message: String,
    /// The command it is sent with.
    #[serde(default)]
    pub command: Option<String>,
    /// A picture's address or a Lucide name.
    #[serde(default)]
    pub icon: Option<String>,
}

/// Starters under a heading. Where there are any, loose starters are not shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StarterCategory {
    /// The heading.
    pub label: String,
    /// A picture's address or a Lucide name.
    #[serde(default)]
    pub icon: Option<String>,
    /// What is below it.
    pub starters: Vec<Starter>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starter() -> Starter {
        Starter { label: "Begin".into(), message: "hello".into(), command: Some("Search".into()), icon: None }
    }

    #[test]
    fn profiles_on_the_wire() {
        let plain = ChatProfile {
            name: "fast".into(),
            display_name: None,
            markdown_description: "*fast*".into(),
            icon: None,
            default: false,
            starters: None,
        };
        let full = ChatProfile {
            display_name: Some("Fast".into()),
            icon: Some("/public/fast.svg".into()),
            default: true,
            starters: Some(vec![starter()]),
            ..plain.clone()
        };
        insta::assert_json_snapshot!([plain, full]);
    }

    #[test]
    fn a_category_on_the_wire() {
        insta::assert_json_snapshot!(StarterCategory { label: "Work".into(), icon: None, starters: vec![starter()] });
    }
}
