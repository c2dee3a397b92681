//! The stop button over HTTP.

use rejoinder::hook::UserMessage;
use rejoinder::{App, Chat};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::http::{Answer, Person};
use crate::support::page::sign_in;
use crate::support::records::ANNA;
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

/// Red when: a key is not remembered (the second run is stopped by the first one's key).
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
