//! What elements show is called what the page needs it to be called, and runs nothing.

use rejoinder::chat::NewElement;
use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::{Element, ElementKind, User};
use rejoinder::record::Fact;
use rejoinder::{App, Chat, Message, UserMessage};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::support::database::Database;
use crate::support::http::Answer;
use crate::support::person::Person;
use crate::support::records::{ANNA, record, started, store};
use crate::support::server::{House, Running};
use crate::support::upload::form;

fn app() -> App {
    App::new().on_password_login(sign_in).on_message(answer).build().unwrap()
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "pw").then(|| User::new(login.username))
}

async fn answer(chat: Chat, _: UserMessage) -> rejoinder::Result {
    let message = Message::new("done")
        .element(NewElement::text("text", "{}"))
        .element(NewElement::text("data.json", "{}"))
        .element(NewElement::text("page.html", "<script>"))
        .element(NewElement::image("a.svg", "<svg/>"))
        .element(NewElement::image("b.png", "png"))
        .element(NewElement::image("c.html", "<script>").mime("text/html"))
        .element(NewElement::pdf("d", "pdf"))
        .element(NewElement::audio("e.wav", "wav"))
        .element(NewElement::video("f.mp4", "mp4"))
        .element(NewElement::file("g.html", "<script>"))
        .element(NewElement::file("h", "?"))
        .element(NewElement::plotly("i", &json!({"data": []})))
        .element(NewElement::dataframe("j", &json!({"columns": [], "index": [], "data": []})));
    chat.send(message).await?;
    Ok(())
}

#[tokio::test]
async fn every_kind_of_element_has_its_content_type() {
    let server = House::new().serve(app()).await;
    let anna = Person::sign_in(&server.url(""), ANNA).await;
    let mut page = anna.visit_as("s", "").await;
    page.turn("go").await;
    let id = anna.threads().await[0]["id"].as_str().unwrap().to_owned();
    let thread = anna.thread(&id).await;
    for (name, content_type, sandboxed) in [
        ("text", "text/plain; charset=utf-8", false),
        ("data.json", "text/plain; charset=utf-8", false),
        ("page.html", "text/plain; charset=utf-8", false),
        ("a.svg", "image/svg+xml", true),
        ("b.png", "image/png", false),
        ("c.html", "application/octet-stream", true),
        ("d", "application/pdf", false),
        ("e.wav", "audio/wav", false),
        ("f.mp4", "video/mp4", false),
        ("g.html", "text/html; charset=utf-8", true),
        ("h", "application/octet-stream", true),
        ("i", "application/json", false),
        ("j", "application/octet-stream", true),
    ] {
        let element = thread["elements"].as_array().unwrap().iter().find(|element| element["name"] == name).unwrap();
        let url = element["url"].as_str().unwrap();
        let answer = Answer::of(anna.request(Method::GET, url)).await;
        assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, content_type), "{name}");
        assert_eq!(answer.header("content-security-policy").starts_with("sandbox;"), sandboxed, "{name}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{name}");
        // The live page asks by its session. A table as JSON would break it there as well.
        let key = element["chainlitKey"].as_str().unwrap();
        let live = Answer::of(anna.request(Method::GET, &format!("/project/file/{key}?session_id=s"))).await;
        assert_eq!((live.status, &live.text), (StatusCode::OK, &answer.text), "{name}");
        assert!(name != "j" || live.header("content-type") != "application/json");
    }
}

#[tokio::test]
async fn an_uploaded_page_runs_no_script() {
    let server = House::new().serve(app()).await;
    let anna = Person::sign_in(&server.url(""), ANNA).await;
    let _page = anna.visit_as("s", "").await;
    for (name, mime) in [("a.html", "text/html"), ("a.svg", "image/svg+xml"), ("a.xhtml", "application/xhtml+xml")] {
        let id = anna.keeps("s", form(name, mime, "<script>alert(1)</script>")).await;
        let answer = Answer::of(anna.request(Method::GET, &format!("/project/file/{id}?session_id=s"))).await;
        assert_eq!(answer.status, StatusCode::OK);
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("sandbox;") && !policy.contains("allow-scripts"), "{mime}: {policy}");
    }
}

/// A file that Chainlit kept in the same storage, under its own key; the address that it stored has run out.
#[tokio::test]
async fn an_adopted_element_is_read_by_its_object_key() {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        let db = database.open().await;
        let thread = started(&*db).await;
        let mut element = Element::new("e".into(), ElementKind::Image, "a.png");
        element.object_key = Some("user/e/a.png".into());
        element.url = Some("https://b.example.com/user/e/a.png?X-Amz-Signature=1".into());
        let mut away = Element::new("away".into(), ElementKind::Image, "a.png");
        away.object_key = Some("../rejoinder.db".into());
        store(&*db, &thread, vec![record("r", Fact::Element(element)), record("s", Fact::Element(away))]).await;
        db.close().await;
        let house = House::new().file("data/files/user/e/a.png", "old bytes");
        let at = |config: &mut rejoinder::Config| config.database_url = Some(database.url().to_owned());
        let server: Running = house.serve_with(app(), at).await;
        let anna = Person::sign_in(&server.url(""), ANNA).await;
        let read = anna.thread(thread.as_str()).await;
        let url = read["elements"][0]["url"].as_str().unwrap();
        assert_eq!(url, format!("/project/thread/{thread}/element/e/content"));
        let answer = Answer::of(anna.request(Method::GET, url)).await;
        assert_eq!((answer.text.as_str(), answer.header("content-type")), ("old bytes", "image/png"));
        let outside = anna.request(Method::GET, &format!("/project/thread/{thread}/element/away/content"));
        assert_eq!(Answer::of(outside).await.status, StatusCode::NOT_FOUND);
    }
}

/// Who was given the link of a thread sees its pictures as well, until that is taken back.
#[tokio::test]
async fn what_a_shared_thread_shows_is_shown_to_others() {
    let server = House::new().serve(app()).await;
    let anna = Person::sign_in(&server.url(""), ANNA).await;
    let mut page = anna.visit_as("s", "").await;
    page.turn("go").await;
    let id = anna.threads().await[0]["id"].as_str().unwrap().to_owned();
    let thread = anna.thread(&id).await;
    let url = thread["elements"][0]["url"].as_str().unwrap();
    let bert = Person::sign_in(&server.url(""), "bert").await;
    for (shared, status) in [(false, 404), (true, 200), (false, 404)] {
        let share =
            anna.request(Method::PUT, "/project/thread/share").json(&json!({"threadId": id, "isShared": shared}));
        assert_eq!(Answer::of(share).await.status, StatusCode::OK);
        assert_eq!(Answer::of(bert.request(Method::GET, url)).await.status.as_u16(), status);
    }
    let visitor = server.visitor().get(url).await;
    assert_eq!(visitor.status, StatusCode::UNAUTHORIZED);
}
