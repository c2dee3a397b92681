//! Everything that can be shown comes back as it was: each kind of element with its bytes, each kind of step, each widget
//! with its value — through the tables of both databases, a restart and a resume.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rejoinder::chat::{Content, NewElement};
use rejoinder::protocol::{
    Choice, DateMode, Day, Element, ElementKind, ServerEvent, ShowInput, Step, StepKind, Widget, WidgetKind,
};
use rejoinder::{App, Chat, Message, UserMessage};
use serde_json::{Map, Value, json};

use crate::support::database::Database;
use crate::support::page::{Page, sign_in};
use crate::support::server::House;

/// Bytes that no text codec leaves alone.
const BYTES: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x00, 0xff];

fn elements() -> Vec<NewElement> {
    let props = json!({"count": 1, "nested": {"a": [null, true, "ü"]}, "large": 9_007_199_254_740_993_u64});
    let figure = json!({"data": [{"y": [1, 2.5]}], "layout": {"title": "Größe"}});
    let table = json!({"columns": ["a"], "index": [0], "data": [["ü"]]});
    let bytes = || Content::from(BYTES.to_vec());
    vec![
        NewElement::text("note", "two\nlines, 本").language("rust").side(),
        NewElement::image("dot.png", bytes()).size("small"),
        NewElement::pdf("paper.pdf", bytes()).at_page(2).page(),
        NewElement::audio("tone.wav", bytes()).auto_play(),
        NewElement::video("clip.mp4", bytes()).player_config(json!({"file": {"muted": true}})),
        NewElement::file("table.csv", "a,b\n1,2\n"),
        NewElement::plotly("figure", &figure),
        NewElement::dataframe("table", &table),
        NewElement::custom("Counter", props.as_object().cloned().unwrap_or_default()),
        NewElement::linked(ElementKind::Image, "elsewhere.png", "https://pictures.example/elsewhere.png"),
    ]
}

/// Every widget, with another value than it starts with.
fn widgets() -> Vec<(Widget, Value)> {
    let number = |value: f64| serde_json::Number::from_f64(value).unwrap();
    let items =
        || vec![Choice { label: "A".into(), value: "a".into() }, Choice { label: "Bé".into(), value: "b".into() }];
    let picker =
        |mode| WidgetKind::DatePicker { mode, min_date: None, max_date: None, format: None, placeholder: None };
    let day = Day::new(2026, 1, 2).unwrap();
    let all = [
        ("switch", WidgetKind::Switch { initial: true }, json!(false)),
        ("checkbox", WidgetKind::Checkbox { initial: false }, json!(true)),
        (
            "slider",
            WidgetKind::Slider { initial: number(0.5), min: 0.into(), max: 2.into(), step: number(0.1) },
            json!(1.25),
        ),
        ("select", WidgetKind::Select { initial: Some("a".into()), items: items() }, json!("b")),
        ("radio", WidgetKind::Radio { initial: None, items: items() }, json!("b")),
        ("multiselect", WidgetKind::MultiSelect { initial: vec!["a".into()], items: items() }, json!(["b", "a"])),
        ("tags", WidgetKind::Tags { initial: vec!["x".into()] }, json!(["ü", ""])),
        ("text", WidgetKind::TextInput { initial: None, placeholder: None, multiline: true }, json!("a\nb")),
        ("number", WidgetKind::NumberInput { initial: Some(7.into()), placeholder: None }, json!("12.50")),
        ("day", picker(DateMode::Single { initial: Some(day) }), json!("2026-02-03T23:00:00.000Z")),
        (
            "days",
            picker(DateMode::Range { initial: None }),
            json!(["2026-02-03T23:00:00.000Z", "2026-02-04T23:00:00.000Z"]),
        ),
    ];
    all.into_iter().map(|(id, kind, value)| (Widget::new(id, id.to_uppercase(), kind), value)).collect()
}

async fn shows_all(chat: Chat, message: UserMessage) -> rejoinder::Result {
    match message.text() {
        "elements" => {
            let message = elements().into_iter().fold(Message::new("see"), Message::element);
            chat.send(message).await?;
        }
        "steps" => {
            for kind in [
                StepKind::Tool,
                StepKind::Llm,
                StepKind::Embedding,
                StepKind::Retrieval,
                StepKind::Rerank,
                StepKind::Undefined,
                StepKind::Run,
            ] {
                let step = chat.step(format!("a {kind:?}")).kind(kind).input(json!({"q": "ü"})).icon("wrench");
                let step = step
                    .language("python")
                    .default_open()
                    .auto_collapse()
                    .show_input(ShowInput::Language("python".into()));
                let inner = step.run(async |step| {
                    step.chat().step("inner").run(async |inner| Ok(inner.push("t0 ").await?)).await?;
                    step.output("out\nü").await?;
                    Ok(())
                });
                inner.await?;
            }
            let failing = chat.step("failing").tool().input("x");
            let failed: Result<(), _> = failing.run(async |_| Err(rejoinder::HookError::tell("no luck"))).await;
            assert!(failed.is_err());
            let message = Message::json(&json!({"a": ["ü", 1.5]})).author("Robin").metadata("avatarName", "robin");
            chat.send(message).await?;
            chat.send(Message::new("an error").error()).await?;
        }
        "form" => drop(chat.settings(widgets().into_iter().map(|(widget, _)| widget).collect()).await?),
        _ => {}
    }
    chat.say("done").await?;
    Ok(())
}

fn app() -> App {
    let app = App::new().on_password_login(async |login: rejoinder::hook::PasswordLogin| {
        (login.password == "pw").then(|| rejoinder::protocol::User::new(login.username))
    });
    app.on_message(shows_all).on_chat_resume(resumed).build().unwrap()
}

