//! Tokens: by cookie or header, made here or elsewhere.

use std::sync::Arc;

use axum::http::HeaderMap;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rejoinder::auth::Auth;
use rejoinder::clock::Clock;
use rejoinder::store::{OpenOptions, open};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::server::{House, Running, SECRET, open_app, password_app};

/// A token as somebody else would make it with the server's secret.
pub fn signed(claims: &Value) -> String {
    signed_with(claims, SECRET)
}

fn signed_with(claims: &Value, secret: &str) -> String {
    let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
    jsonwebtoken::encode(&jsonwebtoken::Header::default(), claims, &key).unwrap()
}

const LATER: u64 = 4_000_000_000;

#[tokio::test]
async fn a_token_is_taken_by_cookie_and_by_header() {
    let server = Running::start(password_app()).await;
    let token = signed(&json!({"identifier": "anna", "exp": LATER, "aud": "elsewhere", "custom": [1]}));
    let get = || server.visitor().request(Method::GET, "/user");
    let (first, rest) = token.split_at(20);
    for request in [
        get().bearer_auth(&token),
        get().header("authorization", format!("bearer {token}")),
        get().header("cookie", format!("a=b; access_token={token}")),
        get().header("cookie", format!("access_token_1={rest}; access_token_0={first}")),
        get().header("cookie", format!("access_token={token}")).bearer_auth("nonsense"),
    ] {
        assert_eq!(Answer::of(request).await.json()["identifier"], "anna");
    }
}

#[tokio::test]
async fn no_other_token_is_taken() {
    let server = Running::start(password_app()).await;
    let get = || server.visitor().request(Method::GET, "/user");
    let unsigned = {
        let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.", part(json!({"alg": "none"})), part(json!({"identifier": "anna", "exp": LATER})))
    };
    for (token, why) in [
        (signed(&json!({"identifier": "anna", "exp": 1_000_000_000})), "old"),
        (signed(&json!({"identifier": "anna"})), "for ever"),
        (signed(&json!({"exp": LATER})), "nobody"),
        (signed_with(&json!({"identifier": "anna", "exp": LATER}), "guess"), "another secret"),
        (unsigned, "unsigned"),
        ("x".to_owned(), "nonsense"),
    ] {
        for request in [get().bearer_auth(&token), get().header("cookie", format!("access_token={token}"))] {
            let answer = Answer::of(request).await;
            let expected = (StatusCode::UNAUTHORIZED, "Invalid authentication token".to_owned());
            assert_eq!((answer.status, answer.detail()), expected, "{why}");
        }
    }
    let basic = Answer::of(get().basic_auth("anna", Some("pw"))).await;
    assert_eq!(basic.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_from_elsewhere_becomes_a_cookie() {
    let server = Running::start(password_app()).await;
    let visitor = server.visitor();
    let token = signed(&json!({"identifier": "anna", "exp": LATER, "display_name": "Anna A."}));
    let login = Answer::of(visitor.request(Method::POST, "/auth/jwt").bearer_auth(&token)).await;
    assert_eq!(login.json(), json!({"success": true}));
    assert!(!login.cookies()[0].contains(&token), "a new one");
    let user = visitor.get("/user").await.json();
    assert_eq!((&user["identifier"], &user["display_name"]), (&json!("anna"), &json!("Anna A.")));

    let post = || server.visitor().request(Method::POST, "/auth/jwt");
    for (request, detail) in [
        (post(), "Authorization header missing"),
        (post().header("authorization", "Basic x"), "Invalid authentication scheme. Please use Bearer"),
        (post().header("authorization", "Bearer"), "Invalid authorization header format"),
        (post().bearer_auth("x"), "Invalid token"),
    ] {
        let answer = Answer::of(request).await;
        assert_eq!((answer.status, answer.detail().as_str()), (StatusCode::UNAUTHORIZED, detail));
    }
}

#[tokio::test]
async fn every_route_that_needs_a_login_says_so_with_one_voice() {
    let server = Running::start(password_app()).await;
    let visitor = server.visitor();
    let list = json!({"pagination": {"first": 1}, "filter": {}});
    for (method, path, body) in [
        (Method::GET, "/user", json!(null)),
        (Method::GET, "/project/settings?language=en-US&", json!(null)),
        (Method::POST, "/project/threads", list),
        (Method::GET, "/project/thread/t", json!(null)),
        (Method::GET, "/project/thread/t/element/e", json!(null)),
        (Method::GET, "/project/share/t", json!(null)),
        (Method::PUT, "/project/thread", json!({"threadId": "t", "name": "n"})),
        (Method::PUT, "/project/thread/share", json!({"threadId": "t", "isShared": true})),
        (Method::DELETE, "/project/thread", json!({"threadId": "t"})),
        (Method::PUT, "/feedback", json!({})),
        (Method::DELETE, "/feedback", json!({})),
        (Method::POST, "/mcp", json!({})),
    ] {
        let answer = visitor.send(method.clone(), path, body).await;
        let expected = (StatusCode::UNAUTHORIZED, "Invalid authentication token".to_owned());
        assert_eq!((answer.status, answer.detail()), expected, "{method} {path}");
    }
}

#[tokio::test]
async fn without_a_login_nobody_is_anybody() {
    let server = Running::start(open_app()).await;
    let token = signed(&json!({"identifier": "anna", "exp": LATER}));
    let answer = Answer::of(server.visitor().request(Method::GET, "/user").bearer_auth(token)).await;
    assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "null"));
}

#[tokio::test]
async fn an_app_without_a_login_can_ask_for_tokens_all_the_same() {
    let server = House::new().with_page().serve_with(open_app(), |config| config.require_login = true).await;
    let visitor = server.visitor();
    assert_eq!(visitor.get("/auth/config").await.json()["requireLogin"], true);
    assert_eq!(visitor.get("/user").await.status, StatusCode::UNAUTHORIZED);
    let token = signed(&json!({"identifier": "anna", "exp": LATER}));
    let login = Answer::of(visitor.request(Method::POST, "/auth/jwt").bearer_auth(token)).await;
    assert_eq!(login.status, StatusCode::OK);
    assert_eq!(visitor.get("/user").await.json()["identifier"], "anna");
}

#[tokio::test]
async fn the_tokens_word_is_taken_while_the_store_is_away() {
    let house = House::new().file("data/.keep", "");
    let config = house.config();
    let store = open(&config.database_url(), OpenOptions::default()).await.unwrap();
    let auth = Auth::new(&config, &password_app(), Arc::clone(&store), Clock::system()).unwrap();
    store.close().await;
    let token = signed(&json!({"identifier": "anna", "exp": LATER, "metadata": {"role": "user"}}));
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {token}").parse().unwrap());
    let user = auth.authenticate(&headers).await.unwrap().unwrap();
    assert_eq!((user.identifier.as_str(), user.id, &user.metadata["role"]), ("anna", None, &json!("user")));
    // Sockets are let in by cookie only.
    assert!(auth.authenticate_socket(&headers).await.is_err());
    headers.insert("cookie", format!("access_token={token}").parse().unwrap());
    assert!(auth.authenticate_socket(&headers).await.is_ok());
}
