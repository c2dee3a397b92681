//! The demo: a scripted assistant that shows what a page can do, without a model or a key. Each starter shows one thing.

mod choose;
mod show;
mod talk;

use crate::chat::Chat;
use crate::hook::{HeaderLogin, ResumedThread, UserMessage, UserSession};
use crate::protocol::{Starter, User};
use crate::{App, BuildError};

/// The demo as an application.
///
/// # Errors
/// Never, as it registers all that its hooks want.
pub fn demo() -> Result<App, BuildError> {
    App::new()
        .on_header_login(sign_in_local_visitor)
        .set_starters(starters)
        .on_chat_start(prepare)
        .on_chat_resume(welcome_back)
        .on_message(answer)
        .on_settings_update(choose::settings_changed)
        .on_action("again", choose::press_again)
        .build()
}

/// Whoever sits at this machine is signed in without a form, so that history and resume work at the first run.
async fn sign_in_local_visitor(login: HeaderLogin) -> Option<User> {
    login.local.then(|| User { display_name: Some("You".into()), ..User::new("local") })
}

/// What is on a starter, and the word that it sends.
const STARTERS: [(&str, &str); 11] = [
    ("Let an answer grow", "stream"),
    ("Look something up", "tool"),
    ("Be asked a question", "ask"),
    ("Choose by a button", "buttons"),
    ("Hand over a file", "file"),
    ("See pictures and tables", "elements"),
    ("Follow a list of tasks", "tasks"),
    ("Open the side view", "side"),
    ("Use commands and modes", "commands"),
    ("Change the settings", "settings"),
    ("Count across reloads", "count"),
];

async fn starters() -> Vec<Starter> {
    STARTERS.iter().map(|(label, word)| Starter::new(*label, *word)).collect()
}

/// Says nothing: a page offers its starters only while it is empty.
async fn prepare(chat: Chat) -> crate::Result {
    choose::offer_settings(&chat).await
}

async fn welcome_back(chat: Chat, _thread: ResumedThread) -> crate::Result {
    choose::offer_settings(&chat).await
}

async fn answer(chat: Chat, message: UserMessage, session: UserSession) -> crate::Result {
    match message.text().trim().to_lowercase().as_str() {
        "stream" => talk::stream(chat).await,
        "tool" => talk::look_up(chat).await,
        "ask" => talk::ask(chat).await,
        "count" => talk::count(chat, session).await,
        "buttons" => choose::buttons(chat).await,
        "file" => choose::file(chat).await,
        "commands" => choose::commands(chat).await,
        "settings" => choose::settings(chat).await,
        "elements" => show::elements(chat).await,
        "tasks" => show::tasks(chat).await,
        "side" => show::side(chat).await,
        _ => echo(chat, message).await,
    }
}

async fn echo(chat: Chat, message: UserMessage) -> crate::Result {
    let loud = chat.settings_values().get("loud") == Some(&true.into());
    let said = if loud { message.text().to_uppercase() } else { message.text().to_owned() };
    let mut text = format!("You said: {said}");
    if let Some(command) = &message.command {
        text += &format!("\n\nIt came with the command **{command}**.");
    }
    for file in message.files() {
        text += &format!("\n\nIt came with **{}**, {} bytes.", file.name, file.size);
    }
    let words: Vec<String> = STARTERS.iter().map(|(_, word)| format!("**{word}**")).collect();
    text += &format!("\n\nI am a scripted assistant: no model, no key. I know {}.", words.join(", "));
    chat.say(text).await?;
    Ok(())
}
