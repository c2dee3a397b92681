//! The secret that signs logins.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use rand::RngCore;
use serde::Deserialize;

/// A text that is never printed: its `Debug` is three dots.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// A new one: 32 random bytes in hex, as `openssl rand -hex 32` makes them.
    #[must_use]
    pub fn generate() -> Self {
        let mut bytes = [0; 32];
        rand::rng().fill_bytes(&mut bytes);
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The one that is kept in `dir`, made at the first call and readable by nobody else. For programs that somebody
    /// only tries; a service is given its secret.
    ///
    /// # Errors
    /// When the folder cannot be made or the file not be read or written.
    pub fn kept_in(dir: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let path = dir.join("secret");
        if let Some(secret) = Self::stored(&path)? {
            return Ok(secret);
        }
        let secret = Self::generate();
        // Written aside and linked: a second process that starts now never reads half a secret, and the first one
        // wins.
        let aside = dir.join(format!("secret.{}", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&aside)?;
        writeln!(file, "{}", secret.0)?;
        file.sync_all()?;
        if std::fs::hard_link(&aside, &path).is_err() {
            // Somebody was first, or left an empty file, or the file system has no hard links.
            match Self::stored(&path)? {
                Some(first) => {
                    std::fs::remove_file(&aside)?;
                    return Ok(first);
                }
                None => std::fs::rename(&aside, &path)?,
            }
        }
        let _ = std::fs::remove_file(&aside);
        Ok(secret)
    }

    fn stored(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text.trim()).filter(|text| !text.is_empty()).map(Self::from)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The secret itself. Never for a log.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows_itself() {
        assert_eq!(format!("{:?}", Secret::from("hush")), "Secret(…)");
    }

    #[test]
    fn a_kept_secret_is_made_once_and_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let secret = Secret::kept_in(dir.path()).unwrap();
        assert_eq!(secret.expose().len(), 64);
        assert_eq!(Secret::kept_in(dir.path()).unwrap(), secret);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(dir.path().join("secret")).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_empty_file_is_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("secret"), "\n").unwrap();
        assert_eq!(Secret::kept_in(dir.path()).unwrap().expose().len(), 64);
    }
}
