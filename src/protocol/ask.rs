//! Questions (chat-wire 4.4).

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::Step;
use crate::id::{ActionId, ElementId, StepId};

/// A question as it is sent: the message, and what kind of answer is wanted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ask {
    /// The message that asks.
    pub msg: Step,
    /// What an answer must be.
    pub spec: AskSpec,
}

impl Ask {
    /// The same question with so much time left: whole seconds, rounded up.
    #[must_use]
    pub fn with_time_left(&self, left: Duration) -> Self {
        Self { msg: self.msg.clone(), spec: AskSpec { timeout: whole_seconds(left), ..self.spec.clone() } }
    }
}

/// Whole seconds, rounded up: what `timeout` counts in.
#[must_use]
pub fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// What an answer must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskSpec {
    /// The id of the message; the page compares it.
    pub step_id: StepId,
    /// Whole seconds until the server gives up. The page itself never times out.
    pub timeout: u64,
    /// The kind with its own keys.
    #[serde(flatten)]
    pub kind: AskKind,
}

/// The four kinds of question.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AskKind {
    /// Wants a text.
    Text,
    /// Wants files.
    File {
        /// What is taken.
        accept: Accept,
        /// At most so many; the page counts.
        max_files: u32,
        /// Each at most so many megabytes.
        max_size_mb: u32,
    },
    /// Wants one of these buttons pressed.
    Action {
        /// The buttons' ids.
        keys: Vec<ActionId>,
    },
    /// Wants a form filled in.
    Element {
        /// The form.
        element_id: ElementId,
    },
}

/// Which files are taken: content types (`text/plain`, `image/*`), each with the endings that a file's name may have.
/// On the wire a list, when no type asks for endings (chat-wire 6.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accept(BTreeMap<String, Vec<String>>);

impl Accept {
    /// These types; without any, all.
    #[must_use]
    pub fn new(mut types: BTreeMap<String, Vec<String>>) -> Self {
        if types.is_empty() {
            types.insert("*/*".to_owned(), Vec::new());
        }
        Self(types)
    }

    /// The types, each with its endings; no endings: any.
    pub fn types(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|(mime, endings)| (mime.as_str(), endings.as_slice()))
    }
}

impl Serialize for Accept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.values().all(Vec::is_empty) {
            serializer.collect_seq(self.0.keys())
        } else {
            self.0.serialize(serializer)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_on_the_wire() {
        let spec = |kind| AskSpec { step_id: "M".into(), timeout: 30, kind };
        let file =
            AskKind::File { accept: Accept::new([("text/plain".into(), vec![])].into()), max_files: 1, max_size_mb: 2 };
        insta::assert_json_snapshot!([
            spec(AskKind::Text),
            spec(file),
            spec(AskKind::Action { keys: vec!["A".into()] }),
            spec(AskKind::Element { element_id: "E".into() }),
        ]);
    }
}
