//! Signing in and out.

use rejoinder::hook::{HookError, PasswordLogin};
use rejoinder::protocol::User;
use rejoinder::{App, Chat};
use reqwest::multipart::Form;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::server::{House, Running, header_app, open_app, password_app};

#[tokio::test]
async fn the_page_learns_how_one_signs_in() {
    for (app, expected) in [
        (open_app(), json!([false, false, false])),
        (password_app(), json!([true, true, false])),
        (header_app(), json!([true, false, true])),
    ] {
        let server = Running::start(app).await;
        let config = server.visitor().get("/auth/config").await.json();
        assert_eq!(json!([config["requireLogin"], config["passwordAuth"], config["headerAuth"]]), expected);
        assert_eq!(config["oauthProviders"], json!([]));
        assert_eq!(config["default_theme"], "dark");
        assert!(config["ui"].as_object().unwrap().contains_key("login_page_image_dark_filter"));
    }
}

#[tokio::test]
async fn a_password_signs_in_and_a_wrong_one_does_not() {
    let server = Running::start(password_app()).await;
    for (password, status, answer) in [
        ("pw", 200, json!({"success": true})),
        ("wrong", 401, json!({"detail": "credentialssignin"})),
        ("boom", 401, json!({"detail": "credentialssignin"})),
        ("nobody", 401, json!({"detail": "credentialssignin"})),
    ] {
        let login = server.visitor().login("anna", password).await;
        assert_eq!((login.status.as_u16(), login.json()), (status, answer), "{password}");
        assert_eq!(login.cookies().len(), usize::from(status == 200), "{password}");
    }
}

#[tokio::test]
async fn whoever_signed_in_is_known_and_stored() {
    let server = Running::start(password_app()).await;
    let anna = server.person("anna").await;
    let user = anna.get("/user").await.json();
    assert_eq!((&user["identifier"], &user["metadata"]), (&json!("anna"), &json!({"role": "user"})));
    assert!(user["id"].is_string() && user["createdAt"].is_string(), "{user}");
    assert_eq!(server.person("anna").await.get("/user").await.json(), user, "the same row");
    assert_ne!(server.person("bert").await.get("/user").await.json()["id"], user["id"]);
}

#[tokio::test]
async fn sixty_first_requests_of_one_person_make_one_row() {
    let server = Running::start(password_app()).await;
    let token = super::token::signed(&json!({"identifier": "carla", "exp": 4_000_000_000_u64}));
    let requests = (0..60).map(|_| {
        let request = server.visitor().request(Method::GET, "/user").bearer_auth(&token);
        async move { Answer::of(request).await.json()["id"].clone() }
    });
    let ids = futures_util::future::join_all(requests).await;
    assert!(ids[0].is_string() && ids.iter().all(|id| *id == ids[0]));
}

#[tokio::test]
async fn both_encodings_of_a_form_are_read_and_missing_fields_named() {
    let server = Running::start(password_app()).await;
    let post = || server.visitor().request(Method::POST, "/login");
    let form = || Form::new().text("username", "änna & co");
    let signed_in = Answer::of(post().multipart(form().text("password", "pw"))).await;
    assert_eq!(signed_in.status, StatusCode::OK);
    let urlencoded = post().header("content-type", "application/x-www-form-urlencoded; charset=utf-8");
    assert_eq!(Answer::of(urlencoded.body("username=%C3%A4nna+%26+co&password=pw&&")).await.status, StatusCode::OK);

    for (request, missing) in [
        (post().multipart(form()), Some("password")),
        (post().body("password=pw"), Some("username")),
        (post().body("username=&password=pw"), Some("username")),
        (post().multipart(form().text("password", "")), Some("password")),
        (post(), Some("username")),
        (post().json(&json!({"username": "a", "password": "pw"})), Some("username")),
        (post().header("content-type", "multipart/form-data").body("x"), None),
        (post().header("content-type", "multipart/form-data; boundary=x").body("--y"), None),
    ] {
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", answer.text);
        let place = &answer.json()["detail"][0]["loc"];
        assert_eq!(place, &missing.map_or(json!(["body"]), |field| json!(["body", field])));
    }
}

#[tokio::test]
async fn a_header_signs_in() {
    let server = Running::start(header_app()).await;
    let visitor = server.visitor();
    let login =
        Answer::of(visitor.request(Method::POST, "/auth/header").header("X-User", "dora").json(&json!({}))).await;
    assert_eq!(login.json(), json!({"success": true}));
    assert_eq!(visitor.get("/user").await.json()["identifier"], "dora");
}

