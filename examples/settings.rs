//! A form beside the chat decides how answers sound.
//!
//! `cargo run --example settings -- serve`, then open <http://localhost:8000> and press the button with the sliders.

use std::process::ExitCode;

use rejoinder::hook::Settings;
use rejoinder::protocol::{Choice, Widget, WidgetKind};
use rejoinder::{App, Chat, UserMessage};
use serde::Deserialize;

/// The values of the form, by the ids of its fields.
#[derive(Deserialize)]
struct Voice {
    loud: bool,
    times: f64,
    ending: String,
}

fn form() -> Vec<Widget> {
    let choice = |label: &str, value: &str| Choice { label: label.into(), value: value.into() };
    let endings = vec![choice("Full stop", "."), choice("Exclamation mark", "!"), choice("Question mark", "?")];
    vec![
        Widget::new("loud", "In capitals", WidgetKind::Switch { initial: false }),
        Widget {
            description: Some("How often it says it.".into()),
            ..Widget::new(
                "times",
                "Times",
                WidgetKind::Slider { initial: 1.into(), min: 1.into(), max: 5.into(), step: 1.into() },
            )
        },
        Widget::new("ending", "Ending", WidgetKind::Select { initial: Some(".".into()), items: endings }),
    ]
}

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.settings(form()).await?;
    chat.say("Say something. The form behind the sliders decides how I say it back.").await?;
    Ok(())
}

/// The values are the session's already when this runs: nothing needs to be kept.
async fn changed(chat: Chat, settings: Settings) -> rejoinder::Result {
    let voice: Voice = settings.parse()?;
    chat.say(spoken("like this", &voice)).await?;
    Ok(())
}

async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
    let voice: Voice = serde_json::from_value(chat.settings_values().into())?;
    chat.say(spoken(message.text(), &voice)).await?;
    Ok(())
}

fn spoken(text: &str, voice: &Voice) -> String {
    let text = if voice.loud { text.to_uppercase() } else { text.to_owned() };
    let times = (0..).map(f64::from).take_while(|time| *time < voice.times);
    times.map(|_| format!("{text}{}", voice.ending)).collect::<Vec<_>>().join(" ")
}

fn main() -> ExitCode {
    rejoinder::cli::main(App::new().on_chat_start(greet).on_settings_update(changed).on_message(answer).build())
}
