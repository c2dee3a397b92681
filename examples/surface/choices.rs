//! What there is to choose: profiles, starters, commands, modes.

use rejoinder::hook::ProfileName;
use rejoinder::protocol::{ChatProfile, Command, Mode, ModeOption, Starter, StarterCategory};

pub async fn profiles() -> Vec<ChatProfile> {
    let robin = || Some("/public/avatars/robin.png".to_owned());
    let profile = |name: &str, description: &str| ChatProfile {
        name: name.into(),
        display_name: None,
        markdown_description: description.into(),
        icon: None,
        default: false,
        starters: None,
    };
    let fancy = Starter { icon: robin(), ..starter("Be fancy", "fancy that") };
    vec![
        ChatProfile { display_name: Some("Plain".into()), default: true, ..profile("plain", "nothing **special**") },
        ChatProfile { icon: robin(), starters: Some(vec![fancy]), ..profile("fancy", "has starters of its own") },
        profile("sorted", "has its starters under headings"),
    ]
}

fn starter(label: &str, message: &str) -> Starter {
    Starter { label: label.into(), message: message.into(), command: None, icon: None }
}

pub async fn starters() -> Vec<Starter> {
    vec![
        Starter { icon: Some("/public/avatars/robin.png".into()), ..starter("Greet", "good morning") },
        Starter { command: Some("Search".into()), ..starter("Look up", "what is new") },
    ]
}

pub async fn starter_categories(ProfileName(profile): ProfileName) -> Vec<StarterCategory> {
    if profile.as_deref() != Some("sorted") {
        return Vec::new();
    }
    let category = |label: &str, icon: Option<&str>, starter| StarterCategory {
        label: label.into(),
        icon: icon.map(Into::into),
        starters: vec![starter],
    };
    vec![
        category("Work", Some("briefcase"), starter("Plan", "plan my day")),
        category("Play", None, starter("Joke", "tell me a joke")),
    ]
}

pub fn commands() -> Vec<Command> {
    let command = |id: &str, description: &str, icon: &str| Command {
        id: id.into(),
        description: description.into(),
        icon: icon.into(),
        button: false,
        persistent: false,
        selected: false,
    };
    vec![
        Command { button: true, ..command("Search", "looks it up", "globe") },
        Command { persistent: true, ..command("Draw", "draws it", "pen-line") },
        command("Note", "notes it down", "notebook"),
    ]
}

pub fn modes() -> Vec<Mode> {
    let option = |id: &str, name: &str| ModeOption {
        id: id.into(),
        name: name.into(),
        description: None,
        icon: None,
        default: false,
    };
    let careful = ModeOption {
        description: Some("thinks twice".into()),
        icon: Some("brain".into()),
        default: true,
        ..option("careful", "Careful")
    };
    vec![
        Mode { id: "model".into(), name: "Model".into(), options: vec![option("fast", "Fast"), careful] },
        Mode { id: "tone".into(), name: "Tone".into(), options: vec![option("dry", "Dry"), option("warm", "Warm")] },
    ]
}
