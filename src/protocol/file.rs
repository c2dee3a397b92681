//! Files: what is known of one beside its bytes (chat-wire 5.11).

use serde::{Deserialize, Serialize};

use super::{Element, ElementKind};
use crate::id::{FileId, StepId};

/// A file that is kept: uploaded by a person, or made by a hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredFile {
    /// Its identity; pages call it `chainlitKey`.
    pub id: FileId,
    /// Its name, as whoever made it called it.
    pub name: String,
    /// Its content type, lower case, without parameters.
    #[serde(rename = "type")]
    pub mime: String,
    /// Its length in bytes.
    pub size: u64,
}

impl StoredFile {
    /// The element that shows the file beside the message it was sent with: its id is the file's, its kind follows from
    /// the content type (chat-wire 3.2).
    #[must_use]
    pub fn attached_to(&self, message: &StepId) -> Element {
        let mut element = Element::new(self.id.as_str().into(), ElementKind::of_mime(&self.mime), &self.name);
        element.size = matches!(element.kind, ElementKind::Image | ElementKind::Video).then(|| "medium".to_owned());
        element.chainlit_key = Some(self.id.clone());
        element.for_id = Some(message.clone());
        element.mime = Some(self.mime.clone());
        element
    }
}

impl Element {
    /// Whether it is a file that a person uploaded: then it has that file's id.
    #[must_use]
    pub fn is_upload(&self) -> bool {
        self.chainlit_key.as_ref().is_some_and(|key| key.as_str() == self.id.as_str())
    }
}

impl ElementKind {
    /// How a file of this content type is shown (chat-wire 3.2).
    #[must_use]
    pub fn of_mime(mime: &str) -> Self {
        match mime {
            "application/pdf" => Self::Pdf,
            mime if mime.contains("image") => Self::Image,
            mime if mime.contains("audio") => Self::Audio,
            mime if mime.contains("video") => Self::Video,
            _ => Self::File,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_its_message() {
        let file = StoredFile { id: "F".into(), name: "a.png".into(), mime: "image/png".into(), size: 3 };
        let element = file.attached_to(&"M".into());
        assert!(element.is_upload());
        insta::assert_json_snapshot!(element);
    }

    #[test]
    fn the_kind_follows_from_the_content_type() {
        let kind = ElementKind::of_mime;
        assert_eq!(kind("application/pdf"), ElementKind::Pdf);
        assert_eq!((kind("audio/wav"), kind("video/mp4")), (ElementKind::Audio, ElementKind::Video));
        assert_eq!((kind("text/plain"), kind("")), (ElementKind::File, ElementKind::File));
    }
}
