//! Profiles and starters, as the settings carry them (chat-wire 5.10).

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// What holds of the settings while it is chosen: `{"ui": …, "features": …, "project": …}`, merged deeply. The page
    /// sees what comes of it, not this.
    #[serde(skip)]
    pub config_overrides: Option<Value>,
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

impl ChatProfile {
    /// A profile that changes nothing.
    ///
    /// ```
    /// use rejoinder::protocol::{ChatProfile, Starter};
    /// use serde_json::json;
    ///
    /// let profile = ChatProfile::new("fast", "Answers **at once**")
    ///     .display_name("Fast")
    ///     .icon("/public/fast.svg")
    ///     .by_default()
    ///     .starter(Starter::new("Begin", "What can you do?"))
    ///     .config_overrides(json!({"ui": {"name": "Flash"}, "features": {"audio": {"enabled": true}}}));
    /// assert!(profile.default);
    /// ```
    #[must_use]
    pub fn new(name: impl Into<String>, markdown_description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            display_name: None,
            markdown_description: markdown_description.into(),
            icon: None,
            default: false,
            starters: None,
            config_overrides: None,
        }
    }

    /// Shows it under another name.
    #[must_use]
    pub fn display_name(mut self, name: impl Into<String>) -> Self {
        self.display_name = Some(name.into());
        self
    }

    /// Gives it a picture.
    #[must_use]
    pub fn icon(mut self, address: impl Into<String>) -> Self {
        self.icon = Some(address.into());
        self
    }

    /// It is chosen at first.
    #[must_use]
    pub fn by_default(mut self) -> Self {
        self.default = true;
        self
    }

    /// Adds a starter of its own, which take the place of the global ones.
    #[must_use]
    pub fn starter(mut self, starter: Starter) -> Self {
        self.starters.get_or_insert_default().push(starter);
        self
    }

    /// Changes settings while it is chosen: tables `ui`, `features` and `project`, merged deeply.
    #[must_use]
    pub fn config_overrides(mut self, tables: Value) -> Self {
        self.config_overrides = Some(tables);
        self
    }
}

impl Starter {
    /// A text that sends a message.
    ///
    /// ```
    /// use rejoinder::protocol::Starter;
    ///
    /// let starter = Starter::new("Find something", "the moon").command("Search").icon("search");
    /// assert_eq!(starter.command.as_deref(), Some("Search"));
    /// ```
    #[must_use]
    pub fn new(label: impl Into<String>, message: impl Into<String>) -> Self {
        Self { label: label.into(), message: message.into(), command: None, icon: None }
    }

    /// Sends it with a command.
    #[must_use]
    pub fn command(mut self, id: impl Into<String>) -> Self {
        self.command = Some(id.into());
        self
    }

    /// Gives it a picture.
    #[must_use]
    pub fn icon(mut self, address: impl Into<String>) -> Self {
        self.icon = Some(address.into());
        self
    }
}

impl StarterCategory {
    /// A heading with nothing below it.
    ///
    /// ```
    /// use rejoinder::protocol::{Starter, StarterCategory};
    ///
    /// let work = StarterCategory::new("Work").icon("briefcase").starter(Starter::new("Mail", "Write a mail"));
    /// assert_eq!(work.starters.len(), 1);
    /// ```
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), icon: None, starters: Vec::new() }
    }

    /// Gives it a picture.
    #[must_use]
    pub fn icon(mut self, address: impl Into<String>) -> Self {
        self.icon = Some(address.into());
        self
    }

    /// Adds a starter below it.
    #[must_use]
    pub fn starter(mut self, starter: Starter) -> Self {
        self.starters.push(starter);
        self
    }
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
            config_overrides: Some(serde_json::json!({"ui": {"name": "a secret of the server"}})),
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
