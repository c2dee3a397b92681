//! The stop button over HTTP.

use rejoinder::hook::UserMessage;
use rejoinder::id::{ExecutionId, ThreadId};
use rejoinder::protocol::StepKind;
use rejoinder::record::Fact;
use rejoinder::store::{Partial, Stored};
use rejoinder::{App, Chat};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::stream::world::{follow, say};
use crate::support::http::{Answer, Person};
use crate::support::page::sign_in;
use crate::support::records::{ANNA, at, message, output, run_started, step};
use crate::support::server::Running;

/// An app whose answers take for ever.
fn slow_app() -> App {
    let login = async |login: rejoinder::hook::PasswordLogin| {
        (login.password == "pw").then(|| rejoinder::protocol::User::new(login.username))
    };
    App::new().on_password_login(login).on_message(slowly).build().unwrap()
}

async fn slowly(chat: Chat, message: UserMessage) -> rejoinder::Result {
    chat.say(format!("working on {}", message.text())).await?;
    std::future::pending::<()>().await;
    Ok(())
}

async fn cancel(person: &Person<'_>, thread: &str, key: &str, body: Value) -> (u16, Value) {
    let request = person.request(Method::POST, &format!("/sessions/{thread}/cancel"));
    let request = request.header("idempotency-key", key);
    let answer = Answer::of(if body.is_null() { request } else { request.json(&body) }).await;
    (answer.status.as_u16(), answer.json())
}

