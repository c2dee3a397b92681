//! Buttons and custom elements over HTTP: what a page may change, and everything that it may not.

use rejoinder::chat::{NewAction, NewElement};
use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::{Action, Element, ServerEvent, User};
use rejoinder::{App, Chat, HookError, Message};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::http::Person;
use crate::support::page::{Page, sign_in};
use crate::support::server::{House, Running};

async fn shows(chat: Chat) -> rejoinder::Result {
    let props = json!({"count": 1}).as_object().cloned().unwrap_or_default();
    let counter = NewElement::custom("Counter", props);
    let note = NewElement::text("note", "a note");
    chat.send(Message::new("see").element(counter).element(note).action(NewAction::new("press"))).await?;
    Ok(())
}

async fn press(action: Action) -> rejoinder::Result<Value> {
    action.payload.get("n").cloned().ok_or_else(|| HookError::tell("no n"))
}

fn app() -> App {
    let check = async |login: PasswordLogin| (login.password == "pw").then(|| User::new(login.username));
    App::new()
        .on_password_login(check)
        .on_message(shows)
        .on_action("press", press)
        .on_chat_resume(async || {})
        .build()
        .unwrap()
}

/// Anna's page with a counter, a note and a button on it.
async fn scene() -> (Running, Page) {
    let server = House::new().serve(app()).await;
    let mut page = sign_in(server.addr, "anna").await.page();
    page.come(server.addr).await;
    page.ask("show").await;
    (server, page)
}

fn element(page: &Page, name: &str) -> Element {
    page.look(|seen| {
        let came = seen.events.iter().rev().find_map(|came| match &came.event {
            ServerEvent::Element(element) if element.name == name => Some(Element::clone(element)),
            _ => None,
        });
        came.expect("the element")
    })
}

async fn change(person: &Person<'_>, session: &str, element: Value) -> (StatusCode, Value) {
    let answer = person.send(Method::PUT, "/project/element", json!({"element": element, "sessionId": session})).await;
    (answer.status, answer.json())
}

#[tokio::test]
async fn a_component_changes_itself_and_goes() {
    let (server, page) = scene().await;
    let anna = server.person("anna").await;
    let before = element(&page, "Counter");
    let mut sent = serde_json::to_value(&before).unwrap();
    sent["props"] = json!({"count": 2});
    // What a page may not say is not taken over.
    sent["url"] = json!("https://elsewhere.example/");
    sent["path"] = json!("/etc/passwd");
    sent["chainlitKey"] = json!("../../secret");
    sent["objectKey"] = json!("../../secret");
    sent["threadId"] = json!("somebody else's");
    assert_eq!(change(&anna, &page.session, sent.clone()).await, (StatusCode::OK, json!({"success": true})));
    page.until("the change", |seen| seen.events.iter().filter(|came| came.event.name() == "element").count() == 3)
        .await;
    let after = element(&page, "Counter");
    assert_eq!(after.props, json!({"count": 2}).as_object().cloned());
    assert_eq!((&after.id, &after.url, &after.object_key), (&before.id, &None, &None));
    assert_eq!((&after.thread_id, &after.for_id), (&before.thread_id, &before.for_id));
    assert_ne!(after.chainlit_key, before.chainlit_key, "another file, so that pages fetch it again");
    let thread = page.visitor.stored(server.addr, &page).await;
    let kept = thread.elements.iter().find(|kept| kept.id == before.id).unwrap();
    assert_eq!(kept.props, after.props);

    let gone = json!({"element": sent, "sessionId": page.session});
    assert_eq!(anna.send(Method::DELETE, "/project/element", gone.clone()).await.status, StatusCode::OK);
    page.until("its end", |seen| seen.count("remove_element") == 1).await;
    let thread = page.visitor.stored(server.addr, &page).await;
    assert_eq!(thread.elements.len(), 1);
    assert_eq!(anna.send(Method::DELETE, "/project/element", gone).await.status, StatusCode::NOT_FOUND);
    assert_eq!(change(&anna, &page.session, sent).await.0, StatusCode::NOT_FOUND);
}

