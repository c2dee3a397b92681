//! Files of the app and the page, and the ways around them.

use std::os::unix::fs::symlink;

use reqwest::{Method, StatusCode};

use crate::support::http::Answer;
use crate::support::server::{House, Running, open_app};

/// A server with files that may be read, and one beside them that may not.
async fn with_files() -> Running {
    let house = House::new()
        .with_page()
        .file("secret.txt", "secret")
        .file("data/frontend/app/secret.txt", "secret")
        .file("public/hello.txt", "hello")
        .file("public/a b/ü.css", "body{}")
        .file("public/script.js", "1")
        .file("public/elements/Card.jsx", "export default 1")
        .file("public/picture.png", b"\x89PNG\x00\xff")
        .file("public/theme.json", "{}")
        .file("public/noending", "x")
        .file("public/avatars/my_bot.png", "bot")
        .file("public/avatars/assistant.png", "assistant")
        .file("public/empty/.keep", "");
    symlink(house.app().join("secret.txt"), house.app().join("public/link.txt")).unwrap();
    symlink(house.app(), house.app().join("public/out")).unwrap();
    symlink("hello.txt", house.app().join("public/inside.txt")).unwrap();
    house.serve(open_app()).await
}

#[tokio::test]
async fn files_have_their_types() {
    let server = with_files().await;
    for (path, content_type, body) in [
        ("/public/hello.txt", "text/plain; charset=utf-8", "hello"),
        ("/public/inside.txt", "text/plain; charset=utf-8", "hello"),
        ("/public/a%20b/%C3%BC.css", "text/css; charset=utf-8", "body{}"),
        ("/public/script.js", "application/javascript; charset=utf-8", "1"),
        ("/public/elements/Card.jsx", "text/plain; charset=utf-8", "export default 1"),
        ("/public/theme.json", "application/json", "{}"),
        ("/public/noending", "application/octet-stream", "x"),
        ("/assets/index.js", "application/javascript; charset=utf-8", "console.log('é')"),
        ("/assets/worker.mjs", "application/javascript; charset=utf-8", "1"),
        ("/copilot/index.js", "application/javascript; charset=utf-8", "copilot"),
        ("/favicon", "image/svg+xml", "<svg>page</svg>"),
        ("/logo?theme=light&", "image/svg+xml", "<svg>light</svg>"),
        ("/avatars/My%20Bot", "image/png", "bot"),
        ("/avatars/my.bot", "image/png", "bot"),
        ("/avatars/default", "image/png", "assistant"),
        ("/avatars/unknown", "image/svg+xml", "<svg>page</svg>"),
    ] {
        let answer = server.visitor().get(path).await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, body), "{path}");
        assert_eq!(answer.header("content-type"), content_type, "{path}");
        assert_eq!(answer.header("accept-ranges"), "bytes", "{path}");
        assert!(!answer.header("etag").is_empty() && !answer.header("last-modified").is_empty(), "{path}");
        assert_eq!(answer.header("cache-control"), "", "{path}");
    }
    let png = server.visitor().request(Method::GET, "/public/picture.png").send().await.unwrap();
    assert_eq!(png.bytes().await.unwrap().as_ref(), b"\x89PNG\x00\xff");
}

