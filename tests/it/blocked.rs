//! A hook that blocks its thread: it holds nobody else up, and stop ends its run all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::User;
use rejoinder::{App, Chat, State, UserMessage};

use crate::support::person::Person;
use crate::support::server::Running;

/// 1: it blocks; 2: it is over.
#[derive(Clone, Default)]
struct Blocking(Arc<AtomicU8>);

async fn anybody(login: PasswordLogin) -> Option<User> {
    Some(User::new(login.username))
}

async fn answer(chat: Chat, message: UserMessage, State(blocking): State<Blocking>) -> rejoinder::Result {
    if message.text() == "block" {
        blocking.0.store(1, Ordering::SeqCst);
        // Longer than a stopped run is waited for.
        std::thread::sleep(Duration::from_secs(16));
        blocking.0.store(2, Ordering::SeqCst);
        chat.say("too late").await?;
    }
    chat.say(format!("echo {}", message.text())).await?;
    Ok(())
}

/// Red when hooks run on the server's own threads, or when a stopped run waits for its hook.
#[tokio::test]
async fn a_blocking_hook_holds_nobody_up_and_is_overruled() {
    let blocking = Blocking::default();
    let app = App::new().with_state(blocking.clone()).on_password_login(anybody).on_message(answer).build().unwrap();
    let server = Running::start(app).await;
    let base = format!("http://{}", server.addr);
    let (emma, otto) = (Person::sign_in(&base, "emma").await, Person::sign_in(&base, "otto").await);
    let (mut blocked, mut other) = (emma.visit("").await, otto.visit("").await);

    blocked.say("block").await;
    for turn in 0..20 {
        other.turn(&format!("turn {turn}")).await;
    }
    assert_eq!(blocking.0.load(Ordering::SeqCst), 1, "others went on while it blocked");

    blocked.line().emit("stop", &[]).await;
    blocked.reads("Task manually stopped.").await;
    blocked.until(|name, step| name == "update_message" && step["name"] == "on_message").await;
    blocked.until(|name, _| name == "task_end").await;
    assert_eq!(blocking.0.load(Ordering::SeqCst), 1, "its run ended over its head");
    while blocking.0.load(Ordering::SeqCst) == 1 {
        other.turn("waiting").await;
    }
    blocked.turn("again").await;
    assert!(blocked.seen.iter().all(|(_, step)| step["output"] != "too late"), "what it said afterwards is nowhere");
}
