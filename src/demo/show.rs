//! Pictures, tables, lists of tasks, the side view.

use std::time::Duration;

use serde_json::json;

use crate::chat::{Chat, Message, NewElement};
use crate::protocol::{Task, TaskList, TaskStatus};

const PICTURE: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 120 60\">\
    <rect width=\"120\" height=\"60\" fill=\"#1e293b\"/>\
    <path d=\"M10 30h35l8-14 10 28 8-14h39\" fill=\"none\" stroke=\"#38bdf8\" stroke-width=\"3\"/></svg>";

pub(super) async fn elements(chat: Chat) -> crate::Result {
    let figure = json!({
        "data": [{"type": "bar", "x": ["lost", "doubled", "in order"], "y": [0, 0, 42]}],
        "layout": {"title": {"text": "messages"}, "height": 260},
    });
    let table = json!({
        "columns": ["what", "how often"],
        "index": [0, 1],
        "data": [["lost", 0], ["doubled", 0]],
    });
    let message = Message::new("A picture, a table, a figure, and a file to keep:")
        .element(NewElement::image("line.svg", PICTURE).mime("image/svg+xml"))
        .element(NewElement::dataframe("table", &table))
        .element(NewElement::plotly("figure", &figure))
        .element(NewElement::file("numbers.csv", "what,how often\nlost,0\ndoubled,0\n"));
    chat.send(message).await?;
    Ok(())
}

pub(super) async fn tasks(chat: Chat) -> crate::Result {
    let titles = ["read the question", "think", "write the answer"];
    for done in 0..=titles.len() {
        let status = |index: usize| match index {
            index if index < done => TaskStatus::Done,
            index if index == done => TaskStatus::Running,
            _ => TaskStatus::Ready,
        };
        let task =
            |(index, title): (usize, &&str)| Task { title: (*title).to_owned(), status: status(index), for_id: None };
        let tasks = titles.iter().enumerate().map(task).collect();
        let status = if done == titles.len() { "Done" } else { "Working…" };
        chat.tasks(&TaskList { status: status.to_owned(), tasks }).await?;
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    chat.say("All three tasks are done.").await?;
    Ok(())
}

pub(super) async fn side(chat: Chat) -> crate::Result {
    let note = NewElement::text("note", "Beside the chat there is room for what belongs to all of it.");
    chat.sidebar("Notes", vec![note]).await?;
    chat.say("The side view is open.").await?;
    Ok(())
}
