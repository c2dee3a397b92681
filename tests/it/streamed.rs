//! A streamed text stands where it began, on the page and in the thread that is read later.

use rejoinder::hook::{PasswordLogin, ResumedThread};
use rejoinder::protocol::User;
use rejoinder::{App, Chat, UserMessage};
use serde_json::Value;

use crate::support::person::Person;
use crate::support::server::Running;

fn interrupting_app() -> App {
    App::new().on_password_login(anybody).on_chat_resume(nothing).on_message(interrupt_yourself).build().unwrap()
}

async fn anybody(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

async fn nothing(_: ResumedThread) {}

/// Says something while it streams something else.
async fn interrupt_yourself(chat: Chat, _: UserMessage) -> rejoinder::Result {
    let mut reply = chat.reply();
    reply.push("once upon ").await?;
    chat.say("by the way").await?;
    reply.push("a time").await?;
    reply.finish().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_began_first_stands_first_also_when_it_ended_last() {
    let server = Running::start(interrupting_app()).await;
    let emma = Person::sign_in(&format!("http://{}", server.addr), "emma").await;
    let mut visit = emma.visit("").await;
    visit.turn("a story").await;
    let created = visit.seen.iter().filter(|(name, _)| matches!(name.as_str(), "new_message" | "stream_start"));
    let shown: Vec<&str> = created.filter_map(|(_, step)| answer(step)).collect();
    assert_eq!(shown, ["once upon ", "by the way"]);
    visit.leave().await;

    let [thread] = &emma.threads().await[..] else { panic!("one thread") };
    let thread = thread["id"].as_str().unwrap();
    let mut visit = emma.visit(thread).await;
    for read in [visit.thread().await, emma.thread(thread).await] {
        let texts: Vec<&str> = read["steps"].as_array().unwrap().iter().filter_map(answer).collect();
        assert_eq!(texts, ["once upon a time", "by the way"]);
    }
}

fn answer(step: &Value) -> Option<&str> {
    (step["type"] == "assistant_message").then(|| step["output"].as_str().unwrap())
}
