//! Elements of every kind, the side view, tasks.

use rejoinder::chat::NewElement;
use rejoinder::protocol::{ElementKind, Task, TaskList, TaskStatus};
use rejoinder::{Chat, HookError};
use serde_json::json;

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../client-fixtures/chainlit/surface/files/", $name))
    };
}

pub fn element(kind: &str, display: &str) -> rejoinder::Result<NewElement> {
    const NAME: &str = "shown";
    let element = match kind {
        "text" => NewElement::text(NAME, "let shown = 1;").language("rust"),
        "image" => NewElement::image(NAME, file!("dot.png")).size("small"),
        "pdf" => NewElement::pdf(NAME, file!("two-pages.pdf")).at_page(2),
        "audio" => NewElement::audio(NAME, file!("tone.wav")),
        "video" => {
            let muted = json!({"file": {"attributes": {"muted": true}}});
            NewElement::video(NAME, file!("clip.webm")).player_config(muted)
        }
        "file" => NewElement::file(NAME, "a,b\n1,2\n").mime("text/csv"),
        "plotly" => {
            let bars = json!([{"type": "bar", "x": ["a", "b"], "y": [1, 3]}]);
            NewElement::plotly(NAME, &json!({"data": bars, "layout": {"title": {"text": "bars"}}}))
        }
        "dataframe" => {
            let people = json!([["Ada", 36], ["Bob", 7]]);
            NewElement::dataframe(NAME, &json!({"columns": ["name", "age"], "index": [0, 1], "data": people}))
        }
        "custom" => NewElement::custom("Counter", super::props(json!({"count": 1}))),
        "link" => NewElement::linked(ElementKind::Image, NAME, "/public/avatars/robin.png").size("medium"),
        _ => return Err(HookError::tell(format!("no element of kind {kind}"))),
    };
    Ok(match display {
        "side" => element.side(),
        "page" => element.page(),
        _ => element,
    })
}

pub async fn sidebar(chat: &Chat, what: &str) -> rejoinder::Result {
    if what == "close" {
        chat.close_sidebar().await?;
        chat.say("sidebar closed").await?;
    } else {
        chat.sidebar("Notes", vec![NewElement::text("note", "beside the chat")]).await?;
        chat.say("sidebar open").await?;
    }
    Ok(())
}

pub async fn tasks(chat: &Chat) -> rejoinder::Result {
    let task = |title: &str, status| Task { title: title.into(), status, for_id: None };
    let list = |status: &str, two| TaskList {
        status: status.into(),
        tasks: vec![
            task("one", TaskStatus::Done),
            task("two", two),
            task("three", TaskStatus::Ready),
            task("four", TaskStatus::Failed),
        ],
    };
    chat.tasks(&list("Running...", TaskStatus::Running)).await?;
    chat.tasks(&list("Done", TaskStatus::Done)).await?;
    chat.say("tasks done").await?;
    Ok(())
}
