//! Votes over HTTP.

use std::sync::{Arc, Mutex};

use rejoinder::hook::{HookError, PasswordLogin};
use rejoinder::id::ThreadId;
use rejoinder::protocol::{Feedback, User};
use rejoinder::{App, Chat, State};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::thread::on_both_with;
use crate::support::http::{Answer, Person};
use crate::support::raw::Raw;
use crate::support::records::ANNA;
use crate::support::server::Running;

/// A vote, and whose it was.
type Heard = (Feedback, Option<String>);

/// What the hook was told, and what it does then.
#[derive(Clone, Default)]
struct Votes {
    heard: Arc<Mutex<Vec<Heard>>>,
    fails: Arc<Mutex<&'static str>>,
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

async fn answer(chat: Chat) -> rejoinder::Result {
    chat.say("an answer").await?;
    Ok(())
}

async fn on_feedback(vote: Feedback, user: Option<User>, State(votes): State<Votes>) -> rejoinder::Result {
    votes.heard.lock().unwrap().push((vote, user.map(|user| user.identifier)));
    let fails = *votes.fails.lock().unwrap();
    match fails {
        "fails" => Err(HookError::tell("no")),
        "panics" => panic!("no"),
        _ => Ok(()),
    }
}

fn voting(votes: &Votes) -> App {
    let app = App::new().with_state(votes.clone()).on_password_login(sign_in);
    app.on_message(answer).on_feedback(on_feedback).build().unwrap()
}

async fn vote(person: &Person<'_>, feedback: Value) -> Answer {
    person.send(Method::PUT, "/feedback", json!({"feedback": feedback, "sessionId": "none"})).await
}

async fn take_back(person: &Person<'_>, id: &Value) -> Answer {
    person.send(Method::DELETE, "/feedback", json!({"feedbackId": id})).await
}

/// The votes that the thread shows.
async fn shown(person: &Person<'_>, thread: &ThreadId) -> Vec<Value> {
    let thread = person.get(&format!("/project/thread/{thread}")).await.json();
    let steps = thread["steps"].as_array().unwrap();
    steps.iter().filter_map(|step| step.get("feedback").filter(|vote| !vote.is_null()).cloned()).collect()
}

async fn listed(person: &Person<'_>, value: u8) -> usize {
    let body = json!({"pagination": {"first": 10}, "filter": {"feedback": value}});
    person.post("/project/threads", body).await.json()["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_vote_is_stored_changed_and_taken_back() {
    let votes = Votes::default();
    on_both_with(
        || voting(&votes),
        1,
        async |server, threads, _| {
            votes.heard.lock().unwrap().clear();
            let anna = server.person(ANNA).await;
            let step = format!("m-{}", threads[0]);
            let good = json!({"forId": step, "threadId": threads[0], "value": 1, "comment": "good \u{1f44d}"});
            let answer = vote(&anna, good).await.json();
            assert_eq!(answer["success"], true);
            let id = answer["feedbackId"].clone();
            assert_eq!(shown(&anna, &threads[0]).await[0]["comment"], "good \u{1f44d}");
            assert_eq!((listed(&anna, 1).await, listed(&anna, 0).await), (1, 0));

            // Without the thread: it is known from the step.
            let changed = vote(&anna, json!({"id": id, "forId": step, "value": 0, "comment": null})).await.json();
            assert_eq!(changed["feedbackId"], id);
            let now = shown(&anna, &threads[0]).await;
            assert_eq!((now.len(), &now[0]["value"], &now[0]["comment"]), (1, &json!(0), &Value::Null));
            assert_eq!((listed(&anna, 1).await, listed(&anna, 0).await), (0, 1));

            for _ in 0..2 {
                assert_eq!(take_back(&anna, &id).await.json(), json!({"success": true}));
                assert_eq!(shown(&anna, &threads[0]).await, [] as [Value; 0]);
            }
            let heard = votes.heard.lock().unwrap().clone();
            let values: Vec<_> = heard.iter().map(|(vote, user)| (vote.value, user.as_deref())).collect();
            assert_eq!(values, [(1, Some(ANNA)), (0, Some(ANNA))]);
            assert_eq!(heard[1].0.thread_id.as_ref(), Some(&threads[0]), "the hook gets the whole vote");
            assert_eq!(heard[1].0.id.as_ref().map(|id| json!(id)), Some(id));
        },
    )
    .await;
}

/// Two tabs that both vote for the first time, as their pages believe.
#[tokio::test]
async fn a_step_has_one_vote() {
    let votes = Votes::default();
    on_both_with(
        || voting(&votes),
        1,
        async |server, threads, _| {
            let anna = server.person(ANNA).await;
            let step = format!("m-{}", threads[0]);
            let first = vote(&anna, json!({"forId": step, "value": 1})).await.json()["feedbackId"].clone();
            let second = vote(&anna, json!({"forId": step, "value": 0})).await.json()["feedbackId"].clone();
            assert_ne!(first, second);
            let now = shown(&anna, &threads[0]).await;
            assert_eq!((now.len(), &now[0]["value"]), (1, &json!(0)));
            // The first tab does not know that its vote is no more.
            let again = vote(&anna, json!({"id": first, "forId": step, "value": 1})).await;
            assert_eq!(again.status, StatusCode::OK);
            assert_eq!(shown(&anna, &threads[0]).await.len(), 1);
        },
    )
    .await;
}

/// Promise 22: votes are looked for among those of the caller.
#[tokio::test]
async fn a_foreign_step_and_a_foreign_vote_look_like_none() {
    let votes = Votes::default();
    on_both_with(
        || voting(&votes),
        2,
        async |server, threads, _| {
            let (anna, bert) = (server.person(ANNA).await, server.person("bert").await);
            let step = format!("m-{}", threads[0]);
            let unknown = "00000000-0000-4000-8000-000000000000";
            let mut answers = Vec::new();
            for feedback in [
                json!({"forId": step, "threadId": threads[0], "value": 1}),
                json!({"forId": step, "value": 1}),
                json!({"forId": unknown, "threadId": unknown, "value": 1}),
                json!({"forId": "\0", "value": 1}),
            ] {
                let answer = vote(&bert, feedback).await;
                answers.push((answer.status.as_u16(), answer.text));
            }
            let none = (404, r#"{"detail":"Thread not found"}"#.to_owned());
            assert!(answers.iter().all(|answer| *answer == none), "{answers:?}");
            let elsewhere = vote(&anna, json!({"forId": step, "threadId": threads[1], "value": 1})).await;
            assert_eq!((elsewhere.status.as_u16(), elsewhere.text), none, "a step that is in another thread");

            let id = vote(&anna, json!({"forId": step, "value": 1})).await.json()["feedbackId"].clone();
            let other = format!("m-{}", threads[1]);
            let moved = vote(&anna, json!({"id": id, "forId": other, "value": 0})).await.json();
            assert_ne!(moved["feedbackId"], id, "a vote stays where it is");
            for (id, of) in [(&id, "foreign"), (&json!(unknown), "unknown"), (&json!("\0"), "none")] {
                let answer = take_back(&bert, id).await;
                assert_eq!((answer.status, answer.json()), (StatusCode::OK, json!({"success": true})), "{of}");
            }
            assert_eq!(shown(&anna, &threads[0]).await.len(), 1, "and it is still there");
        },
    )
    .await;
}

#[tokio::test]
async fn a_hook_that_fails_takes_no_vote_away() {
    let votes = Votes::default();
    on_both_with(
        || voting(&votes),
        1,
        async |server, threads, _| {
            let anna = server.person(ANNA).await;
            for how in ["fails", "panics"] {
                *votes.fails.lock().unwrap() = how;
                let answer = vote(&anna, json!({"forId": format!("m-{}", threads[0]), "value": 1})).await;
                assert_eq!((answer.status, answer.json()["success"].clone()), (StatusCode::OK, json!(true)), "{how}");
            }
            assert_eq!(shown(&anna, &threads[0]).await.len(), 1);
        },
    )
    .await;
}

/// Knowing the id of a step of an anonymous thread is not enough to vote on it.
#[tokio::test]
async fn whoever_has_no_name_votes_from_their_own_tab() {
    let votes = Votes::default();
    let app = App::new().with_state(votes.clone()).on_message(answer).on_feedback(on_feedback).build().unwrap();
    let server = Running::start(app).await;
    let mut tab = Raw::connect(server.addr, "S").await;
    let mut other = Raw::connect(server.addr, "other").await;
    for page in [&mut tab, &mut other] {
        page.emit("connection_successful", &[]).await;
    }
    let message = json!({"id": uuid::Uuid::new_v4(), "type": "user_message", "output": "hi", "createdAt": ""});
    tab.emit("client_message", &[json!({"message": message})]).await;
    let run = loop {
        let (name, step) = tab.event().await.unwrap();
        if name == "update_message" && step["type"] == "run" {
            break step["id"].clone();
        }
    };
    let visitor = server.visitor();
    let from = async |session: Value| {
        let body = json!({"feedback": {"forId": run, "value": 1}, "sessionId": session});
        visitor.send(Method::PUT, "/feedback", body).await
    };
    for session in [json!("other"), json!("unknown"), Value::Null] {
        assert_eq!(from(session.clone()).await.status, StatusCode::NOT_FOUND, "{session}");
    }
    let id = from(json!("S")).await.json()["feedbackId"].clone();
    assert_eq!(take_back(&visitor, &id).await.status, StatusCode::OK);
    assert_eq!(votes.heard.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn bad_votes_are_refused() {
    let votes = Votes::default();
    on_both_with(
        || voting(&votes),
        1,
        async |server, threads, _| {
            let anna = server.person(ANNA).await;
            let step = format!("m-{}", threads[0]);
            for body in [
                json!({}),
                json!([]),
                json!({"feedback": null}),
                json!({"feedback": {"forId": step}}),
                json!({"feedback": {"value": 1}}),
                json!({"feedback": {"forId": 7, "value": 1}}),
                json!({"feedback": {"forId": step, "value": 2}}),
                json!({"feedback": {"forId": step, "value": -1}}),
                json!({"feedback": {"forId": step, "value": 0.5}}),
                json!({"feedback": {"forId": step, "value": "1"}}),
                json!({"feedback": {"forId": step, "value": true}}),
                json!({"feedback": {"forId": step, "value": 1, "comment": 5}}),
                json!({"feedback": {"forId": step, "value": 1, "comment": "a\0b"}}),
                json!({"feedback": {"forId": step, "value": 1, "comment": "x".repeat(20_001)}}),
                json!({"feedback": {"forId": step, "value": 1, "threadId": {}}}),
                json!({"feedback": {"forId": step, "value": 1}, "sessionId": 5}),
            ] {
                let answer = anna.send(Method::PUT, "/feedback", body.clone()).await;
                assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {}", answer.text);
            }
            for body in [json!({}), json!({"feedbackId": null}), json!({"feedbackId": 5}), json!("x")] {
                let answer = anna.send(Method::DELETE, "/feedback", body.clone()).await;
                assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {}", answer.text);
            }
            for method in [Method::PUT, Method::DELETE] {
                let answer = server.visitor().send(method, "/feedback", json!({})).await;
                assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
            }
            assert_eq!(shown(&anna, &threads[0]).await, [] as [Value; 0]);
            let head = anna.get(&format!("/project/thread/{}", threads[0])).await;
            assert_eq!(head.status, StatusCode::OK);
        },
    )
    .await;
}
