//! The page.

use reqwest::{Method, StatusCode};

use crate::support::http::Answer;
use crate::support::server::{House, Running, open_app};

#[tokio::test]
async fn every_other_place_is_the_page() {
    let server = Running::start(open_app()).await;
    for path in [
        "/",
        "/thread/1",
        "/login",
        "/login/callback?success=True",
        "/share/x",
        "/element/a%20b",
        "/project/threads",
        "/docs",
    ] {
        let answer = server.visitor().get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{path}");
        assert!(answer.text.contains("<title>Assistant</title>"), "{path}");
    }
}

#[tokio::test]
async fn other_methods_elsewhere_are_not_allowed() {
    let server = Running::start(open_app()).await;
    for (method, path) in
        [(Method::POST, "/thread/1"), (Method::DELETE, "/"), (Method::PUT, "/user"), (Method::PATCH, "/login")]
    {
        let answer = Answer::of(server.visitor().request(method.clone(), path)).await;
        let expected = (StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed".to_owned());
        assert_eq!((answer.status, answer.detail()), expected, "{method} {path}");
    }
}

#[tokio::test]
async fn a_head_of_the_root_is_for_monitors() {
    let server = House::new().serve(open_app()).await;
    let answer = Answer::of(server.visitor().request(Method::HEAD, "/")).await;
    assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, "application/json"));
    assert_eq!(answer.text, "");
}

#[tokio::test]
async fn without_a_page_one_learns_how_to_get_it() {
    let server = House::new().serve(open_app()).await;
    let answer = server.visitor().get("/").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.text.contains("rejoinder frontend fetch"), "{}", answer.text);
    assert_eq!(server.visitor().get("/health").await.status, StatusCode::OK);
}

#[tokio::test]
async fn everything_lies_below_the_root_path() {
    let root = |config: &mut rejoinder::Config| config.root_path = "/some/base/".parse().unwrap();
    let server = House::new().with_page().file("public/a.txt", "a").serve_with(open_app(), root).await;
    for path in ["", "/", "/thread/1"] {
        let page = server.visitor().get(path).await.text;
        assert!(
            page.contains(r#"content="/some/base""#) && page.contains(r#"src="/some/base/assets/index.js""#),
            "{page}"
        );
    }
    for path in ["/health", "/user", "/assets/index.js", "/public/a.txt", "/ws/socket.io/?EIO=4&transport=polling"] {
        assert_eq!(server.visitor().get(path).await.status, StatusCode::OK, "{path}");
    }
    assert_eq!(server.visitor().get("//ws/socket.io/?EIO=4&transport=polling").await.status, StatusCode::OK);
    for path in ["/", "/user", "/some", "/some/based", "/ws/socket.io/?EIO=4&transport=polling", "/assets/index.js"] {
        let (status, body) = server.raw(&format!("GET {path} HTTP/1.1")).await;
        assert_eq!((status, body.as_str()), (404, r#"{"detail":"Not Found"}"#), "{path}");
    }
}

#[tokio::test]
async fn the_apps_look_is_put_in() {
    let config = "[UI]\nname = \"My <Bot>\"\ncustom_css = \"/public/a.css\"\n[project]\ntransports = [\"websocket\"]\n";
    let theme = r#"{"variables": {"light": {"--a": "</script>"}}}"#;
    let house = House::new().file(".chainlit/config.toml", config).file("public/theme.json", theme).with_page();
    let page = house.serve(open_app()).await.visitor().get("/").await.text;
    assert!(page.contains("<title>My &lt;Bot&gt;</title>"), "{page}");
    assert!(page.contains(r#"window.theme = {"light":{"--a":"\u003c/script>"}};"#), "{page}");
    assert!(page.contains(r#"window.transports = ["websocket"];"#), "{page}");
}

#[tokio::test]
async fn long_answers_are_compressed_and_short_ones_and_sockets_are_not() {
    let server = House::new()
        .with_page()
        .file("public/long.txt", "x".repeat(500))
        .file("public/short.txt", "x")
        .serve(open_app())
        .await;
    for (path, encoding) in [
        ("/public/long.txt", "gzip"),
        ("/public/short.txt", ""),
        ("/project/settings", "gzip"),
        ("/health", ""),
        ("/ws/socket.io/?EIO=4&transport=polling", ""),
    ] {
        let request = server.visitor().request(Method::GET, path).header("accept-encoding", "gzip");
        let response = request.send().await.unwrap();
        let found = response.headers().get("content-encoding").map_or("", |value| value.to_str().unwrap());
        assert_eq!(found, encoding, "{path}");
    }
}
