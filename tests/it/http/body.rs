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
