//! What the page must know before it shows anything.

use reqwest::StatusCode;
use serde_json::json;

use crate::support::server::{House, Running, open_app};

#[tokio::test]
async fn settings_of_an_app_without_a_file() {
    let server = Running::start(open_app()).await;
    let settings = server.visitor().get("/project/settings?language=en-US&").await.json();
    insta::assert_json_snapshot!(settings);
}

#[tokio::test]
async fn settings_are_what_the_apps_file_says() {
    let config = r#"
        [project]
        user_env = ["KEY"]
        mask_user_env = true
        [features]
        latex = true
        new_in_a_later_version = 1
        [features.spontaneous_file_upload]
        accept = { "text/csv" = [".csv"] }
        [features.audio]
        enabled = true
        [features.mcp]
        enabled = true
        [[features.mcp.servers]]
        name = "tools"
        type = "stdio"
        command = "secret --token x"
        [UI]
        name = "Mine"
        cot = "tool_call"
        header_links = [{ name = "n", icon_url = "i", url = "u" }]
        [meta]
        generated_by = "2.12.0"
    "#;
    let server = House::new().file(".chainlit/config.toml", config).serve(open_app()).await;
    let answer = server.visitor().get("/project/settings?chat_profile=P%C3%BC%2F1&").await;
    assert!(!answer.text.contains("secret"));
    insta::assert_json_snapshot!(answer.json());
}

#[tokio::test]
async fn the_readme_comes_in_the_pages_language() {
    let house = House::new().file("chainlit.md", "# hello").file("chainlit_fr-FR.md", "# bonjour");
    let server = house.serve(open_app()).await;
    for (language, markdown) in [("en-US", "# hello"), ("fr-FR", "# bonjour"), ("fr", "# hello")] {
        let settings = server.visitor().get(&format!("/project/settings?language={language}")).await.json();
        assert_eq!(settings["markdown"], markdown, "{language}");
    }
    let answer = server.visitor().get("/project/settings?language=../x").await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer.json()["detail"][0]["loc"], json!(["query", "language"]));
}
