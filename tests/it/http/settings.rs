//! What the page must know before it shows anything.

use rejoinder::hook::{HookError, Language, PasswordLogin, ProfileName};
use rejoinder::protocol::{ChatProfile, Starter, StarterCategory, User};
use rejoinder::{App, Chat};
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

async fn nobody(_: Chat) {}

fn chat() -> rejoinder::AppBuilder {
    App::new().on_message(nobody)
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

/// Names of other alphabets and with signs: they come in a query.
const NAMED: &str = "Ü & 100%/+1";

async fn profiles(user: Option<User>, Language(language): Language) -> Vec<ChatProfile> {
    let name = user.map(|user| user.identifier).unwrap_or_default();
    vec![
        ChatProfile::new("plain", format!("for {name} in {language}")).by_default(),
        ChatProfile::new(NAMED, "").starter(Starter::new("Go", "go")).config_overrides(json!({
            "ui": {"name": "Another", "cot": "hidden"},
            "features": {"audio": {"enabled": true}, "spontaneous_file_upload": {"max_files": 3}},
            "project": {"user_env": ["KEY"]},
        })),
        ChatProfile::new("wrong", "").config_overrides(json!({"ui": {"name": "Wrong", "cot": "some"}})),
    ]
}

async fn starters() -> Vec<Starter> {
    vec![Starter::new("Begin", "hello").icon("/public/a.svg")]
}

async fn categories(ProfileName(profile): ProfileName) -> Vec<StarterCategory> {
    vec![StarterCategory::new(profile.unwrap_or("none".into())).starter(Starter::new("a", "b").command("Search"))]
}

#[tokio::test]
async fn a_page_learns_what_there_is_to_choose() {
    let app = chat().on_password_login(sign_in).set_chat_profiles(profiles).set_starters(starters);
    let server = House::new().serve(app.set_starter_categories(categories).build().unwrap()).await;
    let anna = server.person("anna").await;
    let settings = anna.get("/project/settings?language=de-DE&chat_profile=plain&").await.json();
    insta::assert_json_snapshot!(json!([
        settings["chatProfiles"],
        settings["starters"],
        settings["starterCategories"]
    ]));
}

#[tokio::test]
async fn settings_are_those_of_the_chosen_profile() {
    let server = House::new().serve(chat().set_chat_profiles(profiles).build().unwrap()).await;
    let visitor = server.visitor();
    let of = async |profile: &str| visitor.get(&format!("/project/settings?chat_profile={profile}&")).await.json();
    let base = of("").await;
    let once = of("%C3%9C%20%26%20100%25%2F%2B1").await;
    assert_eq!((&once["ui"]["name"], &once["ui"]["cot"]), (&json!("Another"), &json!("hidden")));
    assert_eq!(once["features"]["audio"], json!({"enabled": true, "sample_rate": 24_000}));
    assert_eq!(once["features"]["spontaneous_file_upload"]["max_files"], 3);
    assert_eq!(once["features"]["spontaneous_file_upload"]["max_size_mb"], 500);
    assert_eq!(once["userEnv"], json!(["KEY"]));
    assert_eq!(once["ui"]["default_theme"], base["ui"]["default_theme"]);
    assert_eq!(of("%25C3%259C%2520%2526%2520100%2525%252F%252B1").await, once, "encoded twice");
    for profile in ["plain", "wrong", "unknown", "%25", "%00", "%FF"] {
        assert_eq!(of(profile).await, base, "{profile}");
    }
    assert!(!once.to_string().contains("overrides"), "what changes them stays on the server");
}

async fn fails() -> rejoinder::Result<Vec<ChatProfile>> {
    Err(HookError::tell("the table of profiles is on fire"))
}

async fn panics() -> Vec<Starter> {
    panic!("no starters")
}

/// Longer than a page waits.
async fn blocks() -> Vec<StarterCategory> {
    std::thread::sleep(std::time::Duration::from_secs(8));
    vec![StarterCategory::new("too late")]
}

/// These hooks run on threads of their own, and for a bounded time.
#[tokio::test]
async fn hooks_that_fail_or_block_leave_nothing_to_choose_and_hold_nobody_up() {
    let app = chat().set_chat_profiles(fails).set_starters(panics).set_starter_categories(blocks);
    let server = House::new().serve(app.build().unwrap()).await;
    let visitor = server.visitor();
    let (settings, ()) = tokio::join!(visitor.get("/project/settings?chat_profile=x"), async {
        for _ in 0..20 {
            assert_eq!(visitor.get("/health").await.status, StatusCode::OK);
        }
    });
    assert_eq!(settings.status, StatusCode::OK);
    assert!(!settings.text.contains("fire"));
    let settings = settings.json();
    for list in ["chatProfiles", "starters", "starterCategories"] {
        assert_eq!(settings[list], json!([]), "{list}");
    }
}

/// Every key of chat-wire 7.1 to 7.3, each with another value than its default.
const WHOLE: &str = r#"
[meta]
generated_by = "2.12.0"
[project]
allow_origins = ["https://host.example"]
transports = ["websocket"]
user_env = ["KEY"]
session_timeout = 60
user_session_timeout = 120
persist_user_env = true
mask_user_env = true
cache = true
[features]
latex = true
unsafe_allow_html = true
user_message_markdown = false
user_message_autoscroll = false
assistant_message_autoscroll = false
auto_tag_thread = false
edit_message = false
allow_thread_sharing = true
favorites = true
[features.spontaneous_file_upload]
enabled = false
accept = ["image/*"]
max_files = 2
max_size_mb = 3
[features.audio]
enabled = true
sample_rate = 16000
[features.slack]
reaction_on_message_received = true
[features.mcp]
enabled = false
[UI]
name = "Whole"
description = "all of it"
cot = "tool_call"
default_theme = "light"
language = "fr-FR"
layout = "wide"
default_sidebar_state = "closed"
chat_settings_location = "sidebar"
default_chat_settings_open = true
confirm_new_chat = false
github = "https://host.example/repository"
custom_css = "/public/a.css"
custom_css_attributes = "media=\"print\""
custom_js = "/public/a.js"
custom_js_attributes = "async"
alert_style = "modern"
login_page_image = "/public/login.jpg"
login_page_image_filter = "brightness-50"
login_page_image_dark_filter = "contrast-200"
custom_meta_url = "https://host.example/"
custom_meta_image_url = "https://host.example/a.png"
logo_file_url = "https://host.example/logo.png"
default_avatar_file_url = "https://host.example/avatar.png"
avatar_size = 32
custom_build = "data/frontend/app"
[[UI.header_links]]
name = "Help"
display_name = "Get help"
icon_url = "/public/help.png"
url = "https://host.example/help"
target = "_self"
"#;

#[tokio::test]
async fn every_key_of_the_file_is_in_force() {
    let house = House::new().file(".chainlit/config.toml", WHOLE).with_page();
    let config = house.config();
    assert_eq!((config.session_timeout.as_secs(), config.user_session_timeout.as_secs()), (60, 120));
    assert!(config.persist_user_env);
    let root = |config: &mut rejoinder::Config| config.root_path = "/base".parse().unwrap();
    let server = house.serve_with(open_app(), root).await;
    let visitor = server.visitor();
    insta::assert_json_snapshot!(visitor.get("/project/settings").await.json());
    let auth = visitor.get("/auth/config").await.json();
    assert_eq!(auth["default_theme"], "light");
    assert_eq!(
        auth["ui"],
        json!({
            "login_page_image": "/public/login.jpg", "login_page_image_filter": "brightness-50",
            "login_page_image_dark_filter": "contrast-200",
        })
    );
    let page = visitor.get("/").await.text;
    for part in [
        "<title>Whole</title>",
        r#"content="all of it""#,
        r#"content="https://host.example/a.png""#,
        r#"content="https://host.example/""#,
        r#"content="/base""#,
        r#"window.transports = ["websocket"];"#,
        r#"<script src="/base/public/a.js" async></script>"#,
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let origin = async |origin: &'static str| {
        let request = server.visitor().request(reqwest::Method::GET, "/health").header("origin", origin);
        let answer = crate::support::http::Answer::of(request).await;
        answer.header("access-control-allow-origin").to_owned()
    };
    assert_eq!(origin("https://host.example").await, "https://host.example");
    assert_eq!(origin("https://other.example").await, "");
    let texts = visitor.get("/project/translations?language=en-US").await.json();
    assert_eq!(texts["translation"]["hello"], "bonjour", "the language of the file");
}
