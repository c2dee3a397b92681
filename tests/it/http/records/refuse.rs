//! What is refused, and what a refusal tells.

use rejoinder::id::ThreadId;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{at, on_both, page, put};
use crate::support::database::Database;
use crate::support::records::{ANNA, message, record};
use crate::support::server::{House, password_app};

/// Every way to ask for a thread.
async fn everything(person: &crate::support::http::Person<'_>, id: &str, query: &str) -> Vec<(u16, String)> {
    let mut answers = Vec::new();
    for (method, path) in [
        (Method::GET, format!("/sessions/{id}")),
        (Method::GET, format!("/sessions/{id}/records?{query}")),
        (Method::POST, format!("/sessions/{id}/cancel")),
        (Method::DELETE, format!("/sessions/{id}")),
    ] {
        let request = person.request(method, &path).header("idempotency-key", "k");
        let answer = crate::support::http::Answer::of(request).await;
        answers.push((answer.status.as_u16(), answer.text));
    }
    answers
}

/// I-42. Red when: a foreign thread is looked up before its owner is.
#[tokio::test]
async fn i42_a_foreign_thread_looks_like_none() {
    on_both(
        |_| Vec::new(),
        async |server, thread, _| {
            let anna = server.person(ANNA).await;
            let cursor = page(&anna, &thread, "").await["read"]["cursor"].as_str().unwrap().to_owned();
            let bert = server.person("bert").await;
            let foreign = everything(&bert, thread.as_str(), &format!("after={cursor}")).await;
            let missing = everything(&bert, ThreadId::random().as_str(), &format!("after={cursor}")).await;
            assert_eq!(foreign, missing);
            for (status, text) in foreign {
                let body: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(
                    (status, &body["code"], &body["retryable"]),
                    (404, &json!("session_not_found"), &json!(false))
                );
            }
            assert_eq!(anna.get(&format!("/sessions/{thread}")).await.status, StatusCode::OK, "nothing happened to it");
            let stranger = everything(&server.visitor(), thread.as_str(), "").await;
            for (status, text) in stranger {
                let body: Value = serde_json::from_str(&text).unwrap();
                assert_eq!((status, &body["code"]), (401, &json!("not_authenticated")));
            }
        },
    )
    .await;
}

/// I-40: what is a position and what is not. Numbers are numbers: 9 is before 10.
#[tokio::test]
async fn i40_positions_are_numbers_and_anything_else_is_refused() {
    on_both(
        |thread| (2..=12).map(|n| record(format!("m{n}"), message(thread, &format!("m{n}"), "x"))).collect(),
        async |server, thread, _| {
            let anna = server.person(ANNA).await;
            assert_eq!(super::numbers(&page(&anna, &thread, "after=9").await), [Some(10), Some(11), Some(12)]);
            assert_eq!(super::numbers(&page(&anna, &thread, "after=11").await), [Some(12)]);
            for query in [
                "after=x",
                "after=-1",
                "after=%2B1",
                "after=1.5",
                "after=",
                "limit=0",
                "limit=201",
                "limit=x",
                "limit=-1",
                "order=up",
                "before=3",
                "order=desc&after=3",
                "after=1&before=3&order=desc",
                "through_sequence=x",
                "after=9223372036854775808",
                "after=legacy:",
                "after=legacy:00:61",
                "after=1&after=2",
            ] {
                let answer = anna.get(&format!("/sessions/{thread}/records?{query}")).await;
                assert_eq!(
                    (answer.status.as_u16(), &answer.json()["code"]),
                    (400, &json!("invalid_request")),
                    "{query}"
                );
            }
            for id in ["a%20b", "a.b", &"x".repeat(129), "%F0%9F%9A%80", "%00"] {
                let answer = anna.get(&format!("/sessions/{id}")).await;
                assert_eq!((answer.status.as_u16(), &answer.json()["code"]), (400, &json!("invalid_request")), "{id}");
            }
        },
    )
    .await;
}

