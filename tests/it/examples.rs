//! The examples that somebody starts from do what they say.

use std::io::Write;
use std::process::{Command, Stdio};

use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::json;

use crate::support::http::Answer;
use crate::support::person::Person;
use crate::support::program::Launch;

#[tokio::test]
async fn a_form_decides_how_answers_sound() {
    let server = Launch::example("settings").start().await;
    let mut page = Person::stranger(server.base()).visit("").await;
    let form = page.until(|name, _| name == "chat_settings").await;
    assert_eq!(form[0]["id"], "loud");
    page.turn("hi").await;
    assert!(page.seen.iter().any(|(_, step)| step["output"] == "hi."), "{:?}", page.seen);
    let values = json!({"loud": true, "times": 2, "ending": "!"});
    page.line().emit("chat_settings_change", &[values]).await;
    page.reads("LIKE THIS! LIKE THIS!").await;
    page.say("hi").await;
    page.reads("HI! HI!").await;
}

#[tokio::test]
async fn a_file_comes_back_in_order() {
    let server = Launch::example("files").start().await;
    let person = Person::stranger(server.base());
    let session = uuid::Uuid::new_v4().to_string();
    let mut page = person.visit_as(&session, "").await;
    page.reads("Drop a text file here, and I sort its lines.").await;
    let list = Part::text("pear\napple").file_name("list.txt").mime_str("text/plain").unwrap();
    let id = person.keeps(&session, Form::new().part("file", list)).await;
    page.say_with("sort this", &[&id]).await;
    let said = page.reads("list.txt has 2 lines; here they are in order.").await;
    let sorted = page.until(|name, element| name == "element" && element["forId"] == said["id"]).await;
    assert_eq!(sorted["name"], "sorted list.txt");
    let path = format!("/project/file/{}?session_id={session}", sorted["chainlitKey"].as_str().unwrap());
    assert_eq!(Answer::of(person.request(Method::GET, &path)).await.text, "apple\npear");
}

#[tokio::test]
async fn whoever_is_in_the_table_comes_in() {
    let launch = Launch::example("login").env("CHAINLIT_AUTH_SECRET", "a-secret-for-this-test-that-is-long-enough");
    let mut add = Command::new(launch.program());
    let mut add = add.args(["add", "ada"]).current_dir(launch.folder()).stdin(Stdio::piped()).spawn().unwrap();
    add.stdin.take().unwrap().write_all(b"pw\n").unwrap();
    assert!(add.wait().unwrap().success());
    let server = launch.start().await;
    let mut page = Person::sign_in(server.base(), "ada").await.visit("").await;
    page.reads("Hello ada. What you say here, only you can open again.").await;
    for (name, password) in [("ada", "guess"), ("bob", "pw")] {
        let form = [("username", name), ("password", password)];
        let login = reqwest::Client::new().post(format!("{}/login", server.base())).form(&form);
        assert_eq!(Answer::of(login).await.status, 401, "{name}");
    }
}
