//! Names and types as pages send them.

/// The longest name, in bytes: what file systems allow.
const LONGEST: usize = 255;

/// Why a file cannot have that name. The texts are for the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// Nothing is left of it, or it means a folder.
    #[error("The file needs a name")]
    Empty,
    /// It holds a character that none can print.
    #[error("The file name holds a character that is none")]
    Control,
    /// It is longer than 255 bytes.
    #[error("The file name is too long")]
    TooLong,
}

/// The name of an upload: the last part of the path that a page may have sent.
///
/// # Errors
/// [`BadName`].
pub fn file_name(sent: &str) -> Result<&str, BadName> {
    let name = sent.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if name.chars().any(char::is_control) {
        return Err(BadName::Control);
    }
    if name.len() > LONGEST {
        return Err(BadName::TooLong);
    }
    if matches!(name, "" | "." | "..") { Err(BadName::Empty) } else { Ok(name) }
}

/// The content type of an upload: lower case, without parameters; what cannot be one is any bytes.
#[must_use]
pub fn mime_type(sent: Option<&str>) -> String {
    let mime = sent.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/');
    let is_one = mime.len() <= LONGEST && mime.split_once('/').is_some_and(|(kind, rest)| token(kind) && token(rest));
    if is_one { mime } else { "application/octet-stream".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_part_of_a_path_is_a_name() {
        for (sent, name) in [
            ("a.txt", "a.txt"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\me\\ü b.png", "ü b.png"),
            (" spaced.txt ", "spaced.txt"),
            ("...", "..."),
        ] {
            assert_eq!(file_name(sent), Ok(name));
        }
        for sent in ["", "/", "a/", "..", "a/..", ".", "  "] {
            assert_eq!(file_name(sent), Err(BadName::Empty), "{sent}");
        }
        assert_eq!(file_name("a\0b"), Err(BadName::Control));
        assert_eq!(file_name("a\u{7f}"), Err(BadName::Control));
        assert_eq!(file_name(&"x".repeat(256)), Err(BadName::TooLong));
        assert_eq!(file_name(&"x".repeat(255)).map(str::len), Ok(255));
    }

    #[test]
    fn a_type_is_lower_case_and_has_no_parameters() {
        for (sent, mime) in [
            (Some("Text/Plain; charset=utf-8"), "text/plain"),
            (Some("image/svg+xml"), "image/svg+xml"),
            (Some("text"), "application/octet-stream"),
            (Some("a/b/c"), "application/octet-stream"),
            (Some("text/pl\r\nain"), "application/octet-stream"),
            (None, "application/octet-stream"),
        ] {
            assert_eq!(mime_type(sent), mime);
        }
    }
}
