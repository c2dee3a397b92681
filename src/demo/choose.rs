//! Buttons, files, commands, settings: what people choose.

use std::time::Duration;

use serde_json::Value;

use crate::chat::{Chat, Message, NewAction};
use crate::hook::Settings;
use crate::protocol::{Action, Command, Mode, ModeOption, Widget, WidgetKind};

/// Long enough to look around first.
const PATIENCE: Duration = Duration::from_secs(300);

pub(super) async fn buttons(chat: Chat) -> crate::Result {
    let question = chat.ask_action("Tea or coffee?").timeout(PATIENCE);
    let tea = NewAction::new("tea").label("Tea").icon("leaf");
    let coffee = NewAction::new("coffee").label("Coffee").icon("coffee");
    match question.choice(tea).choice(coffee).await {
        Ok(chosen) => {
            let again = NewAction::new("again").label("Once more").payload("what", chosen.name.as_str());
            chat.send(Message::new(format!("Here is your {}.", chosen.name)).action(again)).await?;
        }
        Err(_) => drop(chat.say("Nothing, then.").await?),
    }
    Ok(())
}

/// The hook of the button.
pub(super) async fn press_again(chat: Chat, action: Action) -> crate::Result {
    let what = action.payload.get("what").and_then(Value::as_str).unwrap_or("nothing");
    chat.say(format!("Another {what} it is.")).await?;
    Ok(())
}

pub(super) async fn file(chat: Chat) -> crate::Result {
    let question = chat.ask_file("Give me a text of up to a megabyte, and I count its words.");
    match question.accept("text/*").max_size_mb(1).timeout(PATIENCE).await {
        Ok(files) => {
            for file in files {
                let content = chat.read_file(&file.id).await?;
                let words = String::from_utf8_lossy(&content).split_whitespace().count();
                chat.say(format!("**{}** has {words} words.", file.name)).await?;
            }
        }
        Err(_) => drop(chat.say("No file, no words.").await?),
    }
    Ok(())
}

pub(super) async fn commands(chat: Chat) -> crate::Result {
    let command = |id: &str, description: &str, icon: &str| Command {
        id: id.to_owned(),
        description: description.to_owned(),
        icon: icon.to_owned(),
        button: true,
        persistent: false,
        selected: false,
    };
    let option = |id: &str, name: &str, default| ModeOption {
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
        icon: None,
        default,
    };
    let options = vec![option("short", "Short", true), option("long", "Long", false)];
    let mode = Mode { id: "length".to_owned(), name: "Length".to_owned(), options };
    chat.set_commands(vec![command("Search", "looks it up", "globe"), command("Draw", "draws it", "pen-line")]).await?;
    chat.set_modes(vec![mode]).await?;
    chat.say("The composer has commands and a mode now. Send something with one.").await?;
    Ok(())
}

/// The form behind the button in the composer.
pub(super) async fn offer_settings(chat: &Chat) -> crate::Result {
    let loud = Widget::new("loud", "Answer loudly", WidgetKind::Switch { initial: false });
    chat.settings(vec![loud]).await?;
    Ok(())
}

pub(super) async fn settings(chat: Chat) -> crate::Result {
    let loud = chat.settings_values().get("loud") == Some(&true.into());
    let how = if loud { "loudly" } else { "softly" };
    chat.say(format!("I answer {how}. The button in the composer changes that, for this conversation.")).await?;
    Ok(())
}

pub(super) async fn settings_changed(chat: Chat, settings: Settings) -> crate::Result {
    let loud = settings.get("loud") == Some(&true.into());
    chat.say(if loud { "FROM NOW ON LOUDLY." } else { "From now on softly." }).await?;
    Ok(())
}
