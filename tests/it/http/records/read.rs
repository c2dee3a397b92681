//! Snapshot and pages.

use rejoinder::record::Fact;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{at, numbers, on_both, page, put};
use crate::store::adoption::{THREAD, chainlit};
use crate::support::database::Database;
use crate::support::records::{ANNA, append, message, record};
use crate::support::server::{House, open_app, password_app};

#[tokio::test]
async fn a_snapshot_says_where_reading_begins() {
    on_both(
        |thread| vec![record("m", message(thread, "m", "hi"))],
        async |server, thread, _| {
            let anna = server.person(ANNA).await;
            let answer = anna.get(&format!("/sessions/{thread}")).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
            let snapshot = answer.json();
            assert_eq!(snapshot["session"]["session_id"], json!(thread));
            assert_eq!(snapshot["session"]["name"], "hello");
            assert_eq!(snapshot["execution_state"], json!({"id": null, "state": "idle"}));
            let read = &snapshot["read"];
            assert_eq!((&read["latest_sequence"], &read["oldest_sequence"]), (&json!(2), &json!(1)));
            assert_eq!((&read["history_complete"], &read["incomplete_reasons"]), (&json!(true), &json!([])));
            assert_eq!((&read["legacy_records"], &read["pending"]), (&json!(0), &json!(0)));
            let cursor = read["cursor"].as_str().unwrap();
            assert!(cursor.starts_with(&format!("{}.2.", read["epoch"].as_str().unwrap())), "{cursor}");

            let all = page(&anna, &thread, "").await;
            assert_eq!(numbers(&all), [Some(1), Some(2)]);
            assert_eq!(all["page"], json!({"next_after": "2", "has_more": false, "through_sequence": 2}));
            assert_eq!(all["read"]["cursor"], cursor, "the same moment, the same cursor");
            assert_eq!(all["records"][1]["event"]["payload"]["content"], "hi");
            assert_eq!(numbers(&page(&anna, &thread, &format!("after={cursor}")).await), []);
        },
    )
    .await;
}

/// I-31. Red when: pages are counted off rather than begun at a key.
#[tokio::test]
async fn i31_what_comes_in_between_is_on_no_page() {
    on_both(
        |thread| (2..=7).map(|n| record(format!("m{n}"), message(thread, &format!("m{n}"), "x"))).collect(),
        async |server, thread, _| {
            let anna = server.person(ANNA).await;
            let first = page(&anna, &thread, "limit=3").await;
            assert_eq!((numbers(&first), &first["page"]["has_more"]), (vec![Some(1), Some(2), Some(3)], &json!(true)));
            for n in 0..5 {
                let body = json!({"threadId": thread, "name": format!("name {n}")});
                assert_eq!(anna.send(reqwest::Method::PUT, "/project/thread", body).await.status, StatusCode::OK);
            }
            let through = &first["page"]["through_sequence"];
            let next = first["page"]["next_after"].as_str().unwrap();
            let rest = page(&anna, &thread, &format!("after={next}&through_sequence={through}")).await;
            assert_eq!(numbers(&rest), (4..=7).map(Some).collect::<Vec<_>>());
            assert_eq!((&rest["page"]["has_more"], &rest["read"]["latest_sequence"]), (&json!(false), &json!(12)));
            let last = page(&anna, &thread, "order=desc&limit=2").await;
            assert_eq!(numbers(&last), [Some(12), Some(11)]);
            let before = last["page"]["next_before"].as_str().unwrap();
            let older = page(&anna, &thread, &format!("order=desc&before={before}&limit=2")).await;
            assert_eq!(numbers(&older), [Some(10), Some(9)]);
        },
    )
    .await;
}

/// I-45 over HTTP: an adopted thread.
#[tokio::test]
async fn i45_an_adopted_thread_shows_its_old_rows_first() {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        chainlit(&database, "").await;
        let server = House::new().with_page().serve_with(password_app(), at(&database)).await;
        let anna = server.person(ANNA).await;
        let read = anna.get(&format!("/sessions/{THREAD}")).await.json()["read"].clone();
        assert_eq!((&read["cursor"], &read["epoch"]), (&json!("none.0.0"), &json!("none")));
        assert_eq!((&read["legacy_records"], &read["history_complete"]), (&json!(4), &json!(false)));
        assert_eq!(read["incomplete_reasons"], json!(["legacy_rows"]));
        let body = json!({"threadId": THREAD, "name": "new"});
        assert_eq!(anna.send(reqwest::Method::PUT, "/project/thread", body).await.status, StatusCode::OK);

        let mut query = "limit=1".to_owned();
        let mut all = Vec::new();
        loop {
            let page = page(&anna, &THREAD.into(), &query).await;
            all.extend(page["records"].as_array().unwrap().clone());
            if page["page"]["has_more"] == json!(false) {
                break;
            }
            query = format!("limit=1&after={}", page["page"]["next_after"].as_str().unwrap());
        }
        let sequences: Vec<&Value> = all.iter().map(|record| &record["sequence"]).collect();
        assert_eq!(json!(sequences), json!([null, null, null, null, 1]));
        assert_eq!(all[0]["event"]["payload"]["role"], "user");
        assert_eq!(all[3]["event"]["type"], "tool.completed");
        assert_eq!(numbers(&page(&anna, &THREAD.into(), "after=none.0.0").await).len(), 5, "the beginning");
    }
}

