//! What of a request's headers is handed to the session.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE};

/// The language of a page that names none.
const DEFAULT_LANGUAGE: &str = "en-US";

/// All headers that are text, without those that say who somebody is.
pub(super) fn for_hooks(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = headers.iter().filter(|(name, _)| **name != COOKIE && **name != AUTHORIZATION);
    shown.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))).collect()
}

/// The first language in `Accept-Language` (chat-wire 1.5).
pub(super) fn language(headers: &HeaderMap) -> String {
    let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_other = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    accepted.split(is_other).find(|token| !token.is_empty()).unwrap_or(DEFAULT_LANGUAGE).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_language_counts() {
        for (accepted, language) in
            [("fr-CA,fr;q=0.8", "fr-CA"), ("", "en-US"), ("*", "en-US"), (" de ; q=1", "de"), ("*,nl;q=0.5", "nl")]
        {
            let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, accepted.parse().unwrap())]);
            assert_eq!(super::language(&headers), language, "{accepted}");
        }
        assert_eq!(super::language(&HeaderMap::new()), "en-US");
    }

    #[test]
    fn what_says_who_somebody_is_stays_here() {
        let headers = HeaderMap::from_iter([
            (COOKIE, "access_token=secret".parse().unwrap()),
            (AUTHORIZATION, "Bearer secret".parse().unwrap()),
            ("x-tenant".parse().unwrap(), "blue".parse().unwrap()),
        ]);
        assert_eq!(for_hooks(&headers), [("x-tenant".to_owned(), "blue".to_owned())]);
    }
}