async fn resumed(chat: Chat) -> rejoinder::Result {
    chat.settings(widgets().into_iter().map(|(widget, _)| widget).collect()).await?;
    Ok(())
}

/// What a page shows of an element: everything but where it finds the bytes.
fn shown(element: &Element) -> Value {
    let mut shown = serde_json::to_value(element).unwrap();
    let keys = shown.as_object_mut().unwrap();
    if keys["url"].as_str().is_none_or(|url| url.starts_with("/project/")) {
        keys.remove("url");
    }
    shown
}

/// What a page shows of a step: the wire without what differs between a live and a stored one by rule (chat-wire 5.1).
fn visible(step: &Step) -> Value {
    json!({
        "id": step.id, "parentId": step.parent_id, "name": step.name, "type": step.kind, "output": step.output,
        "input": if step.is_message() { Value::Null } else { json!(step.input) }, "isError": step.is_error,
        "language": step.language, "metadata": step.metadata, "defaultOpen": step.default_open,
        "autoCollapse": step.auto_collapse, "showInput": step.show_input, "start": step.start, "end": step.end,
        "streaming": step.streaming,
    })
}

/// The steps of a page from top to bottom. What a person wrote is left out: the page shows its own copy, without times.
fn shown_steps(page: &Page) -> Vec<Value> {
    page.look(|seen| {
        let tree = seen.screen.tree();
        let told = tree.iter().filter(|(_, step)| step.kind != StepKind::UserMessage);
        told.map(|(_, step)| visible(step)).collect()
    })
}

fn live_elements(page: &Page) -> BTreeMap<String, Element> {
    page.look(|seen| {
        let came = seen.events.iter().filter_map(|came| match &came.event {
            ServerEvent::Element(element) => Some((element.id.to_string(), Element::clone(element))),
            _ => None,
        });
        came.collect()
    })
}

async fn fetched(server: SocketAddr, page: &Page, path: &str) -> (String, Vec<u8>) {
    let request = reqwest::Client::new().get(format!("http://{server}{path}"));
    let answer = request.header("cookie", &page.visitor.cookie).send().await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    let kind = answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    (kind.unwrap_or_default(), answer.bytes().await.unwrap().to_vec())
}

async fn everything_comes_back(database: Database) {
    let house = House::new();
    let set = |config: &mut rejoinder::Config| config.database_url = Some(database.url().to_owned());
    let server = house.serve_with(app(), set).await;
    let anna = sign_in(server.addr, "anna").await;
    let mut page = anna.page();
    page.come(server.addr).await;
    for text in ["elements", "steps", "form"] {
        page.ask(text).await;
    }
    let confirmed: Map<String, Value> = widgets().into_iter().map(|(widget, value)| (widget.id, value)).collect();
    page.emit("chat_settings_change", &[Value::Object(confirmed.clone())]);
    page.ask("and then").await;

    let live = live_elements(&page);
    assert_eq!(live.len(), elements().len());
    let mut bytes = BTreeMap::new();
    for (id, element) in &live {
        if let Some(key) = &element.chainlit_key {
            let path = format!("/project/file/{key}?session_id={}", page.session);
            bytes.insert(id.clone(), fetched(server.addr, &page, &path).await.1);
        }
    }
    let steps = shown_steps(&page);
    let thread = page.thread();
    drop(page);

    let server = server.stop().await.serve_with(app(), set).await;
    let mut page = anna.page_on(&thread);
    page.come(server.addr).await;
    page.until_text("done").await;
    let resumed = page.look(|seen| {
        seen.events.iter().find_map(|came| match &came.event {
            ServerEvent::ResumeThread(thread) => Some(rejoinder::protocol::Thread::clone(thread)),
            _ => None,
        })
    });
    let resumed = resumed.expect("the thread");
    assert_eq!(resumed.elements.len(), live.len());
    for element in &resumed.elements {
        let before = &live[element.id.as_str()];
        assert_eq!(shown(element), shown(before));
        let url = element.url.as_deref().expect("within a thread an element without a url is not shown");
        if let Some(expected) = bytes.get(element.id.as_str()) {
            let (kind, got) = fetched(server.addr, &page, url).await;
            assert_eq!(&got, expected, "{}", element.name);
            let json = kind.starts_with("application/json");
            match element.kind {
                ElementKind::Plotly => assert!(json, "plotly as {kind}"),
                ElementKind::Dataframe | ElementKind::Text => assert!(!json, "{} as {kind}", element.name),
                _ => {}
            }
        }
    }
    let again = shown_steps(&page);
    for (before, after) in steps.iter().zip(&again) {
        assert_eq!(before, after);
    }
    assert_eq!(steps.len(), again.len());
    assert_eq!(resumed.metadata["chat_settings"], Value::Object(confirmed.clone()));
    // The form that the resume hook sends starts with them, each in the type of its widget.
    let form = page.look(|seen| {
        seen.events.iter().find_map(|came| match &came.event {
            ServerEvent::ChatSettings(form) => Some(form.initial()),
            _ => None,
        })
    });
    let form = form.expect("the form");
    for (id, value) in &confirmed {
        let expected = match id.as_str() {
            "number" => json!(12.5),
            _ => value.clone(),
        };
        let same_days =
            |a: &Value, b: &Value| a.to_string().replace(".000Z", "Z") == b.to_string().replace(".000Z", "Z");
        assert!(form[id] == expected || same_days(&form[id], &expected), "{id}: {} for {expected}", form[id]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_comes_back_from_sqlite() {
    let Some(database) = Database::sqlite().await else { return };
    everything_comes_back(database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_comes_back_from_postgres() {
    let Some(database) = Database::postgres().await else { return };
    everything_comes_back(database).await;
}
