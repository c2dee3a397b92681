//! Stored threads over HTTP.

use rejoinder::id::ThreadId;
use rejoinder::protocol::{Element, ElementKind};
use rejoinder::record::Fact;
use rejoinder::{App, Config};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::database::Database;
use crate::support::http::Person;
use crate::support::records::{ANNA, append, message, record, start_for};
use crate::support::server::{House, Running, open_app, password_app};

/// Runs a test on each kind of database, with a server whose database holds `count` threads of Anna's, each with a
/// message and an element. The test gets their ids, newest first.
async fn on_both(count: usize, test: impl AsyncFn(Running, Vec<ThreadId>, &Database)) {
    on_both_with(password_app, count, test).await;
}

/// The same with another app.
pub async fn on_both_with(app: impl Fn() -> App, count: usize, test: impl AsyncFn(Running, Vec<ThreadId>, &Database)) {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        let threads = with_threads(&database, count).await;
        let at = |config: &mut Config| config.database_url = Some(database.url().to_owned());
        let server = House::new().with_page().file("data/files/k", "a note").serve_with(app(), at).await;
        test(server, threads, &database).await;
    }
}

async fn with_threads(database: &Database, count: usize) -> Vec<ThreadId> {
    let store = database.open().await;
    let mut threads = Vec::new();
    for _ in 0..count {
        let thread = ThreadId::random();
        let mut element = Element::new(format!("e-{thread}").into(), ElementKind::Text, "note");
        element.for_id = Some(format!("m-{thread}").into());
        element.thread_id = Some(thread.clone());
        element.object_key = Some("k".to_owned());
        let records = vec![
            start_for(&thread, Some(ANNA)),
            record(format!("r-{thread}"), message(&thread, &format!("m-{thread}"), "Hello World")),
            record(format!("f-{thread}"), Fact::Element(element)),
        ];
        assert!(store.append(&[append(&thread, records)]).await.unwrap().remove(0).is_ok());
        threads.insert(0, thread);
    }
    store.close().await;
    threads
}

