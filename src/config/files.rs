//! Where files are kept.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use super::Secret;

/// A folder, or a bucket of S3 or of a server that speaks its protocol.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum FilesAt {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket.
    Bucket {
        /// Its name.
        name: String,
        /// What stands before every key; may be empty.
        prefix: String,
    },
}

/// Files and how their bucket is reached.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Where they are; `None` is a folder in the data folder.
    pub at: Option<FilesAt>,
    /// The bucket's region.
    pub region: Option<String>,
    /// Another server than AWS's: `https://minio.example.com`.
    pub endpoint: Option<String>,
    /// The public half of its key; without one, AWS's own variables and roles count.
    pub access_key: Option<String>,
    /// The secret half.
    pub secret_key: Option<Secret>,
}

impl FromStr for FilesAt {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return if text.is_empty() {
                Err("must be a folder or s3://bucket/prefix")
            } else {
                Ok(Self::Folder(text.into()))
            };
        };
        if scheme != "s3" {
            return Err("must be a folder or s3://bucket/prefix");
        }
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        if name.is_empty() || !name.chars().all(plain) {
            return Err("must name a bucket: s3://bucket/prefix");
        }
        Ok(Self::Bucket { name: name.to_owned(), prefix: prefix.trim_matches('/').to_owned() })
    }
}

impl TryFrom<String> for FilesAt {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for FilesAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Bucket { name, prefix } if prefix.is_empty() => write!(f, "s3://{name}"),
            Self::Bucket { name, prefix } => write!(f, "s3://{name}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_or_a_bucket() {
        for (text, shown) in [
            ("/var/files", "/var/files"),
            ("files", "files"),
            ("s3://chat", "s3://chat"),
            ("s3://chat/a/b/", "s3://chat/a/b"),
        ] {
            assert_eq!(text.parse::<FilesAt>().map(|at| at.to_string()), Ok(shown.to_owned()));
        }
        for text in ["", "s3://", "s3:///x", "s3://me:hush@host/x", "https://host/bucket", "gs://bucket"] {
            assert!(text.parse::<FilesAt>().is_err(), "{text}");
        }
    }
}
