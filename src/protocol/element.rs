//! Elements: what stands beside a message (chat-wire 5.4).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{ElementId, FileId, StepId, ThreadId};

/// What an element is; decides how the page fetches and shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElementKind {
    /// A picture.
    Image,
    /// Text.
    Text,
    /// A PDF document.
    Pdf,
    /// Sound.
    Audio,
    /// A film.
    Video,
    /// A download.
    File,
    /// A plotly figure; its bytes must be served as `application/json`.
    Plotly,
    /// A table; its bytes must not be served as `application/json`.
    Dataframe,
    /// A list of tasks, kept apart by the page.
    Tasklist,
    /// A component of the application.
    Custom,
}

/// Where an element is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Display {
    /// Below its message.
    #[default]
    Inline,
    /// In the side view, at once.
    Side,
    /// On a page of its own, by a link.
    Page,
}

/// An element; all sixteen keys are always sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Element {
    /// Its identity; the page inserts or replaces by it.
    pub id: ElementId,
    /// The conversation; needed for the link of a page element.
    pub thread_id: Option<ThreadId>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ElementKind,
    /// File name, title or component name. Never null: a page that meets null breaks.
    pub name: String,
    /// Where it is shown.
    #[serde(default)]
    pub display: Display,
    /// Where its bytes are.
    #[serde(default)]
    pub url: Option<String>,
    /// The file's id in the session, used when `url` is empty.
    #[serde(default)]
    pub chainlit_key: Option<FileId>,
    /// Its key in the storage.
    #[serde(default)]
    pub object_key: Option<String>,
    /// `small`, `medium` or `large`.
    #[serde(default)]
    pub size: Option<String>,
    /// Properties of a custom element, which always has some; null for the others.
    #[serde(default)]
    pub props: Option<Map<String, Value>>,
    /// The page a PDF opens at.
    #[serde(default)]
    pub page: Option<i64>,
    /// Whether sound starts by itself.
    #[serde(default)]
    pub auto_play: Option<bool>,
    /// Settings of the film player.
    #[serde(default)]
    pub player_config: Option<Value>,
    /// The fence language of text.
    #[serde(default)]
    pub language: Option<String>,
    /// The message or step it belongs to.
    #[serde(default)]
    pub for_id: Option<StepId>,
    /// Its content type.
    #[serde(default)]
    pub mime: Option<String>,
}

impl Element {
    /// Whether it belongs to a message or a step. One that does not is in no store (chat-wire 5.5).
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.for_id.as_ref().is_some_and(|id| !id.as_str().is_empty())
    }

    /// An element that stands inline, without bytes.
    #[must_use]
    pub fn new(id: ElementId, kind: ElementKind, name: impl Into<String>) -> Self {
        Self {
            id,
            thread_id: None,
            kind,
            name: name.into(),
            display: Display::default(),
            url: None,
            chainlit_key: None,
            object_key: None,
            size: None,
            props: (kind == ElementKind::Custom).then(Map::new),
            page: None,
            auto_play: None,
            player_config: None,
            language: None,
            for_id: None,
            mime: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_on_the_wire() {
        insta::assert_json_snapshot!(Element::new("E".into(), ElementKind::Text, "note"));
    }
}