/// Another person's session and one that never was, another person's element and none: they look alike.
#[tokio::test]
async fn what_is_not_yours_is_not_there() {
    let (server, page) = scene().await;
    let bob = server.person("bob").await;
    let mut bobs = sign_in(server.addr, "bob").await.page();
    bobs.come(server.addr).await;
    bobs.ask("show").await;
    let sent = serde_json::to_value(element(&page, "Counter")).unwrap();
    let foreign = change(&bob, &page.session, sent.clone()).await;
    assert_eq!(foreign, change(&bob, "no such session", sent.clone()).await);
    assert_eq!(foreign.0, StatusCode::NOT_FOUND);
    // In a session of his own, anna's element is none.
    let mut unknown = sent.clone();
    unknown["id"] = json!("unknown");
    let foreign = change(&bob, &bobs.session, sent).await;
    assert_eq!(foreign, change(&bob, &bobs.session, unknown).await);
    assert_eq!(foreign, (StatusCode::NOT_FOUND, json!({"detail": "Element not found"})));
    let pressed = json!({"action": {"name": "press", "payload": {"n": 1}}, "sessionId": page.session});
    let foreign = bob.post("/project/action", pressed).await;
    let unknown = json!({"action": {"name": "press", "payload": {"n": 1}}, "sessionId": "no such session"});
    assert_eq!((foreign.status, foreign.text), {
        let answer = bob.post("/project/action", unknown).await;
        (answer.status, answer.text)
    });
    let visitor = server.visitor();
    let pressed = json!({"action": {"name": "press", "payload": {"n": 1}}, "sessionId": page.session});
    assert_eq!(visitor.post("/project/action", pressed).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn only_custom_elements_change() {
    let (server, page) = scene().await;
    let anna = server.person("anna").await;
    let note = serde_json::to_value(element(&page, "note")).unwrap();
    assert_eq!(change(&anna, &page.session, note.clone()).await, (StatusCode::OK, json!({"success": false})));
    // Nor by pretending to be one.
    let mut pretends = note;
    pretends["type"] = json!("custom");
    assert_eq!(change(&anna, &page.session, pretends).await.0, StatusCode::NOT_FOUND);
}

/// Never a 500, never a change. The deep one would be a stack overflow in a naive reader.
#[tokio::test]
async fn bad_input_is_refused_and_changes_nothing() {
    let (server, page) = scene().await;
    let anna = server.person("anna").await;
    let good = serde_json::to_value(element(&page, "Counter")).unwrap();
    let with = |key: &str, value: Value| {
        let mut bad = good.clone();
        bad[key] = value;
        json!({"element": bad, "sessionId": page.session})
    };
    let bodies = [
        json!({}),
        json!([]),
        json!({"element": good}),
        json!({"sessionId": page.session}),
        json!({"element": "Counter", "sessionId": page.session}),
        json!({"element": good, "sessionId": 7}),
        with("id", json!(7)),
        with("type", Value::Null),
        with("name", json!("")),
        with("name", json!("x".repeat(300))),
        with("props", json!("/etc/passwd")),
        with("props", json!(["https://elsewhere.example/"])),
        with("display", json!("everywhere")),
    ];
    for body in bodies {
        for method in [Method::PUT, Method::DELETE] {
            if method == Method::DELETE && body["element"]["id"] == good["id"] {
                continue;
            }
            let answer = anna.send(method, "/project/element", body.clone()).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {}", answer.text);
        }
    }
    let buttons = [
        json!({}),
        json!({"action": {"name": "press"}, "sessionId": page.session}),
        json!({"action": {"payload": {}}, "sessionId": page.session}),
        json!({"action": {"name": 7, "payload": {}}, "sessionId": page.session}),
        json!({"action": {"name": "press", "payload": "x"}, "sessionId": page.session}),
        json!({"action": {"name": "press", "payload": {}, "id": {}}, "sessionId": page.session}),
        json!({"action": "press", "sessionId": page.session}),
    ];
    for body in buttons {
        let answer = anna.post("/project/action", body.clone()).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {}", answer.text);
    }
    let deep = format!("{{\"element\": {}", "[".repeat(400_000));
    let huge = format!("{{\"element\": \"{}\"}}", "x".repeat(2 << 20));
    for (body, status) in [
        (deep, StatusCode::UNPROCESSABLE_ENTITY),
        (huge, StatusCode::PAYLOAD_TOO_LARGE),
        ("{".to_owned(), StatusCode::UNPROCESSABLE_ENTITY),
        (String::new(), StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        for path in ["/project/element", "/project/action"] {
            let method = if path.ends_with("element") { Method::PUT } else { Method::POST };
            let request = anna.request(method, path).header("content-type", "text/plain").body(body.clone());
            assert_eq!(request.send().await.unwrap().status(), status, "{path}");
        }
    }
    let events = page.look(|seen| seen.events.iter().filter(|came| came.event.name() == "element").count());
    assert_eq!(events, 2);
}

#[tokio::test]
async fn a_button_answers_what_its_hook_returns() {
    let (server, page) = scene().await;
    let anna = server.person("anna").await;
    let press = async |name: &str, payload: Value| {
        let body = json!({"action": {"id": "x", "name": name, "payload": payload}, "sessionId": page.session});
        let answer = anna.post("/project/action", body).await;
        (answer.status.as_u16(), answer.json())
    };
    assert_eq!(press("press", json!({"n": [1]})).await, (200, json!({"success": true, "response": [1]})));
    assert_eq!(press("press", json!({})).await, (200, json!({"success": true, "response": null})));
    page.until_text("no n").await;
    assert_eq!(press("nothing", json!({})).await, (404, json!({"detail": "No callback found for action nothing"})));
}
