//! The page's texts.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::server::{House, Running, open_app};

async fn hello(server: &Running, language: &str) -> serde_json::Value {
    let answer = server.visitor().get(&format!("/project/translations?language={language}&")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()["translation"]["hello"].clone()
}

#[tokio::test]
async fn the_nearest_language_is_found_beside_the_app_first() {
    let house = House::new()
        .with_page()
        .file(".chainlit/translations/de.json", r#"{"hello": "hallo"}"#)
        .file(".chainlit/translations/en-US.json", r#"{"hello": "howdy"}"#)
        .file(".chainlit/translations/it.json", "broken")
        .file(".chainlit/translations/pt-PT.json", "[]");
    let server = house.serve(open_app()).await;
    for (language, text) in [
        ("en-US", "howdy"),
        ("de", "hallo"),
        ("de-AT", "hallo"),
        ("fr-FR", "bonjour"),
        ("fr", "bonjour"),
        ("fr-CA", "howdy"),
        ("it", "howdy"),
        ("pt-PT", "howdy"),
        ("tlh", "howdy"),
    ] {
        assert_eq!(hello(&server, language).await, text, "{language}");
    }
    let without = server.visitor().get("/project/translations").await.json();
    assert_eq!(without["translation"]["hello"], "howdy");
}

#[tokio::test]
async fn a_language_that_was_set_is_everybodys() {
    let house = House::new().with_page().file(".chainlit/config.toml", "[UI]\nlanguage = \"fr-FR\"\n");
    assert_eq!(hello(&house.serve(open_app()).await, "en-US").await, "bonjour");
}

#[tokio::test]
async fn without_any_texts_there_is_still_an_answer() {
    let server = House::new().serve(open_app()).await;
    let answer = server.visitor().get("/project/translations?language=en-US").await;
    assert_eq!(answer.json(), json!({"translation": {}}));
}

#[tokio::test]
async fn what_is_no_language_is_refused() {
    let server = Running::start(open_app()).await;
    for language in ["..%2f..%2fsecret", "en_US", "", "en-US%00", "%F0%9F%9A%80", "e"] {
        let answer = server.visitor().get(&format!("/project/translations?language={language}")).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{language}");
    }
}