#[tokio::test]
async fn files_are_read_in_ranges_and_only_when_they_changed() {
    let server = with_files().await;
    let get = || server.visitor().request(Method::GET, "/public/hello.txt");
    let part = Answer::of(get().header("range", "bytes=1-3")).await;
    assert_eq!((part.status, part.text.as_str()), (StatusCode::PARTIAL_CONTENT, "ell"));
    assert_eq!(part.header("content-range"), "bytes 1-3/5");
    assert_eq!(Answer::of(get().header("range", "bytes=9-")).await.status, StatusCode::RANGE_NOT_SATISFIABLE);
    let etag = Answer::of(get()).await.header("etag").to_owned();
    assert_eq!(Answer::of(get().header("if-none-match", etag)).await.status, StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn nothing_outside_of_a_folder_is_read() {
    let server = with_files().await;
    for base in ["/public", "/assets", "/copilot"] {
        for (way, statuses) in [
            ("../secret.txt", &[400][..]),
            ("%2e%2e/secret.txt", &[400]),
            ("%2e%2e%2fsecret.txt", &[400]),
            ("..%2fsecret.txt", &[400]),
            ("..%5csecret.txt", &[400]),
            ("..\\secret.txt", &[400]),
            ("a/../../secret.txt", &[400]),
            ("a/%2e%2e/%2e%2e/secret.txt", &[400]),
            ("%252e%252e/secret.txt", &[404]),
            ("%252e%252e%252fsecret.txt", &[404]),
            ("....//secret.txt", &[404]),
            ("/etc/passwd", &[400]),
            ("%2fetc/passwd", &[400]),
            ("//etc/passwd", &[400]),
            ("./hello.txt", &[400]),
            ("hello.txt%00.png", &[400]),
            ("%00", &[400]),
            ("%ff", &[400]),
            ("%c0%ae%c0%ae/secret.txt", &[400]),
            ("none.txt", &[404]),
            (&"x".repeat(300), &[404]),
            (&"x/".repeat(3000), &[404]),
        ] {
            let (status, body) = server.raw(&format!("GET {base}/{way} HTTP/1.1")).await;
            assert!(statuses.contains(&status), "{base}/{way}: {status} {body}");
            assert!(!body.contains("secret") && !body.contains("root:"), "{base}/{way}: {body}");
            assert!(body.starts_with("{\"detail\":\""), "{base}/{way}: {body}");
        }
    }
    for (path, status) in [
        ("/public/link.txt", 400),
        ("/public/out/secret.txt", 400),
        ("/public/out/data/rejoinder.db", 400),
        ("/public/empty", 404),
        ("/public/hello.txt/", 404),
        ("/public/hello.txt/x", 404),
        ("/assets/secret.txt", 404),
    ] {
        let (got, body) = server.raw(&format!("GET {path} HTTP/1.1")).await;
        assert_eq!(got, status, "{path}: {body}");
        assert!(!body.contains("secret"), "{path}");
    }
}

#[tokio::test]
async fn pictures_are_asked_for_by_plain_names() {
    let server = with_files().await;
    for (path, status) in [
        ("/avatars/..", 200),
        ("/avatars/%2e%2e", 200),
        ("/avatars/%2e%2e%2fsecret", 400),
        ("/avatars/a%2fb", 400),
        ("/avatars/%00", 400),
        ("/avatars/%ff", 400),
        ("/avatars/b%C3%B6t", 400),
        ("/avatars/a*", 400),
        ("/logo", 200),
        ("/logo?theme=blue", 422),
        ("/logo?theme=../secret", 422),
        ("/logo?theme=dark", 404),
    ] {
        let (got, body) = server.raw(&format!("GET {path} HTTP/1.1")).await;
        assert_eq!(got, status, "{path}: {body}");
        assert!(!body.contains("secret"), "{path}");
    }
}

#[tokio::test]
async fn the_apps_own_pictures_come_first() {
    let house = House::new().with_page().file("public/favicon.ico", "own").file("public/logo_light.png", "own");
    let server = house.serve(open_app()).await;
    for path in ["/favicon", "/logo?theme=light", "/avatars/anybody"] {
        assert_eq!(server.visitor().get(path).await.text, "own", "{path}");
    }
}

#[tokio::test]
async fn without_a_page_there_are_no_files_of_it() {
    let server = House::new().serve(open_app()).await;
    for path in ["/assets/index.js", "/copilot/index.js", "/favicon", "/logo?theme=light", "/avatars/a", "/public/a"] {
        let answer = server.visitor().get(path).await;
        assert_eq!((answer.status, answer.detail().as_str()), (StatusCode::NOT_FOUND, "File not found"), "{path}");
    }
}
