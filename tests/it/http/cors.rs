//! Which other sites' pages may use the server.

use reqwest::{Method, StatusCode};

use crate::support::http::Answer;
use crate::support::raw::Raw;
use crate::support::server::{House, Running, open_app};

/// A server that lets pages of one other site in.
async fn choosy() -> Running {
    let origins = |config: &mut rejoinder::Config| config.allow_origins = vec!["https://ours.example/".to_owned()];
    House::new().with_page().serve_with(open_app(), origins).await
}

#[tokio::test]
async fn an_origin_that_may_is_echoed_and_another_is_not() {
    let any = Running::start(open_app()).await;
    let these = choosy().await;
    for (server, origin, echoed) in [
        (&any, "https://anywhere.example", true),
        (&any, "null", true),
        (&these, "https://ours.example", true),
        (&these, "https://theirs.example", false),
        (&these, "http://ours.example", false),
        (&these, "https://ours.example.theirs.example", false),
    ] {
        // Errors, files, the page and the sockets' polling are for pages of others as well.
        for path in
            ["/health", "/nothing/here", "/public/none", "/user", "/ws/socket.io/?EIO=4&transport=polling&sid=x"]
        {
            let answer = Answer::of(server.visitor().request(Method::GET, path).header("origin", origin)).await;
            let expected = if echoed { origin } else { "" };
            assert_eq!(answer.header("access-control-allow-origin"), expected, "{path} {origin}");
            assert_eq!(answer.header("access-control-allow-credentials"), "true", "{path}");
            let varies = answer.headers.get_all("vary").iter().any(|value| value.to_str().unwrap().contains("origin"));
            assert!(varies, "{path}");
        }
    }
    let plain = any.visitor().get("/health").await;
    assert_eq!(plain.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_preflight_is_answered() {
    let server = choosy().await;
    for (origin, echoed) in [("https://ours.example", "https://ours.example"), ("https://theirs.example", "")] {
        let request = server
            .visitor()
            .request(Method::OPTIONS, "/project/thread")
            .header("origin", origin)
            .header("access-control-request-method", "DELETE")
            .header("access-control-request-headers", "content-type,x-custom");
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.header("access-control-allow-origin"), echoed);
        assert_eq!(answer.header("access-control-allow-headers"), "content-type,x-custom");
        assert_eq!(answer.header("access-control-max-age"), "600");
        for method in ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] {
            assert!(answer.header("access-control-allow-methods").contains(method), "{method}");
        }
    }
}

#[tokio::test]
async fn a_socket_of_another_site_is_not_opened() {
    let server = choosy().await;
    let url = format!("ws://{}/ws/socket.io/?EIO=4&transport=websocket", server.addr);
    let own = format!("http://{}", server.addr);
    for (origin, opens) in [("https://ours.example", true), (own.as_str(), true), ("https://theirs.example", false)] {
        assert_eq!(Raw::open_at(&url, &[("origin", origin)]).await.is_ok(), opens, "{origin}");
    }
}
