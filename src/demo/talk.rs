//! Answers, steps, questions, and what is remembered.

use std::time::Duration;

use crate::chat::Chat;
use crate::hook::UserSession;

pub(super) async fn stream(chat: Chat) -> crate::Result {
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

pub(super) async fn look_up(chat: Chat) -> crate::Result {
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

pub(super) async fn ask(chat: Chat) -> crate::Result {
    match chat.ask("What is your name?").timeout(Duration::from_secs(300)).await {
        Ok(answer) => chat.say(format!("Nice to meet you, {}!", answer.text)).await?,
        Err(_) => chat.say("Another time, then.").await?,
    };
    Ok(())
}

pub(super) async fn count(chat: Chat, session: UserSession) -> crate::Result {
    let count = session.get("count").and_then(|count| count.as_u64()).unwrap_or(0) + 1;
    session.set("count", count);
    chat.say(format!("In this conversation I have counted to {count}.")).await?;
    Ok(())
}
