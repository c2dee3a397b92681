//! The surface app: everything that the stock page, the copilot and @chainlit/react-client can show and do. It is the twin
//! of `client-fixtures/chainlit/surface.py`, hook by hook.
//!
//! `CHAINLIT_AUTH_SECRET=… cargo run --example surface -- serve --app-dir client-fixtures/chainlit/surface`; any name,
//! password `pw`. The messages it knows are in `on_message`.

mod choices;
mod elements;
mod settings;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rejoinder::chat::{AskError, NewAction, NewElement};
use rejoinder::hook::{Author, PasswordLogin, ResumedThread, Settings, SharedThread, WindowMessage};
use rejoinder::protocol::{Action, Feedback, ShowInput, StepKind, User};
use rejoinder::{App, Chat, HookError, Message, State, UserMessage};
use serde_json::{Map, Value, json};

/// The last vote, which comes by HTTP and has no chat.
#[derive(Clone, Default)]
struct LastVote(Arc<Mutex<Map<String, Value>>>);

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "pw").then(|| User::new(login.username).with("role", "user"))
}

async fn on_logout() -> Value {
    json!({"success": true, "bye": true})
}

async fn on_feedback(feedback: Feedback, State(LastVote(vote)): State<LastVote>) {
    let mut vote = vote.lock().unwrap_or_else(PoisonError::into_inner);
    vote.insert("value".into(), feedback.value.into());
    vote.insert("comment".into(), feedback.comment.into());
}

/// A thread whose name begins so may be seen by everybody.
async fn on_shared_thread_view(thread: SharedThread) -> bool {
    thread.0.name.as_deref().is_some_and(|name| name.starts_with("open"))
}

async fn author_rename(author: Author) -> String {
    if author.0 == "Surface" { "Robin".to_owned() } else { author.0 }
}

/// Says nothing: starters are shown on an empty page only.
async fn on_chat_start(_chat: Chat) {}

async fn on_chat_resume(_thread: ResumedThread) {}

async fn on_window_message(chat: Chat, WindowMessage(data): WindowMessage) -> rejoinder::Result {
    // The page passes on whatever its window gets, what it posted itself included.
    if let Some(text) = data.as_str().and_then(|text| text.strip_prefix("host: ")) {
        chat.say(format!("window: {text}")).await?;
    }
    Ok(())
}

async fn on_settings_update(chat: Chat, settings: Settings) -> rejoinder::Result {
    chat.say(format!("settings: {}", as_json(&json!(settings.values())))).await?;
    Ok(())
}

async fn on_settings_edit(chat: Chat, settings: Settings) -> rejoinder::Result {
    chat.say(format!("edited: {}", as_json(&json!(settings.values())))).await?;
    Ok(())
}

async fn on_press(chat: Chat, action: Action) -> rejoinder::Result<Value> {
    let number = action.payload.get("n").ok_or_else(|| HookError::tell("a number is missing"))?;
    let said = format!("pressed {number}");
    chat.say(&said).await?;
    Ok(said.into())
}

async fn on_fail(_chat: Chat) -> rejoinder::Result<Value> {
    Err(HookError::tell("no such luck"))
}

async fn on_message(chat: Chat, message: UserMessage, State(LastVote(vote)): State<LastVote>) -> rejoinder::Result {
    let words: Vec<&str> = message.text().split(' ').collect();
    let word = |index: usize| words.get(index).copied().unwrap_or_default();
    match words[0] {
        "/element" => {
            let element = elements::element(word(1), word(2))?;
            chat.send(Message::new("see shown").element(element)).await?;
        }
        "/ask-action" => {
            let question = chat.ask_action("which?").choice(press(1)).choice(press(2)).timeout(MINUTE);
            let said = question.await.map(|action| format!("chose: {}", action.label));
            chat.say(or_no_answer(said)?).await?;
        }
        "/ask-element" => {
            let form = NewElement::custom("Form", props(json!({"colors": ["red", "blue"]})));
            let answer = chat.ask_element("fill in", form).timeout(MINUTE).await;
            let said = answer.map(|form| {
                let mut values = form.values;
                values.insert("submitted".into(), form.submitted.into());
                format!("filled in: {}", as_json(&Value::Object(values)))
            });
            chat.say(or_no_answer(said)?).await?;
        }
        "/ask-file" => ask_file(&chat, word(1).parse()?).await?,
        "/call-fn" => {
            let call = chat.call_fn("price", json!({"item": word(2)})).timeout(Duration::from_secs(word(1).parse()?));
            // Python cannot tell null from none.
            let said = match call.await {
                Ok(Value::Null) => Err(AskError::TimedOut),
                said => said.map(|answer| format!("the host says: {}", as_json(&answer))),
            };
            chat.say(or_no_answer(said)?).await?;
        }
        "/sidebar" => elements::sidebar(&chat, word(1)).await?,
        "/commands" => {
            chat.set_commands(choices::commands()).await?;
            chat.say("commands set").await?;
        }
        "/modes" => {
            chat.set_modes(choices::modes()).await?;
            chat.say("modes set").await?;
        }
        "/settings" => {
            chat.settings_form(settings::form(word(1))).await?;
            chat.say("settings sent").await?;
        }
        "/usage" => {
            chat.token_usage(word(1).parse()?).await?;
            chat.say("counted").await?;
        }
        "/window" => {
            chat.post_to_window(json!({"said": word(1)})).await?;
            chat.say("posted").await?;
        }
        "/remove" => remove(&chat, word(1)).await?,
        "/steps" => steps(&chat).await?,
        "/tasks" => elements::tasks(&chat).await?,
        "/actions" => {
            let fail = NewAction::new("fail").label("Fail");
            chat.send(Message::new("buttons").action(press(1)).action(press(2)).action(fail)).await?;
        }
        "/author" => drop(chat.send(Message::new("it is me").author(word(1))).await?),
        "/profile" => {
            let profile = chat.about().chat_profile.as_deref().unwrap_or("None");
            chat.say(format!("profile: {profile}")).await?;
        }
        "/vote" => {
            let vote = vote.lock().unwrap_or_else(PoisonError::into_inner).clone();
            chat.say(format!("vote: {}", as_json(&Value::Object(vote)))).await?;
        }
        _ => echo(&chat, &message).await?,
    }
    Ok(())
}

