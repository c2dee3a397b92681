//! Reading a TOML file so that whoever wrote it finds the mistake.

use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// What is wrong with a setting. The text is for an operator and says where to look.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file that was named cannot be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file says something that cannot be.
    #[error("{}:{line}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key and what is wrong with it.
        message: String,
    },
    /// A variable says something that cannot be.
    #[error("{name}: {message}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// Several things; the text is clap's.
    #[error("{0}")]
    Flags(#[from] clap::Error),
}

/// Reads and types a TOML file.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    parse(&text).map_err(|(line, message)| ConfigError::Malformed { path: path.to_owned(), line, message })
}

/// The line of a mistake, and what it is.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, (usize, String)> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.get(..start).unwrap_or_default();
        let line = before.matches('\n').count();
        // The key alone: the value may be a secret.
        let key = text.lines().nth(line).and_then(|line| line.split_once('=')).map(|(key, _)| key.trim());
        let message = error.message().trim().replace('\n', ", ");
        (line + 1, key.map_or_else(|| message.clone(), |key| format!("{key}: {message}")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Chainlit, Flags};
    use super::*;

    #[test]
    fn a_mistake_is_found_by_its_line() {
        for (text, line, message) in [
            ("[features]\n\nlatex = \"yes\"\n", 3, "latex: invalid type: string \"yes\", expected a boolean"),
            ("[project]\nsession_timeout = true", 2, "session_timeout: invalid type: boolean `true`, expected u64"),
            ("[UI]\nname = 1", 2, "name: invalid type: integer `1`, expected a string"),
            ("[UI]\ncot = \"some\"", 2, "cot: unknown variant `some`, expected one of `hidden`, `tool_call`, `full`"),
            (
                "[features.spontaneous_file_upload]\naccept = 1",
                2,
                "accept: a list of types, or a table of types with their file extensions",
            ),
        ] {
            assert_eq!(parse::<Chainlit>(text).unwrap_err(), (line, message.to_owned()), "{text}");
        }
        assert_eq!(parse::<Chainlit>("[UI]\nname").unwrap_err().0, 2);
    }

    #[test]
    fn unknown_keys_of_chainlit_are_left_alone_and_unknown_keys_of_ours_are_not() {
        assert!(parse::<Chainlit>("[meta]\ngenerated_by = \"2.12.0\"\n[UI]\nnew = 1").is_ok());
        let (line, message) = parse::<Flags>("port = 1\nprot = 2").unwrap_err();
        assert_eq!(line, 2);
        assert!(message.starts_with("prot: unknown field `prot`"), "{message}");
    }
}
