//! Where the server is mounted.

use std::fmt;
use std::str::FromStr;

/// The path in front of every route: empty, or `/base` without a slash at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootPath(String);

impl RootPath {
    /// The path: `""` or `/base`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What is left of a request's path below the root, with its leading slash; `None` when it lies elsewhere.
    #[must_use]
    pub fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        match path.strip_prefix(self.0.as_str())? {
            "" => Some("/"),
            rest if rest.starts_with('/') => Some(rest),
            _ => None,
        }
    }
}

impl fmt::Display for RootPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text is not a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a path like /chat: letters, digits, - _ . ~ and / only")]
pub struct BadRootPath;

impl FromStr for RootPath {
    type Err = BadRootPath;

    fn from_str(text: &str) -> Result<Self, BadRootPath> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~/".contains(c);
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        if !text.chars().all(plain) || parts.iter().any(|part| matches!(*part, "." | "..")) {
            return Err(BadRootPath);
        }
        Ok(Self(parts.iter().map(|part| format!("/{part}")).collect()))
    }
}

impl<'de> serde::Deserialize<'de> for RootPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_are_one() {
        for (text, path) in [("", ""), ("/", ""), ("base", "/base"), ("/base/", "/base"), ("//a//b/", "/a/b")] {
            assert_eq!(text.parse::<RootPath>().unwrap().as_str(), path, "{text}");
        }
        for text in ["/a/../b", "/a?b", "/ä", "/a b", "https://host/a"] {
            assert_eq!(text.parse::<RootPath>(), Err(BadRootPath), "{text}");
        }
    }

    #[test]
    fn only_what_lies_below_the_root_is_ours() {
        let root: RootPath = "/base".parse().unwrap();
        for (path, rest) in [
            ("/base", Some("/")),
            ("/base/", Some("/")),
            ("/base/user", Some("/user")),
            ("/base//ws/socket.io/", Some("//ws/socket.io/")),
            ("/based", None),
            ("/user", None),
        ] {
            assert_eq!(root.strip(path), rest, "{path}");
        }
        assert_eq!(RootPath::default().strip("/user"), Some("/user"));
    }
}
