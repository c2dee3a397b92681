//! The language that a page asks for.

use serde::Deserialize;

use super::ApiError;

/// A tag that fits `xx`, `xxx`, each with up to two parts and a private one: safe as part of a file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Language(String);

/// The query that carries it.
#[derive(Deserialize)]
pub(super) struct InLanguage {
    language: Option<String>,
}

impl InLanguage {
    /// The language asked for, `en-US` without one.
    pub(super) fn language(self) -> Result<Language, ApiError> {
        let text = self.language.unwrap_or_else(|| "en-US".to_owned());
        Language::parse(&text).ok_or_else(|| {
            ApiError::invalid("string_pattern_mismatch", &["query", "language"], "String should be a language tag")
        })
    }
}

impl Language {
    /// Reads a tag.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let word = |part: &str, from: usize, to: usize| {
            (from..=to).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let mut parts: Vec<&str> = text.split('-').collect();
        if let [.., "x", private] = parts[..] {
            if !word(private, 1, 8) {
                return None;
            }
            parts.truncate(parts.len() - 2);
        }
        let valid = match parts[..] {
            [first] => Some(first),
            [first, second] if word(second, 2, 8) => Some(first),
            [first, second, third] if word(second, 2, 4) && word(third, 2, 8) => Some(first),
            _ => None,
        };
        let letters = |part: &str| word(part, 2, 3) && part.bytes().all(|byte| byte.is_ascii_alphabetic());
        valid.is_some_and(letters).then(|| Self(text.to_owned()))
    }

    /// The whole tag: `fr-CA`.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The language without a region: `fr`.
    pub(super) fn bare(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        for text in
            ["en", "en-US", "ar-SA", "zh-Hans-CN", "de-1996", "fra-FR", "en-x-pirate", "zh-Hans-CN-x-a1", "en-Cyrillic"]
        {
            assert!(Language::parse(text).is_some(), "{text}");
        }
        for text in [
            "",
            "e",
            "engl",
            "en-",
            "en_US",
            "en-U",
            "en-abcdefghi",
            "en-US-x",
            "en-x-toolongpart",
            "en-x-",
            "../en",
            "en/US",
            "12",
            "en-US-GB-DE",
            "en-Cyrillic-RU",
            "x-y",
            "en\0",
            "日本",
        ] {
            assert!(Language::parse(text).is_none(), "{text}");
        }
    }
}
