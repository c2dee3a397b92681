//! Whoever sits at the machine itself: the only one that a demo signs in without a question.

use std::net::{IpAddr, SocketAddr};

/// Headers that a proxy adds. With one of them a request comes from somewhere else, whatever it says.
const FORWARDED: [&str; 10] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
    "x-client-ip",
    "cf-connecting-ip",
    "true-client-ip",
];

/// Whether a request was made on this machine, by a page of this machine: the server listens on loopback only, no
/// proxy stands in between, and `Host` and `Origin` name loopback (a page elsewhere whose name was made to resolve to
/// 127.0.0.1 says its own name there). Names of `headers` are in lower case.
#[must_use]
pub fn local_visitor(headers: &[(String, String)], listen: SocketAddr) -> bool {
    let all = |name: &'static str| {
        let found = headers.iter().filter(move |(known, _)| known == name);
        found.map(|(_, value)| value.trim())
    };
    let forwarded = headers.iter().any(|(name, _)| FORWARDED.contains(&name.as_str()));
    let hosts: Vec<&str> = all("host").collect();
    listen.ip().is_loopback()
        && !forwarded
        && matches!(hosts[..], [host] if is_loopback(host))
        && all("origin").all(|origin| origin.split_once("://").is_some_and(|(_, host)| is_loopback(host)))
        && all("sec-fetch-site").all(|site| matches!(site, "same-origin" | "none"))
}

/// Whether `host`, with a port or without, is a loopback address or `localhost`.
pub(crate) fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or(("", "")),
        None => host.find(':').map_or((host, ""), |colon| host.split_at(colon)),
    };
    let port_is_one = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    port_is_one && (name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(headers: &[(&str, &str)]) -> bool {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        local_visitor(&headers, "127.0.0.1:8000".parse().unwrap())
    }

    #[test]
    fn somebody_at_the_machine() {
        for host in
            ["localhost", "localhost:8000", "LOCALHOST:8000", "127.0.0.1:8000", "127.0.0.2", "[::1]:80", "[::1]"]
        {
            assert!(visitor(&[("host", host)]), "{host}");
        }
        let page = [("host", "localhost:80"), ("origin", "http://localhost:80"), ("sec-fetch-site", "same-origin")];
        assert!(visitor(&page));
    }

    #[test]
    fn somebody_else() {
        for host in [
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "127.0.0.1:80:80",
            "localhost:x",
            "192.168.0.1:8000",
            "0.0.0.0",
            "[::2]",
            "[::1",
            "[::1]x",
            "",
            "user@localhost",
            "2130706433",
        ] {
            assert!(!visitor(&[("host", host)]), "{host}");
        }
        for headers in [
            &[][..],
            &[("host", "localhost"), ("host", "example.com")],
            &[("host", "localhost"), ("x-forwarded-for", "127.0.0.1")],
            &[("host", "localhost"), ("forwarded", "for=127.0.0.1")],
            &[("host", "localhost"), ("via", "1.1 proxy")],
            &[("host", "localhost"), ("origin", "https://example.com")],
            &[("host", "localhost"), ("origin", "null")],
            &[("host", "localhost"), ("sec-fetch-site", "cross-site")],
        ] {
            assert!(!visitor(headers), "{headers:?}");
        }
    }

    #[test]
    fn nobody_is_local_to_a_server_of_the_network() {
        let headers = [("host".to_owned(), "localhost".to_owned())];
        for listen in ["0.0.0.0:8000", "[::]:8000", "192.168.0.1:8000"] {
            assert!(!local_visitor(&headers, listen.parse().unwrap()), "{listen}");
        }
    }
}
