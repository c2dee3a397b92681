//! The reference app: the same app as `client-fixtures/chainlit/app.py`, hook by hook, for comparing the two servers.
//!
//! `CHAINLIT_AUTH_SECRET=… cargo run --example reference -- serve --port 8001`; any name, password `pw`. With
//! `REFERENCE_WITHOUT_RESUME=1` it is the app that cannot resume threads.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rejoinder::chat::{NewAction, NewElement};
use rejoinder::hook::{PasswordLogin, ResumedThread, Settings};
use rejoinder::protocol::{Action, Choice, ToastKind, User, Widget, WidgetKind};
use rejoinder::{App, Chat, HookError, Message, State, UserMessage, UserSession};
use serde_json::Value;

/// How often each hook was called, per live session; and the threads whose resume has failed once.
#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Counted>>);

#[derive(Default)]
struct Counted {
    by_session: HashMap<String, BTreeMap<&'static str, u32>>,
    failed_once: HashSet<String>,
}

impl Calls {
    fn count(&self, chat: &Chat, hook: &'static str) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counted.by_session.entry(chat.session().expose().to_owned()).or_default().entry(hook).or_default() += 1;
    }

    fn of(&self, chat: &Chat) -> BTreeMap<&'static str, u32> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.by_session.get(chat.session().expose()).cloned().unwrap_or_default()
    }

    /// Whether this is the first time that the thread is seen.
    fn fails_first(&self, thread: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).failed_once.insert(thread.to_owned())
    }
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "pw").then(|| User::new(login.username).with("role", "user"))
}

async fn on_chat_start(chat: Chat, State(calls): State<Calls>) -> rejoinder::Result {
    calls.count(&chat, "on_chat_start");
    chat.say("hello").await?;
    Ok(())
}

async fn on_chat_resume(chat: Chat, thread: ResumedThread, State(calls): State<Calls>) -> rejoinder::Result {
    calls.count(&chat, "on_chat_resume");
    let name = thread.name().unwrap_or_default();
    let words: Vec<&str> = name.split_whitespace().collect();
    match words.first() {
        Some(&"slow") => sleep(words.get(1)).await?,
        Some(&"fail-once") if calls.fails_first(thread.id().as_str()) => return Err(HookError::tell("resume failed")),
        Some(&"greet") => drop(chat.say("welcome back").await?),
        // More than Chainlit knows: a question while the thread is being resumed.
        Some(&"ask") => {
            let said = match chat.ask("still there?").timeout(Duration::from_secs(30)).await {
                Ok(answer) => format!("you said: {}", answer.text),
                Err(_) => "no answer".to_owned(),
            };
            chat.say(said).await?;
        }
        _ => {}
    }
    Ok(())
}

async fn on_chat_end(chat: Chat, State(calls): State<Calls>) {
    calls.count(&chat, "on_chat_end");
}

async fn on_stop(chat: Chat, State(calls): State<Calls>) {
    calls.count(&chat, "on_stop");
}

