//! Bodies and queries as loose clients send them, and as nobody should.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::support::http::Answer;
use crate::support::server::{Running, open_app, password_app};

#[tokio::test]
async fn queries_may_dangle_and_repeat_what_nobody_asked() {
    let server = Running::start(open_app()).await;
    for query in
        ["?language=en-US&", "?", "?&", "?&&language=en-US&&", "?language=en-US&x", "?x=%ff&language=en-US", ""]
    {
        for path in ["/project/settings", "/project/translations"] {
            let answer = server.visitor().get(&format!("{path}{query}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}{query}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn json_is_read_whatever_it_is_called() {
    let server = Running::start(open_app()).await;
    for content_type in ["application/json", "text/plain", "application/x-www-form-urlencoded", ""] {
        let request = server.visitor().request(Method::POST, "/set-session-cookie");
        let request = request.header("content-type", content_type).body(r#"{"session_id":"s"}"#);
        assert_eq!(Answer::of(request).await.status, StatusCode::OK, "{content_type}");
    }
    let get = server.visitor().request(Method::GET, "/user").header("content-type", "application/json");
    assert_eq!(Answer::of(get).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_is_no_json_is_named() {
    let server = Running::start(open_app()).await;
    for body in ["", "{", "null", "[1", "\u{feff}{}", "{\"session_id\": \"a\"} x"] {
        let request = server.visitor().request(Method::POST, "/set-session-cookie").body(body);
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        assert_eq!(answer.json()["detail"][0]["loc"], json!(["body"]));
    }
    let invalid = server.visitor().request(Method::POST, "/set-session-cookie").body(vec![b'"', 0xff, b'"']);
    assert_eq!(Answer::of(invalid).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    let deep = "[".repeat(100_000);
    let request = server.visitor().request(Method::POST, "/set-session-cookie").body(deep);
    assert_eq!(Answer::of(request).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_body_of_more_than_a_mebibyte_is_refused() {
    let server = Running::start(password_app()).await;
    let anna = server.person("anna").await;
    for path in ["/project/threads", "/set-session-cookie"] {
        let request = anna.request(Method::POST, path).body("x".repeat((1 << 20) + 1));
        let answer = Answer::of(request).await;
        assert_eq!(
            (answer.status, answer.detail().as_str()),
            (StatusCode::PAYLOAD_TOO_LARGE, "Request body too large")
        );
    }
    let long = "x".repeat((1 << 20) + 1);
    let answer = server.visitor().login("anna", &long).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
}

/// Every route that takes JSON: what is nested too deep, what is packed, what calls itself something else, what is none.
#[tokio::test]
async fn no_body_is_the_servers_fault() {
    let server = Running::start(password_app()).await;
    let anna = server.person("anna").await;
    let packed = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0];
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
    for (method, path) in [
        (Method::PUT, "/feedback"),
        (Method::DELETE, "/feedback"),
        (Method::PUT, "/project/thread"),
        (Method::DELETE, "/project/thread"),
        (Method::PUT, "/project/thread/share"),
        (Method::POST, "/project/threads"),
        (Method::POST, "/set-session-cookie"),
        (Method::POST, "/project/action"),
        (Method::PUT, "/project/element"),
        (Method::DELETE, "/project/element"),
    ] {
        for (what, body) in [
            ("lists in lists", deep("[", "]").into_bytes()),
            ("objects in objects", deep("{\"a\":", "}").into_bytes()),
            ("a number too large", b"{\"feedback\":{\"forId\":\"a\",\"value\":1e999}}".to_vec()),
            ("half a surrogate", br#"{"threadId":"\ud800","feedbackId":"\ud800","session_id":"\ud800"}"#.to_vec()),
            ("bytes that are no text", vec![b'{', 0xff, 0xfe, b'}']),
            ("nothing", Vec::new()),
        ] {
            let request = anna.request(method.clone(), path).header("content-type", "text/xml").body(body);
            let answer = Answer::of(request).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{method} {path}: {what}: {}", answer.text);
            assert!(answer.json()["detail"].is_array(), "{method} {path}: {what}");
        }
        // Nothing is unpacked, so nothing can grow.
        let request = anna.request(method.clone(), path).header("content-encoding", "gzip").body(packed.to_vec());
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{method} {path}: gzip: {}", answer.text);
        let large = format!("{{\"threadId\":\"{}\"}}", "x".repeat(1 << 20));
        let answer = Answer::of(anna.request(method.clone(), path).body(large)).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE, "{method} {path}");
    }
}