async fn list(person: &Person<'_>, pagination: Value, filter: Value) -> Value {
    let answer = person.post("/project/threads", json!({"pagination": pagination, "filter": filter})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|thread| thread["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_person_pages_through_their_own_threads() {
    on_both(5, async |server, threads, _| {
        let anna = server.person(ANNA).await;
        let mut seen = Vec::new();
        let mut cursor = Value::Null;
        loop {
            let page = list(&anna, json!({"first": 2, "cursor": cursor}), json!({"userId": "bert"})).await;
            seen.extend(ids(&page));
            cursor = page["pageInfo"]["endCursor"].clone();
            if page["pageInfo"]["hasNextPage"] == json!(false) {
                break;
            }
        }
        let mut expected: Vec<String> = threads.iter().map(ToString::to_string).collect();
        assert_eq!(seen.len(), 5);
        seen.sort();
        expected.sort();
        assert_eq!(seen, expected);
        let bert = server.person("bert").await;
        assert_eq!(ids(&list(&bert, json!({"first": 35}), json!({})).await), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn the_list_is_searched() {
    on_both(1, async |server, threads, _| {
        let anna = server.person(ANNA).await;
        for (filter, found) in [
            (json!({"search": "hello w"}), 1),
            (json!({"search": "nowhere"}), 0),
            (json!({"search": "%"}), 0),
            (json!({"search": ""}), 1),
            (json!({"search": null, "feedback": null}), 1),
            (json!({"feedback": 1}), 0),
        ] {
            assert_eq!(ids(&list(&anna, json!({"first": 20}), filter.clone()).await).len(), found, "{filter}");
        }
        let unknown = list(&anna, json!({"first": 20, "cursor": "nothing"}), json!({})).await;
        assert_eq!(ids(&unknown), [threads[0].to_string()], "an unknown cursor is the first page");
    })
    .await;
}

#[tokio::test]
async fn a_thread_and_its_element_are_read() {
    on_both(1, async |server, threads, _| {
        let anna = server.person(ANNA).await;
        let id = &threads[0];
        let thread = anna.get(&format!("/project/thread/{id}")).await.json();
        assert_eq!((&thread["id"], &thread["userIdentifier"]), (&json!(id.to_string()), &json!(ANNA)));
        assert_eq!(thread["steps"][0]["output"], "Hello World");
        assert!(thread["metadata"].is_object());

        let element = anna.get(&format!("/project/thread/{id}/element/e-{id}")).await.json();
        assert_eq!(element["name"], "note");
        assert!(element["url"].is_string(), "an element in a thread has a url: {element}");
        assert_eq!(anna.get(&format!("/project/thread/{id}/element/none")).await.json(), Value::Null);
    })
    .await;
}

#[tokio::test]
async fn a_thread_is_renamed_by_a_record() {
    on_both(1, async |server, threads, database| {
        let anna = server.person(ANNA).await;
        let id = threads[0].as_str();
        let name = "Ünïcode 🚀 \"quoted\" <b>";
        let renamed = anna.send(Method::PUT, "/project/thread", json!({"threadId": id, "name": name})).await;
        assert_eq!(renamed.json(), json!({"success": true}));
        assert_eq!(anna.get(&format!("/project/thread/{id}")).await.json()["name"], name);
        server.stop().await;
        let store = database.open().await;
        let records = store.records(&threads[0], 0, None, 100).await.unwrap();
        let last = records.last().unwrap();
        assert_eq!((last.record_type.as_str(), last.sequence), ("thread_update", Some(4)));
    })
    .await;
}

#[tokio::test]
async fn a_deleted_thread_is_gone() {
    on_both(2, async |server, threads, _| {
        let anna = server.person(ANNA).await;
        let id = threads[0].as_str();
        let body = json!({"threadId": id});
        assert_eq!(anna.send(Method::DELETE, "/project/thread", body.clone()).await.json(), json!({"success": true}));
        assert_eq!(anna.send(Method::DELETE, "/project/thread", body).await.status, StatusCode::NOT_FOUND);
        assert_eq!(anna.get(&format!("/project/thread/{id}")).await.status, StatusCode::NOT_FOUND);
        assert_eq!(ids(&list(&anna, json!({"first": 35}), json!({})).await), [threads[1].to_string()]);
    })
    .await;
}

/// Promise 22.
#[tokio::test]
async fn a_foreign_thread_looks_exactly_like_none() {
    on_both(1, async |server, threads, _| {
        let bert = server.person("bert").await;
        let mut answers = Vec::new();
        for id in [threads[0].as_str(), "00000000-0000-4000-8000-000000000000"] {
            let mut of_this = Vec::new();
            for (method, path, body) in [
                (Method::GET, format!("/project/thread/{id}"), json!(null)),
                (Method::GET, format!("/project/thread/{id}/element/e-{id}"), json!(null)),
                (Method::GET, format!("/project/share/{id}"), json!(null)),
                (Method::PUT, "/project/thread".to_owned(), json!({"threadId": id, "name": "mine"})),
                (Method::PUT, "/project/thread/share".to_owned(), json!({"threadId": id, "isShared": true})),
                (Method::DELETE, "/project/thread".to_owned(), json!({"threadId": id})),
            ] {
                let answer = bert.send(method, &path, body).await;
                of_this.push((answer.status.as_u16(), answer.text));
            }
            answers.push(of_this);
        }
        assert_eq!(answers[0], answers[1]);
        assert!(answers[0].iter().all(|(status, text)| *status == 404 && text == r#"{"detail":"Thread not found"}"#));
        let anna = server.person(ANNA).await;
        assert_eq!(anna.get(&format!("/project/thread/{}", threads[0])).await.json()["name"], "hello");
    })
    .await;
}

#[tokio::test]
async fn an_anonymous_visitor_reads_no_thread() {
    let server = Running::start(open_app()).await;
    let visitor = server.visitor();
    let listed = visitor.post("/project/threads", json!({"pagination": {"first": 1}, "filter": {}})).await;
    assert_eq!((listed.status, listed.detail().as_str()), (StatusCode::UNAUTHORIZED, "Unauthorized"));
    assert_eq!(visitor.get("/project/thread/t").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn bad_requests_are_refused_and_say_nothing_of_the_database() {
    on_both(1, async |server, threads, _| {
        let anna = server.person(ANNA).await;
        let id = threads[0].as_str();
        let list = "/project/threads";
        for (method, path, body, status) in [
            (Method::POST, list, json!({}), 422),
            (Method::POST, list, json!([]), 422),
            (Method::POST, list, json!({"pagination": {"first": "x"}, "filter": {}}), 422),
            (Method::POST, list, json!({"pagination": {"first": -1}, "filter": {}}), 422),
            (Method::POST, list, json!({"pagination": {"first": 1, "cursor": 7}, "filter": {}}), 422),
            (Method::POST, list, json!({"pagination": {"first": 1}, "filter": {"feedback": 2}}), 422),
            (Method::POST, list, json!({"pagination": {"first": 1}, "filter": {"search": ["a"]}}), 422),
            (Method::POST, list, json!({"pagination": {"first": 0}}), 200),
            (Method::POST, list, json!({"pagination": {"first": 4_000_000_000_u32}, "filter": null}), 200),
            (Method::POST, list, json!({"pagination": {"first": 1, "cursor": "'; drop table threads; --"}}), 200),
            (Method::POST, list, json!({"pagination": {"first": 1, "cursor": "\0"}, "filter": {"search": "\0"}}), 200),
            (Method::PUT, "/project/thread", json!({"threadId": id}), 422),
            (Method::PUT, "/project/thread", json!({"threadId": id, "name": null}), 422),
            (Method::PUT, "/project/thread", json!({"threadId": 7, "name": "n"}), 422),
            (Method::PUT, "/project/thread", json!({"threadId": id, "name": "n".repeat(1001)}), 422),
            (Method::PUT, "/project/thread", json!({"threadId": id, "name": "a\0b"}), 422),
            (Method::PUT, "/project/thread", json!({"threadId": "", "name": "n"}), 404),
            (Method::PUT, "/project/thread", json!({"threadId": "\0", "name": "n"}), 404),
            (Method::DELETE, "/project/thread", json!({"threadId": "x".repeat(10_000)}), 404),
            (Method::DELETE, "/project/thread", json!({"threadId": {"id": id}}), 422),
            (Method::DELETE, "/project/thread", json!(null), 422),
            (Method::GET, "/project/thread/%00", json!(null), 404),
            (Method::GET, "/project/thread/%27%20or%201=1", json!(null), 404),
            (Method::GET, "/project/thread/%F0%9F%9A%80", json!(null), 404),
        ] {
            let answer = anna.send(method.clone(), path, body.clone()).await;
            assert_eq!(answer.status.as_u16(), status, "{method} {path} {body}: {}", answer.text);
            assert!(answer.header("content-type").starts_with("application/json"), "{path}");
            let text = answer.text.to_lowercase();
            assert!(!["sql", "select", "panic", "src/"].iter().any(|word| text.contains(word)), "{text}");
        }
        let (status, _) = server.raw("GET /project/thread/%FF HTTP/1.1").await;
        assert_eq!(status, 401, "invalid UTF-8 is refused, after the login");
        let token = super::token::signed(&json!({"identifier": ANNA, "exp": 4_000_000_000_u64}));
        let (status, body) =
            server.raw(&format!("GET /project/thread/%FF HTTP/1.1\nAuthorization: Bearer {token}")).await;
        assert_eq!((status, body.as_str()), (400, r#"{"detail":"Invalid path"}"#));
    })
    .await;
}

#[tokio::test]
async fn what_an_element_shows_is_read_by_the_owner() {
    on_both(1, async |server, threads, _| {
        let anna = server.person(ANNA).await;
        let id = threads[0].as_str();
        let content = anna.get(&format!("/project/thread/{id}/element/e-{id}/content")).await;
        assert_eq!((content.status, content.text.as_str()), (StatusCode::OK, "a note"));
        let mcp = anna.post("/mcp", json!({})).await;
        assert_eq!((mcp.status.as_u16(), mcp.detail().as_str()), (400, "This app does not support MCP."));
    })
    .await;
}
