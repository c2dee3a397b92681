//! The binary: the commands, and a demo to serve.

use std::process::ExitCode;

use rejoinder::hook::HeaderLogin;
use rejoinder::protocol::User;
use rejoinder::{App, Chat, UserMessage};

fn main() -> ExitCode {
    let app = App::new().on_header_login(whoever_is_here).on_chat_start(greet).on_message(echo).build();
    match app {
        Ok(app) => rejoinder::cli::demo(app),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn whoever_is_here(login: HeaderLogin) -> rejoinder::Result<Option<User>> {
    Ok(login.local.then(|| User::new("you")))
}

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.say("hello").await?;
    Ok(())
}

async fn echo(chat: Chat, message: UserMessage) -> rejoinder::Result {
    chat.say(message.text()).await?;
    Ok(())
}
