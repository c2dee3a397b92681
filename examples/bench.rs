//! The app that servers are measured with: greets, echoes, streams `stream K GAP` with the server's clock in each token.
//!
//! `CHAINLIT_AUTH_SECRET=… cargo run --release --example bench -- serve --port 18000`; `peer` signs in with the password
//! `peer`, and may open stored threads.

use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rejoinder::hook::{PasswordLogin, ResumedThread};
use rejoinder::protocol::User;
use rejoinder::{App, Chat, UserMessage};
use tokio::time::Instant;

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.say("hello").await?;
    Ok(())
}

async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
    let mut words = message.text().split(' ');
    if words.next() != Some("stream") {
        chat.say(message.text()).await?;
        return Ok(());
    }
    let count: u64 = words.next().unwrap_or("0").parse()?;
    let gap = Duration::from_millis(words.next().unwrap_or("0").parse()?);
    let mut reply = chat.reply();
    let mut due = Instant::now();
    for index in 0..count {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros();
        reply.push(format!("{index}@{now} ")).await?;
        if !gap.is_zero() {
            due += gap;
            tokio::time::sleep_until(due).await;
        }
    }
    reply.finish().await?;
    Ok(())
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "peer").then(|| User::new(login.username))
}

async fn welcome_back(_thread: ResumedThread) {}

fn main() -> ExitCode {
    let app =
        App::new().on_password_login(sign_in).on_chat_start(greet).on_chat_resume(welcome_back).on_message(answer);
    rejoinder::cli::main(app.build())
}