async fn on_message(
    chat: Chat,
    message: UserMessage,
    session: UserSession,
    State(calls): State<Calls>,
) -> rejoinder::Result {
    calls.count(&chat, "on_message");
    let words: Vec<&str> = message.text().split(' ').collect();
    let (command, arguments) = (words[0], &words[1..]);
    match command {
        "/calls" => say_json(&chat, &calls.of(&chat)).await?,
        "/context" => {
            let texts: Vec<String> = chat.history().await?.into_iter().map(|said| said.text).collect();
            say_json(&chat, &texts).await?;
        }
        "/stream" => {
            let mut reply = chat.reply();
            for index in 0..number(arguments.first())? {
                reply.push(format!("t{index} ")).await?;
                sleep(arguments.get(1)).await?;
            }
            reply.finish().await?;
        }
        "/tool" => {
            let text = arguments.join(" ");
            let lookup = chat.step("lookup").tool();
            lookup
                .run(async |step| {
                    step.input(&text);
                    step.output(format!("found {text}")).await?;
                    Ok(())
                })
                .await?;
            chat.say("done").await?;
        }
        "/sleep" => {
            sleep(arguments.first()).await?;
            chat.say("slept").await?;
        }
        "/many" => {
            for index in 0..number(arguments.first())? {
                chat.say(format!("m{index}")).await?;
            }
        }
        "/error" => {
            let text = arguments.join(" ");
            return Err(HookError::tell(if text.is_empty() { "boom".to_owned() } else { text }));
        }
        "/set" => {
            let key = arguments.first().ok_or_else(|| HookError::tell("a key is missing"))?;
            session.set(key, arguments.get(1..).unwrap_or_default().join(" "));
            chat.say("ok").await?;
        }
        "/get" => {
            let key = arguments.first().ok_or_else(|| HookError::tell("a key is missing"))?;
            let value = session.get(key);
            let text = value.as_ref().map_or("None".to_owned(), |value| value.as_str().unwrap_or_default().to_owned());
            chat.say(text).await?;
        }
        "/ask" => {
            let seconds = if arguments.is_empty() { 30 } else { number(arguments.first())? };
            let said = match chat.ask("your name?").timeout(Duration::from_secs(seconds)).await {
                Ok(answer) => format!("you said: {}", answer.text),
                Err(_) => "no answer".to_owned(),
            };
            chat.say(said).await?;
        }
        "/ask-action" => {
            let question = chat.ask_action("continue?").timeout(Duration::from_secs(30));
            let yes = NewAction::new("yes").label("Yes").payload("value", "yes");
            let no = NewAction::new("no").label("No").payload("value", "no");
            let said = match question.choice(yes).choice(no).await {
                Ok(action) => format!("chose: {}", action.name),
                Err(_) => "no answer".to_owned(),
            };
            chat.say(said).await?;
        }
        "/ask-file" => {
            let said = match chat.ask_file("a file?").accept("text/plain").timeout(Duration::from_secs(30)).await {
                Ok(files) => format!("got: {} {}", files[0].name, files[0].size),
                Err(_) => "no answer".to_owned(),
            };
            chat.say(said).await?;
        }
        "/element" => drop(chat.send(Message::new("see").element(NewElement::text("note", "a note"))).await?),
        "/action" => {
            let press = NewAction::new("press").label("Press").payload("n", 1);
            chat.send(Message::new("press").action(press)).await?;
        }
        "/settings" => {
            chat.settings(settings_form()).await?;
            chat.say("settings sent").await?;
        }
        "/toast" => chat.toast("ping", ToastKind::Info).await?,
        _ => drop(chat.say(format!("echo: {}", message.text())).await?),
    }
    Ok(())
}

async fn on_settings_update(chat: Chat, settings: Settings, State(calls): State<Calls>) -> rejoinder::Result {
    calls.count(&chat, "on_settings_update");
    let sorted: BTreeMap<&String, &Value> = settings.values().iter().collect();
    say_json(&chat, &sorted).await
}

async fn press(chat: Chat, action: Action) -> rejoinder::Result {
    let number = action.payload.get("n").ok_or_else(|| HookError::tell("'n'"))?;
    chat.say(format!("pressed {number}")).await?;
    Ok(())
}

fn settings_form() -> Vec<Widget> {
    let item = |name: &str| Choice { label: name.to_owned(), value: name.to_owned() };
    let model = WidgetKind::Select { initial: Some("a".to_owned()), items: vec![item("a"), item("b")] };
    vec![Widget::new("loud", "Loud", WidgetKind::Switch { initial: false }), Widget::new("model", "Model", model)]
}

/// JSON as Python writes it: with a blank after every comma and colon.
async fn say_json(chat: &Chat, value: &impl serde::Serialize) -> rejoinder::Result {
    let mut text = Vec::new();
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut text, Spaced))?;
    chat.say(String::from_utf8(text)?).await?;
    Ok(())
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

fn number(text: Option<&&str>) -> rejoinder::Result<u64> {
    Ok(text.ok_or_else(|| HookError::tell("a number is missing"))?.parse()?)
}

async fn sleep(milliseconds: Option<&&str>) -> rejoinder::Result {
    tokio::time::sleep(Duration::from_millis(number(milliseconds)?)).await;
    Ok(())
}

fn main() -> ExitCode {
    let app = App::new()
        .with_state(Calls::default())
        .on_password_login(sign_in)
        .on_chat_start(on_chat_start)
        .on_chat_end(on_chat_end)
        .on_stop(on_stop)
        .on_settings_update(on_settings_update)
        .on_action("press", press)
        .on_message(on_message);
    // Whether threads can be resumed is seen on the wire, so there are scenarios without.
    let resumes = std::env::var_os("REFERENCE_WITHOUT_RESUME").is_none();
    let app = if resumes { app.on_chat_resume(on_chat_resume) } else { app };
    rejoinder::cli::main(app.build())
}
