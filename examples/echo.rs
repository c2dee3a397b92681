//! The smallest app: it greets, and says back what it hears.
//!
//! `cargo run --example echo -- serve`, then open <http://localhost:8000>.

use std::process::ExitCode;

use rejoinder::{App, Chat, UserMessage};

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.say("Say something.").await?;
    Ok(())
}

async fn echo(chat: Chat, message: UserMessage) -> rejoinder::Result {
    chat.say(message.text()).await?;
    Ok(())
}

fn main() -> ExitCode {
    rejoinder::cli::main(App::new().on_chat_start(greet).on_message(echo).build())
}