#[tokio::test]
async fn only_somebody_at_this_machine_is_here() {
    let server = Running::start(header_app()).await;
    let here = server.visitor();
    assert_eq!(here.post("/auth/header", json!({})).await.status, StatusCode::OK);
    assert_eq!(here.get("/user").await.json()["identifier"], "here");

    for (name, value) in [
        ("x-forwarded-for", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1"),
        ("via", "1.1 proxy"),
        ("host", "chat.example.org"),
        ("origin", "https://chat.example.org"),
    ] {
        let request = server.visitor().request(Method::POST, "/auth/header").header(name, value);
        assert_eq!(Answer::of(request).await.detail(), "credentialssignin", "{name}");
    }
}

#[tokio::test]
async fn a_login_that_the_app_does_not_have_says_so() {
    let server = Running::start(open_app()).await;
    let visitor = server.visitor();
    for (answer, status, detail) in [
        (visitor.login("anna", "pw").await, 400, "No auth_callback defined"),
        (visitor.post("/auth/header", json!({})).await, 400, "No header_auth_callback defined"),
        (visitor.get("/auth/oauth/github").await, 400, "No oauth_callback defined"),
        (visitor.get("/auth/oauth/github/callback?code=1&state=2").await, 400, "No oauth_callback defined"),
        (visitor.post("/auth/oauth/azure-ad-hybrid/callback", json!({})).await, 400, "No oauth_callback defined"),
    ] {
        assert_eq!((answer.status.as_u16(), answer.detail().as_str()), (status, detail));
    }
    assert_eq!(visitor.get("/user").await.json(), Value::Null);
}

#[tokio::test]
async fn signing_out_removes_the_cookie() {
    let server = Running::start(password_app()).await;
    let anna = server.person("anna").await;
    let logout = anna.post("/logout", json!({})).await;
    assert_eq!(logout.json(), json!({"success": true}));
    assert!(logout.cookies()[0].contains("Max-Age=0"));
    assert_eq!(anna.get("/user").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_long_token_travels_in_slices_and_leaves_nothing_behind() {
    let server = Running::start(password_app()).await;
    let anna = server.visitor();
    let long = anna.login("anna", "picture").await;
    assert!(long.cookies().len() >= 3, "{:?}", long.cookies());
    assert!(long.cookies().iter().all(|cookie| cookie.len() < 4096));
    assert_eq!(anna.get("/user").await.json()["metadata"]["image"].as_str().unwrap().len(), 5000);

    let short = anna.login("bert", "pw").await;
    let removed = short.cookies().iter().filter(|cookie| cookie.contains("Max-Age=0")).count();
    assert_eq!(removed, long.cookies().len());
    assert_eq!(anna.get("/user").await.json()["identifier"], "bert");
}

#[tokio::test]
async fn the_cookie_is_as_it_was_set() {
    let house = House::new();
    let set = |config: &mut rejoinder::Config| {
        config.cookie.name = "chat".to_owned();
        config.cookie.same_site = rejoinder::config::SameSite::None;
        config.user_session_timeout = std::time::Duration::from_secs(60);
    };
    let server = house.serve_with(password_app(), set).await;
    let cookie = server.visitor().login("anna", "pw").await.cookies().remove(0);
    assert!(cookie.starts_with("chat=ey"), "{cookie}");
    assert!(cookie.ends_with("; HttpOnly; Max-Age=60; Path=/; SameSite=none; Secure"), "{cookie}");
}

#[tokio::test]
async fn the_session_cookie() {
    let server = Running::start(open_app()).await;
    let visitor = server.visitor();
    let set = visitor.post("/set-session-cookie", json!({"session_id": "5f0c-1"})).await;
    assert_eq!(set.json(), json!({"message": "Session cookie set"}));
    assert_eq!(set.cookies(), ["X-Chainlit-Session-id=5f0c-1; HttpOnly; Path=/; SameSite=lax"]);

    let body = json!({"session_id": "5f0c-1"});
    let far = visitor.request(Method::POST, "/set-session-cookie").header("x-forwarded-for", "10.0.0.1").json(&body);
    let cookie = Answer::of(far).await.cookies().remove(0);
    assert!(cookie.ends_with("SameSite=none; Secure"), "{cookie}");

    for bad in [json!({"session_id": "a;b"}), json!({"session_id": "a\r\nb: c"}), json!({"session_id": 7}), json!({})] {
        let answer = visitor.post("/set-session-cookie", bad.clone()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}");
    }
}

async fn goodbye(user: Option<User>) -> rejoinder::Result<Value> {
    match user.map(|user| user.identifier).as_deref() {
        Some("anna") => Ok(json!({"next": "/bye"})),
        Some("bert") => Err(HookError::tell("no goodbyes")),
        Some("carla") => Ok(Value::Null),
        Some(_) => panic!("no goodbyes"),
        None => Ok(json!("who was that?")),
    }
}

async fn anybody(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

async fn nothing(_: Chat) {}

#[tokio::test]
async fn the_application_says_goodbye_and_whoever_leaves_is_out_whatever_it_says() {
    let app = App::new().on_password_login(anybody).on_message(nothing).on_logout(goodbye).build().unwrap();
    let server = House::new().serve(app).await;
    let success = json!({"success": true});
    for (name, answer) in
        [("anna", json!({"next": "/bye"})), ("bert", success.clone()), ("carla", success.clone()), ("dora", success)]
    {
        let person = server.person(name).await;
        let logout = person.post("/logout", json!({})).await;
        assert_eq!((logout.status, logout.json()), (StatusCode::OK, answer), "{name}");
        assert!(logout.cookies()[0].contains("Max-Age=0"), "{name}");
        assert_eq!(person.get("/user").await.status, StatusCode::UNAUTHORIZED, "{name}");
    }
    let stranger = server.visitor().post("/logout", json!({})).await;
    assert_eq!((stranger.status, stranger.json()), (StatusCode::OK, json!("who was that?")));
}
