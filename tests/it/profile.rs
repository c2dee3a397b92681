//! A profile changes the settings of its page: how its messages are signed, what it shows of a chain of thought, what a
//! person must enter (chat-wire 1.8, 4.3, 7.3).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::{ChatProfile, User};
use rejoinder::{App, Chat, State, UserMessage};
use serde_json::{Value, json};

use crate::support::person::{Person, Visit};
use crate::support::raw::Raw;
use crate::support::server::Running;

async fn anybody(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

async fn profiles() -> Vec<ChatProfile> {
    vec![
        ChatProfile::new("open", ""),
        ChatProfile::new("Still / 1", "").config_overrides(json!({"ui": {"name": "Stilla", "cot": "hidden"}})),
        ChatProfile::new("keyed", "").config_overrides(json!({"project": {"user_env": ["KEY"]}})),
    ]
}

/// How often a thread was resumed.
#[derive(Clone, Default)]
struct Resumed(Arc<AtomicU32>);

async fn resume(State(resumed): State<Resumed>) {
    resumed.0.fetch_add(1, Ordering::SeqCst);
}

async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
    if message.text() == "think" {
        let think = chat.step("think").tool();
        think
            .run(async |step| {
                step.input("secret input");
                step.push("secret ").await?;
                step.push("token").await?;
                step.output("secret output").await?;
                step.chat().say("spoken inside").await?;
                Ok(())
            })
            .await?;
    }
    chat.say("said").await?;
    Ok(())
}

async fn serve() -> Running {
    serve_counting(Resumed::default()).await
}

async fn serve_counting(resumed: Resumed) -> Running {
    let app = App::new().with_state(resumed).on_password_login(anybody).on_chat_resume(resume).on_message(answer);
    Running::start(app.set_chat_profiles(profiles).build().unwrap()).await
}

fn steps<'a>(page: &'a Visit, name: &'a str) -> impl Iterator<Item = &'a (String, Value)> {
    page.seen.iter().filter(move |(_, step)| step["name"] == name)
}

/// Every word about a hidden step is a stub, and nothing of its content reaches the page; the store has all of it, and a
/// page of the same thread that shows everything gets it.
#[tokio::test]
async fn a_hidden_chain_of_thought_is_sent_as_stubs_and_stored_as_it_is() {
    let server = serve().await;
    let base = format!("http://{}", server.addr);
    let anna = Person::sign_in(&base, "anna").await;
    let session = uuid::Uuid::new_v4().to_string();
    let mut hidden = anna.visit_under("Still%20%2F%201", &session, "").await;
    hidden.turn("think").await;
    let about: Vec<_> = steps(&hidden, "think").cloned().collect();
    assert!(about.len() >= 2, "{about:?}");
    for (event, step) in &about {
        assert!(["new_message", "update_message"].contains(&event.as_str()), "{event}");
        let mut keys: Vec<_> = step.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["id", "input", "name", "output", "parentId", "threadId", "type"]);
        assert_eq!((&step["input"], &step["output"], &step["type"]), (&json!(""), &json!(""), &json!("tool")));
    }
    let text = format!("{:?}", hidden.seen);
    assert!(!text.contains("secret") && !text.contains("stream_token"), "{text}");
    let spoken = hidden.seen.iter().find(|(_, step)| step["output"] == "spoken inside").unwrap();
    assert_eq!(spoken.1["parentId"], about[0].1["id"], "what is said inside hangs on the stub");
    let runs: Vec<_> = steps(&hidden, "on_message").collect();
    assert!(runs.iter().all(|(_, run)| run.get("createdAt").is_some()), "runs that pages look through are whole");

    // What is said again at a reconnect is no more than what was said.
    let thread = hidden.seen.iter().find(|(name, _)| name == "first_interaction").unwrap().1["thread_id"].clone();
    drop(hidden);
    let mut again = anna.visit_under("Still%20%2F%201", &session, "").await;
    again.turn("on").await;
    let text = format!("{:?}", again.seen);
    assert!(!text.contains("secret"), "{text}");
    assert!(steps(&again, "think").all(|(_, step)| step.get("createdAt").is_none()));

    let stored = anna.thread(thread.as_str().unwrap()).await;
    let kept = stored["steps"].as_array().unwrap().iter().find(|step| step["name"] == "think").unwrap();
    assert_eq!((&kept["input"], &kept["output"]), (&json!("secret input"), &json!("secret output")));
}

#[tokio::test]
async fn messages_are_signed_by_the_name_of_the_profile() {
    let server = serve().await;
    let anna = Person::sign_in(&format!("http://{}", server.addr), "anna").await;
    for (profile, author) in
        [("open", "Assistant"), ("Still%20%2F%201", "Stilla"), ("unknown", "Assistant"), ("", "Assistant")]
    {
        let session = uuid::Uuid::new_v4().to_string();
        let mut page = anna.visit_under(profile, &session, "").await;
        page.say("hi").await;
        assert_eq!(page.reads("said").await["name"], author, "{profile}");
    }
}

/// The page had chosen another profile, learns the thread's from the thread, asks for its settings and connects again
/// with the same session: it is the same session, and resumes nothing a second time.
#[tokio::test]
async fn a_thread_goes_on_under_its_own_profile() {
    let resumed = Resumed::default();
    let server = serve_counting(resumed.clone()).await;
    let anna = Person::sign_in(&format!("http://{}", server.addr), "anna").await;
    let mut first = anna.visit_under("Still%20%2F%201", &uuid::Uuid::new_v4().to_string(), "").await;
    first.turn("hi").await;
    let thread = first.seen.iter().find(|(name, _)| name == "first_interaction").unwrap().1["thread_id"].clone();
    let thread = thread.as_str().unwrap().to_owned();
    first.leave().await;

    let session = uuid::Uuid::new_v4().to_string();
    let mut page = anna.visit_under("open", &session, &thread).await;
    let shown = page.thread().await;
    assert_eq!(shown["metadata"]["chat_profile"], "Still / 1");
    page.leave().await;
    let mut page = anna.visit_under("Still%20%2F%201", &session, &thread).await;
    page.turn("think").await;
    // The thread may come again, as it may not have arrived.
    assert_eq!(resumed.0.load(Ordering::SeqCst), 1, "nothing is resumed again");
    let text = format!("{:?}", page.seen);
    assert!(!text.contains("secret") && text.contains("Stilla"), "{text}");
}

#[tokio::test]
async fn a_profile_may_want_values_of_its_visitors() {
    let server = serve().await;
    let anna = Person::sign_in(&format!("http://{}", server.addr), "anna").await;
    for (profile, env, refusal) in [
        ("keyed", "{}", Some("Missing user environment variables")),
        ("keyed", r#"{"OTHER": "v"}"#, Some("Missing user environment variable: KEY")),
        ("keyed", r#"{"KEY": "v"}"#, None),
        ("open", "{}", None),
    ] {
        let mut raw: Raw = anna.line().await;
        let auth = json!({
            "sessionId": uuid::Uuid::new_v4(), "threadId": "", "userEnv": env, "chatProfile": profile,
        });
        raw.say(&format!("40{auth}")).await;
        let answer = raw.packet().await.unwrap();
        match refusal {
            Some(text) => assert_eq!(answer, format!("44{}", json!({"message": text})), "{profile} {env}"),
            None => assert!(answer.starts_with("40{"), "{profile} {env}: {answer}"),
        }
    }
}
