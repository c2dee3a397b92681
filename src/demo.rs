//! The demo: a scripted assistant that shows streaming, tool steps and a question, without a model or a key.

use std::time::Duration;

use crate::chat::Chat;
use crate::hook::{HeaderLogin, ResumedThread, UserMessage, UserSession};
use crate::protocol::User;
use crate::{App, BuildError};

/// The demo as an application.
///
/// # Errors
/// Never, as it registers all that its hooks want.
pub fn demo() -> Result<App, BuildError> {
    App::new()
        .on_header_login(sign_in_local_visitor)
        .on_chat_start(greet)
        .on_chat_resume(welcome_back)
        .on_message(answer)
        .build()
}

/// Whoever sits at this machine is signed in without a form, so that history and resume work at the first run.
async fn sign_in_local_visitor(login: HeaderLogin) -> Option<User> {
    login.local.then(|| User { display_name: Some("You".into()), ..User::new("local") })
}

const GREETING: &str = "Hello! I am a scripted assistant: no model, no key. Try one of these words:\n\n\
    - **stream**: an answer that grows token by token\n\
    - **tool**: an answer that looks something up in a step\n\
    - **ask**: a question that I ask you\n\
    - **count**: something that I remember, also after a reload\n\n\
    Then pull the plug: stop the server in mid-stream, start it again, and look.";

async fn greet(chat: Chat) -> crate::Result {
    chat.say(GREETING).await?;
    Ok(())
}

/// Opening a thread again needs nothing but this hook's presence.
async fn welcome_back(_thread: ResumedThread) {}

async fn answer(chat: Chat, message: UserMessage, session: UserSession) -> crate::Result {
    match message.text().trim().to_lowercase().as_str() {
        "stream" => stream(chat).await,
        "tool" => look_up(chat).await,
        "ask" => ask(chat).await,
        "count" => count(chat, session).await,
        _ => {
            let text = format!("You said: {}\n\nI know **stream**, **tool**, **ask** and **count**.", message.text());
            chat.say(text).await?;
            Ok(())
        }
    }
}

async fn stream(chat: Chat) -> crate::Result {
    let story = "A line may break at any moment. The words that were under way are not lost: the server knows which of \
        them your page has seen, and says the others again when you are back. Nothing is missing, and nothing stands \
        there twice. You may close the lid of your laptop now and open it again in a minute; I shall be done by then.";
    let mut reply = chat.reply();
    for word in story.split_inclusive(' ') {
        reply.push(word).await?;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    reply.finish().await?;
    Ok(())
}

async fn look_up(chat: Chat) -> crate::Result {
    let pages = chat
        .step("search the library")
        .tool()
        .input("how to reconnect")
        .run(async |step| {
            tokio::time::sleep(Duration::from_millis(400)).await;
            step.output("3 pages: proof of arrival, catching up, resuming once").await?;
            Ok(3)
        })
        .await?;
    chat.say(format!("I looked it up and found {pages} pages.")).await?;
    Ok(())
}

async fn ask(chat: Chat) -> crate::Result {
    match chat.ask("What is your name?").timeout(Duration::from_secs(300)).await {
        Ok(answer) => chat.say(format!("Nice to meet you, {}!", answer.text)).await?,
        Err(_) => chat.say("Another time, then.").await?,
    };
    Ok(())
}

async fn count(chat: Chat, session: UserSession) -> crate::Result {
    let count = session.get("count").and_then(|count| count.as_u64()).unwrap_or(0) + 1;
    session.set("count", count);
    chat.say(format!("In this conversation I have counted to {count}.")).await?;
    Ok(())
}
