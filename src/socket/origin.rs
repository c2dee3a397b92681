//! Which pages may connect. CORS does not cover websockets: without this, any site could use a visitor's cookie.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

/// Which pages may connect. Requests without an `Origin` are no browser's and always pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// All of them.
    #[default]
    Any,
    /// Those from here, `https://chat.example.org`, and those of the server's own address.
    List(Vec<String>),
}

impl Origins {
    /// Whether a request with these headers may open or use a transport.
    #[must_use]
    pub fn allow(&self, headers: &HeaderMap) -> bool {
        let (Self::List(list), Some(origin)) = (self, headers.get(ORIGIN)) else {
            return true;
        };
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        let is_own = |name: &str| {
            let host = headers.get(name).and_then(|host| host.to_str().ok());
            let own = origin.split_once("://").map(|(_, authority)| authority);
            host.is_some() && host == own
        };
        // A site cannot make a browser send X-Forwarded-Host without being asked first, and for websockets not at all.
        list.iter().any(|allowed| allowed == "*" || allowed.trim_end_matches('/').eq_ignore_ascii_case(origin))
            || is_own(HOST.as_str())
            || is_own("x-forwarded-host")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_listed_and_own_origins_pass() {
        let list = Origins::List(vec!["https://chat.example.org/".into()]);
        for (pairs, passes) in [
            (&[("origin", "https://chat.example.org")][..], true),
            (&[("origin", "https://evil.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", "http://localhost:8000"), ("host", "localhost:8000")], true),
            (&[("origin", "http://localhost:8000"), ("host", "localhost:9000")], false),
            (&[("origin", "https://h.example"), ("host", "10.0.0.1"), ("x-forwarded-host", "h.example")], true),
            (&[("host", "localhost:8000")], true),
        ] {
            assert_eq!(list.allow(&headers(pairs)), passes, "{pairs:?}");
            assert!(Origins::Any.allow(&headers(pairs)));
        }
    }
}
