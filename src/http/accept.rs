//! Which files are taken (chat-wire 6.7): by the open question, else by what the app's file says.

use wildmatch::WildMatch;

use crate::config::{Accept, FileUpload};
use crate::protocol::AskKind;

/// What a file must be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Content types as patterns, each with the endings that a name may have; no ending: any. `None` takes everything.
    types: Option<Vec<(String, Vec<String>)>>,
    /// At most so many bytes.
    pub(super) most: Option<u64>,
}

impl Rules {
    /// What the question wants; `None` for one that wants no file.
    pub(super) fn of_question(question: &AskKind) -> Option<Self> {
        let AskKind::File { accept, max_size_mb, .. } = question else { return None };
        let types = accept.types().map(|(kind, endings)| (kind.to_owned(), endings.to_vec())).collect();
        Some(Self { types: Some(types), most: Some(bytes(u64::from(*max_size_mb))) })
    }

    /// What goes with a message. Without the table anything does. `None` when nothing does.
    pub(super) fn of_composer(upload: Option<&FileUpload>) -> Option<Self> {
        let Some(upload) = upload else { return Some(Self { types: None, most: None }) };
        let types = upload.accept.as_ref().map(|accept| match accept {
            Accept::Types(kinds) => kinds.iter().map(|kind| (kind.clone(), Vec::new())).collect(),
            Accept::Extensions(kinds) => kinds.iter().map(|(kind, ends)| (kind.clone(), ends.clone())).collect(),
        });
        (upload.enabled == Some(true)).then(|| Self { types, most: upload.max_size_mb.map(bytes) })
    }

    /// Whether a file of this type and name may come.
    pub(super) fn take(&self, mime: &str, name: &str) -> bool {
        let name = name.to_lowercase();
        let fits = |(kind, endings): &(String, Vec<String>)| {
            WildMatch::new(&kind.to_lowercase()).matches(mime)
                && (endings.is_empty() || endings.iter().any(|ending| name.ends_with(&ending.to_lowercase())))
        };
        self.types.as_ref().is_none_or(|types| types.iter().any(fits))
    }
}

fn bytes(megabytes: u64) -> u64 {
    megabytes.saturating_mul(1024 * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_takes_types_and_a_table_takes_endings_as_well() {
        let list = |kinds: &[&str]| {
            let accept = Accept::Types(kinds.iter().map(|kind| (*kind).to_owned()).collect());
            let upload = FileUpload { enabled: Some(true), accept: Some(accept), ..FileUpload::default() };
            Rules::of_composer(Some(&upload)).unwrap()
        };
        assert!(list(&["*/*"]).take("application/x-thing", "a"));
        assert!(list(&["text/csv", "Image/*"]).take("image/png", "a.png"));
        assert!(!list(&["text/csv", "image/*"]).take("text/html", "a.csv"));
        assert!(!list(&[]).take("text/plain", "a"));

        let accept = [("text/plain".to_owned(), vec![".txt".to_owned(), ".PY".to_owned()]), ("a/b".to_owned(), vec![])];
        let accept = crate::protocol::Accept::new(accept.into());
        let question = AskKind::File { accept, max_files: 1, max_size_mb: 2 };
        let rules = Rules::of_question(&question).unwrap();
        assert!(rules.take("text/plain", "A.TXT") && rules.take("text/plain", "a.py") && rules.take("a/b", "x"));
        assert!(!rules.take("text/plain", "a.sh") && !rules.take("text/x-python", "a.py"));
        assert_eq!(rules.most, Some(2 * 1024 * 1024));
    }

    #[test]
    fn without_a_table_anything_goes_and_switched_off_nothing_does() {
        let anything = Rules::of_composer(None).unwrap();
        assert!(anything.take("any/thing", "") && anything.most.is_none());
        for enabled in [Some(false), None] {
            assert_eq!(Rules::of_composer(Some(&FileUpload { enabled, ..FileUpload::default() })), None);
        }
        assert_eq!(Rules::of_question(&AskKind::Text), None);
    }
}