/// I-15 and I-21 over HTTP.
#[tokio::test]
async fn i15_what_cannot_be_read_is_shown_without_an_event() {
    on_both(
        |thread| ["a", "b", "c"].map(|id| record(id, message(thread, id, "x"))).into(),
        async |server, thread, database| {
            database.run("update rejoinder_records set attributes = '\"no object\"' where record_id = 'b'").await;
            database
                .run(
                    "insert into rejoinder_records select project_id, thread_id, 'q', null, execution_id, \
                     origin_execution_id, entity_id, record_type, record_source, attributes, content_hash, null, \
                     produced_at, created_at, created_at, null from rejoinder_records where record_id = 'a'",
                )
                .await;
            let anna = server.person(ANNA).await;
            let all = page(&anna, &thread, "").await;
            let events: Vec<bool> =
                all["records"].as_array().unwrap().iter().map(|record| record["event"].is_object()).collect();
            assert_eq!(events, [true, true, false, true], "evidence is on no page: {all}");
            assert_eq!(all["read"]["latest_sequence"], 4);
            assert_eq!(all["read"]["history_complete"], true);
        },
    )
    .await;
}

#[tokio::test]
async fn a_page_is_never_larger_than_two_megabytes() {
    on_both(
        |thread| {
            let text = "x".repeat(600 << 10);
            (0..4).map(|n| record(format!("m{n}"), message(thread, &format!("m{n}"), &text))).collect()
        },
        async |server, thread, _| {
            let anna = server.person(ANNA).await;
            let (mut seen, mut query) = (0, String::new());
            loop {
                let answer = anna.get(&format!("/sessions/{thread}/records?{query}")).await;
                assert!(answer.text.len() < (2 << 20) + 4096, "{}", answer.text.len());
                let page = answer.json();
                seen += page["records"].as_array().unwrap().len();
                if page["page"]["has_more"] == json!(false) {
                    break;
                }
                query = format!("after={}", page["page"]["next_after"].as_str().unwrap());
            }
            assert_eq!(seen, 5);
        },
    )
    .await;
}

/// A guest sees no more of a thread than the page of a shared thread shows.
#[tokio::test]
async fn a_guest_reads_what_is_shared_and_changes_nothing() {
    on_both(
        |_| {
            let private = json!({"chat_profile": "secret profile", "seen": 1});
            let update = rejoinder::record::ThreadUpdate {
                metadata: private.as_object().unwrap().clone(),
                ..Default::default()
            };
            let settings = json!({"key": "secret setting"}).as_object().unwrap().clone();
            vec![record("u", Fact::ThreadUpdated(update)), record("s", Fact::SettingsUpdated(settings))]
        },
        async |server, thread, _| {
            let (anna, bert) = (server.person(ANNA).await, server.person("bert").await);
            assert_eq!(bert.get(&format!("/sessions/{thread}")).await.status, StatusCode::NOT_FOUND);
            let body = json!({"threadId": thread, "isShared": true});
            assert_eq!(anna.send(reqwest::Method::PUT, "/project/thread/share", body).await.status, StatusCode::OK);
            let snapshot = bert.get(&format!("/sessions/{thread}")).await;
            let all = bert.get(&format!("/sessions/{thread}/records")).await;
            assert_eq!((snapshot.status, all.status), (StatusCode::OK, StatusCode::OK));
            for text in [&snapshot.text, &all.text] {
                assert!(!text.contains("secret") && !text.contains(ANNA), "{text}");
            }
            assert_eq!(snapshot.json()["capabilities"]["cancel"], false);
            assert!(anna.get(&format!("/sessions/{thread}/records")).await.text.contains("secret setting"));
            let gone = bert.send(reqwest::Method::DELETE, &format!("/sessions/{thread}"), json!(null)).await;
            assert_eq!(gone.status, StatusCode::NOT_FOUND);
        },
    )
    .await;
}

/// Nobody without the session that is on an anonymous thread gets at it.
#[tokio::test]
async fn a_thread_without_an_owner_is_read_by_the_session_on_it() {
    let database = Database::sqlite().await.unwrap();
    let thread = put(&database, None, |_| Vec::new()).await;
    let server = House::new().with_page().serve_with(open_app(), at(&database)).await;
    let visitor = server.visitor();
    for path in [format!("/sessions/{thread}"), format!("/sessions/{thread}?session_id=nobody")] {
        assert_eq!(visitor.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    let person = crate::support::page::Visitor { name: "somebody".into(), cookie: String::new() };
    let mut page = person.page_on(thread.as_str());
    page.come(server.addr).await;
    page.until("the session is on the thread", |seen| seen.screen.steps().next().is_some() || seen.is_open).await;
    let mut status = StatusCode::NOT_FOUND;
    for _ in 0..200 {
        status = visitor.get(&format!("/sessions/{thread}?session_id={}", page.session)).await.status;
        if status == StatusCode::OK {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(status, StatusCode::OK);
    let other = put_other(&server, &database).await;
    let foreign = visitor.get(&format!("/sessions/{other}?session_id={}", page.session)).await;
    assert_eq!(foreign.status, StatusCode::NOT_FOUND, "a session opens its own thread only");
}

/// A second anonymous thread, put beside a running server by its own words.
async fn put_other(server: &crate::support::server::Running, _: &Database) -> rejoinder::id::ThreadId {
    let thread = rejoinder::id::ThreadId::random();
    let _ = append(&thread, Vec::new());
    let mut other = crate::support::page::Visitor { name: "other".into(), cookie: String::new() }.page();
    other.come(server.addr).await;
    other.until_text("hello").await;
    other.thread().into()
}
