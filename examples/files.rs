//! Reads the text files that people drop into the chat, and gives each back with its lines in order.
//!
//! `cargo run --example files -- serve`, then open <http://localhost:8000> and drop a list into it.

use std::process::ExitCode;

use rejoinder::chat::{AskError, NewElement};
use rejoinder::protocol::StoredFile;
use rejoinder::{App, Chat, Message, UserMessage};

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.say("Drop a text file here, and I sort its lines.").await?;
    Ok(())
}

async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
    if !message.files().is_empty() {
        return sort_all(&chat, message.files()).await;
    }
    match chat.ask_file("Which file?").accept("text/*").max_files(5).max_size_mb(1).await {
        Ok(files) => sort_all(&chat, &files).await,
        Err(AskError::TimedOut) => {
            chat.say("Another time, then.").await?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

async fn sort_all(chat: &Chat, files: &[StoredFile]) -> rejoinder::Result {
    for file in files {
        // The size is known before anything is read.
        if file.size > 1_000_000 {
            chat.say(format!("{} is too long for me.", file.name)).await?;
            continue;
        }
        let content = chat.read_file(&file.id).await?;
        let Ok(text) = String::from_utf8(content) else {
            chat.say(format!("{} is no text.", file.name)).await?;
            continue;
        };
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        let sorted = NewElement::file(format!("sorted {}", file.name), lines.join("\n")).mime("text/plain");
        let said = format!("{} has {} lines; here they are in order.", file.name, lines.len());
        chat.send(Message::new(said).element(sorted)).await?;
    }
    Ok(())
}

fn main() -> ExitCode {
    rejoinder::cli::main(App::new().on_chat_start(greet).on_message(answer).build())
}