async fn snapshot(person: &Person<'_>, thread: &str) -> Value {
    let answer = person.get(&format!("/sessions/{thread}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

/// The ends of runs as the events tell them.
async fn stopped(person: &Person<'_>, thread: &str) -> Vec<Value> {
    let page = super::page(person, &thread.into(), "limit=200").await;
    let events = page["records"].as_array().unwrap().iter().map(|record| &record["event"]);
    let stopped =
        events.filter(|event| event["type"] == "execution.stopped" && event["payload"]["reason"] != "completed");
    stopped
        .map(|event| {
            let payload = &event["payload"];
            json!({"run": event["execution_id"], "reason": payload["reason"], "command": payload["command_id"]})
        })
        .collect()
}

/// Red when: a key is not remembered (the second run is stopped by the first one's key); when the end does not carry the
/// command.
#[tokio::test]
async fn a_run_is_stopped_once_and_by_whom_it_concerns() {
    let server = Running::start(slow_app()).await;
    let anna = server.person(ANNA).await;
    let mut page = sign_in(server.addr, ANNA).await.page();
    page.come(server.addr).await;
    page.send("one");
    page.until_text("working on one").await;
    let thread = page.thread();

    let running = snapshot(&anna, &thread).await;
    let run = running["execution"]["execution_id"].as_str().unwrap().to_owned();
    assert_eq!(running["execution_state"], json!({"id": run, "state": "running"}));
    assert_eq!(running["executions"].as_array().unwrap().len(), 1);

    let (status, body) = cancel(&anna, &thread, "k1", json!({"expected_execution_id": "another"})).await;
    assert_eq!(
        (status, &body["code"], &body["details"]["execution_id"]),
        (409, &json!("execution_mismatch"), &json!(run))
    );
    let (status, body) = cancel(&anna, &thread, "k2", json!({"expected_execution_id": run})).await;
    assert_eq!((status, &body["status"]), (202, &json!("stopping")), "{body}");
    let command = body["command_id"].clone();
    page.until("the run is over", |seen| seen.screen.steps().any(|step| step.output == "Task manually stopped.")).await;
    let mut state = Value::Null;
    for _ in 0..500 {
        state = snapshot(&anna, &thread).await;
        if state["execution_state"]["state"] == "idle" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(state["execution"]["state"], "stopped", "{state}");
    assert_eq!(
        (&state["execution"]["settled_by"], &state["execution"]["reason"]),
        (&json!("runner"), &json!("user_stop"))
    );
    assert_eq!(stopped(&anna, &thread).await, [json!({"run": run, "reason": "user_stop", "command": command})]);
    assert_eq!(cancel(&anna, &thread, "k3", json!(null)).await, (200, json!({"status": "already_idle"})));

    page.send("two");
    page.until_text("working on two").await;
    let (status, body) = cancel(&anna, &thread, "k2", json!({"expected_execution_id": run})).await;
    assert_eq!((status, &body["command_id"]), (202, &command), "the same key is the same command");
    let (status, body) = cancel(&anna, &thread, "k2", json!(null)).await;
    assert_eq!((status, &body["code"]), (409, &json!("idempotency_key_reused")));
    assert_eq!(snapshot(&anna, &thread).await["execution_state"]["state"], "running", "the second run goes on");
    assert_eq!(cancel(&anna, &thread, "k4", json!({})).await.0, 202);

    for (key, body) in [("", json!({})), ("k", json!([])), ("k", json!({"expected_execution_id": 7}))] {
        let (status, body) = cancel(&anna, &thread, key, body).await;
        assert_eq!((status, &body["code"]), (400, &json!("invalid_request")));
    }
    let without = anna.request(Method::POST, &format!("/sessions/{thread}/cancel"));
    assert_eq!(Answer::of(without).await.status, StatusCode::BAD_REQUEST);
}

/// One that a button stopped has no command; whoever cancels it while it unwinds gives it theirs, and each who does is told
/// the same one.
#[tokio::test]
async fn whoever_stops_what_stops_already_is_told_the_same_command() {
    let server = Running::start(stubborn_app()).await;
    let anna = server.person(ANNA).await;
    let mut page = sign_in(server.addr, ANNA).await.page();
    page.come(server.addr).await;
    page.send("one");
    page.until_text("working on one").await;
    let thread = page.thread();
    page.emit("stop", &[]);
    page.until_text("Task manually stopped.").await;
    let (status, first) = cancel(&anna, &thread, "k1", json!({})).await;
    assert_eq!(status, 202);
    let (_, second) = cancel(&anna, &thread, "k2", json!({})).await;
    assert_eq!(first["command_id"], second["command_id"]);
    // Its hook blocks for a while.
    let run = snapshot(&anna, &thread).await["execution"]["execution_id"].clone();
    let mut stream = follow(&anna, &thread.as_str().into(), "").await;
    let end = stream.until_event("execution.stopped").await;
    assert_eq!((&end["execution_id"], &end["payload"]["command_id"]), (&run, &first["command_id"]));
    let notices = page.texts().iter().filter(|text| *text == "Task manually stopped.").count();
    assert_eq!(notices, 1, "said once");
}

/// An app whose hook does not hear that it is to stop.
fn stubborn_app() -> App {
    let login = async |login: rejoinder::hook::PasswordLogin| {
        (login.password == "pw").then(|| rejoinder::protocol::User::new(login.username))
    };
    App::new().on_password_login(login).on_message(stubbornly).build().unwrap()
}

async fn stubbornly(chat: Chat, message: UserMessage) -> rejoinder::Result {
    chat.say(format!("working on {}", message.text())).await?;
    std::thread::sleep(std::time::Duration::from_secs(2));
    std::future::pending::<()>().await;
    Ok(())
}

/// A run that no conversation works on is ended by whoever stops it: the half text is kept as interrupted, what is open is
/// closed, and what comes late is put aside. Red when only conversations in memory are asked; when it is ended without
/// what is open in it; when the end is the runner's own (then the late output is shown).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_nobody_works_on_is_ended() {
    super::on_both(
        |_| Vec::new(),
        async |server, thread, database| {
            let anna = server.person(ANNA).await;
            let run: ExecutionId = "run".into();
            let told = |id: &str, fact: Fact| output(&run, id, fact);
            let (mut tool, mut half) =
                (step(&thread, "tool", StepKind::Tool, 1), step(&thread, "half", StepKind::AssistantMessage, 2));
            (tool.parent_id, tool.start) = (Some("run".into()), Some(at(1)));
            (half.parent_id, half.output) = (Some("run".into()), "so far".into());
            let records = vec![run_started(&thread, &run), told("t", Fact::StepStarted(tool))];
            say(&server, &thread, records).await;
            let partial = Partial { thread: thread.clone(), execution: Some(run.clone()), step: half };
            server.journal.store().save_partials(&[partial]).await.unwrap();

            assert_eq!(snapshot(&anna, thread.as_str()).await["execution_state"]["state"], "running");
            let other = json!({"expected_execution_id": "other"});
            let (status, body) = cancel(&anna, thread.as_str(), "k0", other).await;
            assert_eq!((status, &body["details"]["execution_id"]), (409, &json!("run")), "{body}");
            let mut stream = follow(&anna, &thread, "?after=3").await;
            stream.until("ready").await;
            let expected = json!({"expected_execution_id": "run"});
            let (status, body) = cancel(&anna, thread.as_str(), "k1", expected.clone()).await;
            assert_eq!((status, &body["status"]), (202, &json!("stopping")), "{body}");
            let events: Vec<Value> = stream.events(3).await.iter().map(|frame| frame.json()).collect();
            let types: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
            assert_eq!(types, ["tool.completed", "message.completed", "execution.stopped"]);
            let (half, end) = (&events[1]["payload"], &events[2]["payload"]);
            assert_eq!((&half["content"], &half["finish_reason"]), (&json!("so far"), &json!("interrupted")));
            assert_eq!((&end["reason"], &end["command_id"]), (&json!("user_stop"), &body["command_id"]));

            let state = snapshot(&anna, thread.as_str()).await;
            assert_eq!(state["execution_state"]["state"], "idle");
            assert_eq!(state["execution"]["settled_by"], "user");
            assert_eq!(cancel(&anna, thread.as_str(), "k1", expected.clone()).await, (202, body), "the same answer");
            let idle = (200, json!({"status": "already_idle"}));
            assert_eq!(cancel(&anna, thread.as_str(), "k2", expected).await, idle);
            assert_eq!(cancel(&anna, thread.as_str(), "k3", json!(null)).await, idle);
            let late = say(&server, &thread, vec![told("late", message(&thread, "late", "too late"))]).await;
            assert_eq!(late, [Stored::Quarantined]);
            assert_eq!(database.count("rejoinder_partials").await, 0);
        },
    )
    .await;
}

/// Of several runs, those that a conversation works on are told, the others ended; each end is told once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_id_everything_is_stopped() {
    let server = Running::start(slow_app()).await;
    let anna = server.person(ANNA).await;
    let mut page = sign_in(server.addr, ANNA).await.page();
    page.come(server.addr).await;
    page.send("one");
    page.until_text("working on one").await;
    let thread: ThreadId = page.thread().into();
    let live = snapshot(&anna, thread.as_str()).await["execution"]["execution_id"].as_str().unwrap().to_owned();
    say(&server, &thread, vec![run_started(&thread, &"left".into())]).await;
    let (status, body) = cancel(&anna, thread.as_str(), "k1", json!(null)).await;
    assert_eq!(status, 202);
    let mut stream = follow(&anna, &thread, "").await;
    let mut ended = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let end = stream.until_event("execution.stopped").await;
        assert_eq!(end["payload"]["command_id"], body["command_id"]);
        ended.insert(end["execution_id"].as_str().unwrap().to_owned());
    }
    assert_eq!(ended, [live, "left".to_owned()].into());
    assert_eq!(cancel(&anna, thread.as_str(), "k2", json!(null)).await, (200, json!({"status": "already_idle"})));
}
