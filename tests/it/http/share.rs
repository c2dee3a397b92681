//! Links to threads for others.

use std::sync::{Arc, Mutex};

use rejoinder::hook::{HookError, PasswordLogin, SharedThread};
use rejoinder::id::ThreadId;
use rejoinder::protocol::User;
use rejoinder::record::{Fact, ThreadUpdate};
use rejoinder::{App, Chat, State};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::thread::on_both_with;
use crate::support::database::Database;
use crate::support::http::{Answer, Person};
use crate::support::records::{ANNA, record, store};
use crate::support::server::{House, password_app};

async fn share(person: &Person<'_>, thread: &ThreadId, on: bool) -> Answer {
    let body = json!({"threadId": thread, "isShared": on});
    person.send(Method::PUT, "/project/thread/share", body).await
}

async fn open(person: &Person<'_>, thread: &ThreadId) -> Answer {
    person.get(&format!("/project/share/{thread}")).await
}

async fn content(person: &Person<'_>, thread: &ThreadId) -> Answer {
    person.get(&format!("/project/thread/{thread}/element/e-{thread}/content")).await
}

/// Metadata as a conversation leaves them.
async fn with_metadata(database: &Database, thread: &ThreadId) {
    let db = database.open().await;
    let metadata = json!({"chat_profile": "P", "chat_settings": {"s": 1}, "env": {"KEY": "v"}, "mine": 1});
    let Value::Object(metadata) = metadata else { unreachable!() };
    let update = ThreadUpdate { metadata, ..ThreadUpdate::default() };
    store(&*db, thread, vec![record("metadata", Fact::ThreadUpdated(update))]).await;
    db.close().await;
}

#[tokio::test]
async fn a_shared_thread_is_seen_by_others_until_it_is_not_shared_any_more() {
    on_both_with(password_app, 1, async |server, threads, database| {
        let thread = &threads[0];
        let house = server.stop().await;
        with_metadata(database, thread).await;
        let at = |config: &mut rejoinder::Config| config.database_url = Some(database.url().to_owned());
        let server = house.serve_with(password_app(), at).await;
        let (anna, bert) = (server.person(ANNA).await, server.person("bert").await);
        assert_eq!(open(&bert, thread).await.status, StatusCode::NOT_FOUND);
        assert_eq!(content(&bert, thread).await.detail(), "Thread not found");

        assert_eq!(share(&anna, thread, true).await.json(), json!({"success": true}));
        let seen = open(&bert, thread).await.json();
        assert_eq!(seen["steps"][0]["output"], "Hello World");
        let metadata = seen["metadata"].as_object().unwrap();
        assert_eq!(metadata["is_shared"], true);
        assert!(metadata["shared_at"].as_str().unwrap().ends_with('Z'), "{metadata:?}");
        assert_eq!(metadata.keys().collect::<Vec<_>>(), ["is_shared", "mine", "shared_at"], "the rest is the owner's");
        let url = seen["elements"][0]["url"].as_str().unwrap();
        assert_eq!(bert.get(url).await.text, "a note", "what the thread shows can be seen, too");
        let own = anna.get(&format!("/project/thread/{thread}")).await.json();
        assert_eq!(own["metadata"]["chat_profile"], "P");
        assert_eq!(bert.get(&format!("/project/thread/{thread}")).await.status, StatusCode::NOT_FOUND);
        let renamed = bert.send(Method::PUT, "/project/thread", json!({"threadId": thread, "name": "x"})).await;
        assert_eq!(renamed.status, StatusCode::NOT_FOUND, "to see is not to change");

        assert_eq!(share(&anna, thread, false).await.json(), json!({"success": true}));
        assert_eq!(open(&bert, thread).await.status, StatusCode::NOT_FOUND);
        assert_eq!(content(&bert, thread).await.status, StatusCode::NOT_FOUND);
        let own = anna.get(&format!("/project/thread/{thread}")).await.json();
        assert_eq!((&own["metadata"]["is_shared"], own["metadata"].get("shared_at")), (&json!(false), None));
    })
    .await;
}

#[tokio::test]
async fn an_anonymous_visitor_of_an_app_with_a_login_sees_nothing_shared() {
    on_both_with(password_app, 1, async |server, threads, _| {
        share(&server.person(ANNA).await, &threads[0], true).await;
        assert_eq!(open(&server.visitor(), &threads[0]).await.status, StatusCode::UNAUTHORIZED);
        assert_eq!(content(&server.visitor(), &threads[0]).await.status, StatusCode::UNAUTHORIZED);
        let bert = server.person("bert").await;
        for body in [
            json!({}),
            json!({"threadId": threads[0]}),
            json!({"threadId": threads[0], "isShared": "yes"}),
            json!({"threadId": 7, "isShared": true}),
        ] {
            let answer = bert.send(Method::PUT, "/project/thread/share", body.clone()).await;
            assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        }
        for id in ["unknown", "%00", "%F0%9F%9A%80"] {
            let answer = bert.get(&format!("/project/share/{id}")).await;
            assert_eq!((answer.status.as_u16(), answer.detail().as_str()), (404, "Thread not found"), "{id}");
        }
    })
    .await;
}

/// Who was asked about.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<String>>>);

async fn sign_in(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

async fn answer(_: Chat) {}

async fn decide(thread: SharedThread, user: Option<User>, State(asked): State<Asked>) -> rejoinder::Result<bool> {
    let viewer = user.map(|user| user.identifier).unwrap_or_default();
    asked.0.lock().unwrap().push(format!("{viewer}: {}", thread.0.steps[0].output));
    match viewer.as_str() {
        "bert" => Ok(true),
        "carla" => Err(HookError::tell("no idea")),
        "dora" => panic!("no idea"),
        _ => Ok(false),
    }
}

#[tokio::test]
async fn the_application_may_let_somebody_see_what_is_not_shared() {
    let asked = Asked::default();
    let app = || {
        let app = App::new().with_state(asked.clone()).on_password_login(sign_in).on_message(answer);
        app.on_shared_thread_view(decide).build().unwrap()
    };
    on_both_with(app, 1, async |server, threads, _| {
        asked.0.lock().unwrap().clear();
        for (name, status) in [("bert", 200), ("carla", 404), ("dora", 404), ("emil", 404)] {
            let person = server.person(name).await;
            assert_eq!(open(&person, &threads[0]).await.status.as_u16(), status, "{name}");
            assert_eq!(content(&person, &threads[0]).await.status.as_u16(), status, "{name}");
        }
        assert_eq!(asked.0.lock().unwrap()[0], "bert: Hello World");
    })
    .await;
}

#[tokio::test]
async fn the_page_offers_sharing_where_the_app_wants_it_and_decides_it() {
    let file = "[features]\nallow_thread_sharing = true\n";
    let asked = Asked::default();
    let app = || App::new().with_state(asked.clone()).on_message(answer);
    for (file, app, expected) in [
        (file, app().on_shared_thread_view(decide), true),
        (file, app(), false),
        ("", app().on_shared_thread_view(decide), false),
    ] {
        let server = House::new().file(".chainlit/config.toml", file).serve(app.build().unwrap()).await;
        let settings = server.visitor().get("/project/settings").await.json();
        assert_eq!(settings["threadSharing"], expected);
    }
}