/// I-41 and I-42: a position of another history is never served.
/// Red when: the mark is not looked at.
#[tokio::test]
async fn i41_a_cursor_of_another_history_is_refused() {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        let three = |thread: &ThreadId| {
            ["a", "b"]
                .map(|id| record(format!("{id}-{thread}"), message(thread, &format!("{id}-{thread}"), "x")))
                .into()
        };
        let (one, two) = (put(&database, Some(ANNA), three).await, put(&database, Some(ANNA), three).await);
        let server = House::new().with_page().serve_with(password_app(), at(&database)).await;
        let anna = server.person(ANNA).await;
        let cursor = |page: Value| page["read"]["cursor"].as_str().unwrap().to_owned();
        let (first, second) = (cursor(page(&anna, &one, "").await), cursor(page(&anna, &two, "").await));
        let epoch = first.split('.').next().unwrap().to_owned();
        let mark = first.rsplit('.').next().unwrap().to_owned();
        let other_mark = if mark.starts_with('0') { mark.replacen('0', "1", 1) } else { format!("0{}", &mark[1..]) };
        for (asked, status, code) in [
            (second.clone(), 409, "cursor_mismatch"),
            ("4".to_owned(), 409, "cursor_ahead"),
            (format!("{epoch}.4.{mark}"), 409, "cursor_ahead"),
            (format!("{epoch}.3.{other_mark}"), 409, "cursor_mismatch"),
            (format!("{epoch}.2.{mark}"), 409, "cursor_mismatch"),
            (format!("0123456789abcdef.3.{mark}"), 409, "cursor_mismatch"),
            ("0123456789abcdef.0.0".to_owned(), 409, "cursor_mismatch"),
            (format!("none.2.{mark}"), 409, "cursor_mismatch"),
        ] {
            let answer = anna.get(&format!("/sessions/{one}/records?after={asked}")).await;
            let body = answer.json();
            assert_eq!((answer.status.as_u16(), &body["code"]), (status, &json!(code)), "{asked}: {body}");
            assert_eq!(body["details"], json!({"latest_sequence": 3}), "{asked}");
        }
        for good in [first, format!("{epoch}.0.0"), "none.0.0".to_owned(), "3".to_owned(), "0".to_owned()] {
            page(&anna, &one, &format!("after={good}")).await;
        }
        // A backup was restored, and other records were written past the cursor.
        server.stop().await;
        let forge = format!(
            "update rejoinder_records set mark = (select mark from rejoinder_records as o \
             where o.thread_id = '{one}' and o.sequence = 3) where thread_id = '{two}' and sequence = 3"
        );
        database.run(&forge).await;
        let server = House::new().with_page().serve_with(password_app(), at(&database)).await;
        let anna = server.person(ANNA).await;
        let answer = anna.get(&format!("/sessions/{two}/records?after={second}")).await;
        assert_eq!(answer.json()["code"], "cursor_mismatch", "{}", answer.text);
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_and_its_cursor_means_nothing() {
    on_both(
        |_| Vec::new(),
        async |server, thread, database| {
            let anna = server.person(ANNA).await;
            let gone = anna.send(Method::DELETE, &format!("/sessions/{thread}"), json!(null)).await;
            assert_eq!(
                (gone.status, gone.json()),
                (StatusCode::OK, json!({"status": "deleted", "session_id": thread}))
            );
            let again = anna.send(Method::DELETE, &format!("/sessions/{thread}"), json!(null)).await;
            assert_eq!(again.json()["code"], "session_not_found");
            assert_eq!(anna.get(&format!("/project/thread/{thread}")).await.status, StatusCode::NOT_FOUND);
            assert_eq!(database.count("rejoinder_records").await, 0);
        },
    )
    .await;
}

/// I-55's half of this: off is as if it had never been built.
#[tokio::test]
async fn switched_off_there_is_nothing() {
    let database = Database::sqlite().await.unwrap();
    let thread = put(&database, Some(ANNA), |_| Vec::new()).await;
    let set = |config: &mut rejoinder::Config| {
        at(&database)(config);
        config.sequence = false;
    };
    let server = House::new().with_page().serve_with(password_app(), set).await;
    let anna = server.person(ANNA).await;
    for person in [&anna, &server.visitor()] {
        for (status, text) in everything(person, thread.as_str(), "").await {
            let body: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((status, &body["code"]), (404, &json!("not_found")));
        }
    }
    assert_eq!(anna.get(&format!("/project/thread/{thread}")).await.status, StatusCode::OK);
}