async fn echo(chat: &Chat, message: &UserMessage) -> rejoinder::Result {
    let mut text = format!("echo: {}", message.text());
    if let Some(command) = &message.command {
        text += &format!(" (command {command})");
    }
    if let Some(modes) = &message.modes {
        text += &format!(" (modes {})", as_json(&json!(modes)));
    }
    let files: Vec<String> = message.files().iter().map(|file| format!("{} {}", file.name, file.size)).collect();
    if !files.is_empty() {
        text += &format!(" (files {})", files.join(", "));
    }
    chat.say(text).await?;
    Ok(())
}

const MINUTE: Duration = Duration::from_secs(60);

async fn ask_file(chat: &Chat, most: u32) -> rejoinder::Result {
    let question = chat
        .ask_file("files?")
        .accept_endings("text/plain", [".txt", ".md"])
        .accept_endings("image/png", [".png"])
        .max_files(most)
        .max_size_mb(1)
        .timeout(MINUTE);
    let said = question.await.map(|files| {
        let files: Vec<String> = files.iter().map(|file| format!("{} {}", file.name, file.size)).collect();
        format!("got: {}", files.join(", "))
    });
    chat.say(or_no_answer(said)?).await?;
    Ok(())
}

/// What is said of an answer, or of none.
fn or_no_answer(said: Result<String, AskError>) -> rejoinder::Result<String> {
    match said {
        Err(AskError::TimedOut | AskError::Disconnected) => Ok("no answer".to_owned()),
        said => Ok(said?),
    }
}

/// As code, since the page reads a colon in a text as Markdown.
fn as_json(value: &Value) -> String {
    format!("`{value}`")
}

fn press(number: u32) -> NewAction {
    let action = NewAction::new("press").payload("n", number);
    action.label(format!("Press {number}")).tooltip("presses it").icon("hand")
}

async fn remove(chat: &Chat, what: &str) -> rejoinder::Result {
    match what {
        "element" => {
            let message = chat.say("see").await?;
            chat.attach(message.id(), NewElement::text("note", "soon gone")).await?.remove().await?;
        }
        "actions" => {
            let buttons = Message::new("buttons").action(press(1)).action(press(2));
            chat.send(buttons).await?.remove_actions().await?;
        }
        _ => chat.say("soon gone").await?.remove().await?,
    }
    chat.say("removed").await?;
    Ok(())
}

async fn steps(chat: &Chat) -> rejoinder::Result {
    let outer =
        chat.step("outer").tool().show_input(ShowInput::Language("python".into())).default_open().icon("wrench");
    outer
        .run(async |outer| {
            outer.input("x = 1");
            let inner = outer.chat().step("inner").llm().language("json").auto_collapse();
            inner
                .run(async |inner| {
                    inner.push("{\"a\": ").await?;
                    inner.push("1}").await?;
                    Ok(())
                })
                .await?;
            outer.output("x is 1").await?;
            Ok(())
        })
        .await?;
    let kinds = [
        ("embedding", StepKind::Embedding),
        ("retrieval", StepKind::Retrieval),
        ("rerank", StepKind::Rerank),
        ("undefined", StepKind::Undefined),
        ("run", StepKind::Run),
    ];
    for (name, kind) in kinds {
        let step = chat.step(format!("a {name}")).kind(kind).show_input(ShowInput::Switch(false));
        step.run(async |step| {
            step.input("in");
            step.output(format!("out of {name}")).await?;
            Ok(())
        })
        .await?;
    }
    let failed: Result<(), HookError> =
        chat.step("failing").tool().run(async |_| Err(HookError::tell("no luck"))).await;
    drop(failed);
    chat.say("steps done").await?;
    Ok(())
}

fn props(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value { map } else { Map::new() }
}

fn main() -> ExitCode {
    let app = App::new()
        .with_state(LastVote::default())
        .on_password_login(sign_in)
        .on_logout(on_logout)
        .set_chat_profiles(choices::profiles)
        .set_starters(choices::starters)
        .set_starter_categories(choices::starter_categories)
        .author_rename(author_rename)
        .on_chat_start(on_chat_start)
        .on_chat_resume(on_chat_resume)
        .on_message(on_message)
        .on_window_message(on_window_message)
        .on_settings_update(on_settings_update)
        .on_settings_edit(on_settings_edit)
        .on_action("press", on_press)
        .on_action("fail", on_fail)
        .on_feedback(on_feedback)
        .on_shared_thread_view(on_shared_thread_view);
    rejoinder::cli::main(app.build())
}
