//! The cookie that carries a token, in slices where it is long (chat-wire 6.2).

use std::time::Duration;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};

use crate::config::{CookieConfig, SameSite};

/// A longer token is cut: browsers refuse cookies of more than 4 kB, attributes included.
const SLICE: usize = 3000;

/// The token of a request: the plain cookie, else its slices from `_0` up.
pub(super) fn read(headers: &HeaderMap, name: &str) -> Option<String> {
    if let Some(token) = find(headers, name) {
        return Some(token.to_owned());
    }
    let token: String = (0..).map_while(|index: usize| find(headers, &format!("{name}_{index}"))).collect();
    (!token.is_empty()).then_some(token)
}

fn find<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    cookies(headers).find(|(known, value)| *known == name && !value.is_empty()).map(|(_, value)| value)
}

/// `Set-Cookie` headers for `token`, and for the removal of what an earlier one left.
pub(super) fn write(request: &HeaderMap, cookie: &CookieConfig, token: &str, lifetime: Duration) -> Vec<HeaderValue> {
    let age = lifetime.as_secs();
    let set = |name: &str, value: &str| format!("{name}={value}; HttpOnly; Max-Age={age}; {}", place(cookie));
    let mut kept = Vec::new();
    let mut headers = Vec::new();
    if token.len() <= SLICE {
        headers.push(set(&cookie.name, token));
        kept.push(cookie.name.clone());
    } else {
        for (index, slice) in token.as_bytes().chunks(SLICE).enumerate() {
            let name = format!("{}_{index}", cookie.name);
            headers.push(set(&name, &String::from_utf8_lossy(slice)));
            kept.push(name);
        }
    }
    let left = parts(request, &cookie.name).into_iter().filter(|name| !kept.contains(name));
    headers.extend(left.map(|name| removal(&name, cookie)));
    values(headers)
}

/// `Set-Cookie` headers that remove every part of a token from the browser.
pub(super) fn remove(request: &HeaderMap, cookie: &CookieConfig) -> Vec<HeaderValue> {
    let mut names = parts(request, &cookie.name);
    if names.is_empty() {
        names.push(cookie.name.clone());
    }
    values(names.iter().map(|name| removal(name, cookie)).collect())
}

fn removal(name: &str, cookie: &CookieConfig) -> String {
    format!("{name}=\"\"; expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Max-Age=0; {}", place(cookie))
}

fn place(cookie: &CookieConfig) -> String {
    let same_site = match cookie.same_site {
        SameSite::Lax => "lax",
        SameSite::Strict => "strict",
        SameSite::None => "none; Secure",
    };
    format!("Path={}; SameSite={same_site}", cookie.path)
}

/// The names of the request's cookies that hold a token or a slice of one.
fn parts(request: &HeaderMap, name: &str) -> Vec<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let ours = |known: &str| match known.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('_').is_some_and(is_number),
        None => false,
    };
    cookies(request).map(|(known, _)| known).filter(|known| ours(known)).map(str::to_owned).collect()
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    let texts = headers.get_all(COOKIE).into_iter().filter_map(|header| header.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
}

fn values(headers: Vec<String>) -> Vec<HeaderValue> {
    headers.into_iter().filter_map(|header| HeaderValue::try_from(header).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn request(cookies: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookies).unwrap())])
    }

    fn written(request: &HeaderMap, token: &str) -> Vec<String> {
        let headers = write(request, &CookieConfig::default(), token, DAY);
        headers.iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_short_token_is_one_cookie() {
        let expected = ["access_token=abc; HttpOnly; Max-Age=86400; Path=/; SameSite=lax"];
        assert_eq!(written(&HeaderMap::new(), "abc"), expected);
    }

    #[test]
    fn a_long_token_comes_back_whole() {
        let token: String = (0..7000).map(|n| char::from(b'a' + u8::try_from(n % 26).unwrap())).collect();
        let headers = written(&HeaderMap::new(), &token);
        assert_eq!(headers.len(), 3);
        let pairs: Vec<&str> = headers.iter().map(|header| header.split(';').next().unwrap()).collect();
        assert!(pairs[2].starts_with("access_token_2="));
        assert_eq!(read(&request(&pairs.join("; ")), "access_token"), Some(token));
    }

    #[test]
    fn the_plain_cookie_comes_first_and_a_stale_slice_is_left_out() {
        let plain = request("a=b; access_token_0=old; access_token=new");
        assert_eq!(read(&plain, "access_token").as_deref(), Some("new"));
        let gap = request("access_token_0=x; access_token_1=y; access_token_3=z");
        assert_eq!(read(&gap, "access_token").as_deref(), Some("xy"));
        assert_eq!(read(&request("access_token=; other=1"), "access_token"), None);
        assert_eq!(read(&HeaderMap::new(), "access_token"), None);
    }

    #[test]
    fn what_an_earlier_token_left_is_removed_and_nobody_elses() {
        let before = request("access_token_0=x; access_token_1=y; access_token_refresh=z; access_tokens=z");
        let headers = written(&before, "short");
        assert_eq!(headers.len(), 3);
        let removal = "access_token_0=\"\"; expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly; Max-Age=0; Path=/";
        assert!(headers[1].starts_with(removal), "{}", headers[1]);
        assert!(headers[2].starts_with("access_token_1=\"\""));
    }

    #[test]
    fn signing_out_removes_all_parts() {
        let cookie = CookieConfig { same_site: SameSite::None, ..CookieConfig::default() };
        assert_eq!(remove(&request("access_token_0=x; access_token_1=y"), &cookie).len(), 2);
        let plain = remove(&HeaderMap::new(), &cookie);
        assert!(plain[0].to_str().unwrap().ends_with("Path=/; SameSite=none; Secure"));
    }
}
