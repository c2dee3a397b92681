//! What there is to choose: profiles, starters, commands, modes.

use rejoinder::hook::ProfileName;
use rejoinder::protocol::{ChatProfile, Command, Mode, ModeOption, Starter, StarterCategory};
use serde_json::json;

const ROBIN: &str = "/public/avatars/robin.png";

pub async fn profiles() -> Vec<ChatProfile> {
    let fancy = Starter::new("Be fancy", "fancy that").icon(ROBIN);
    vec![
        ChatProfile::new("plain", "nothing **special**").display_name("Plain").by_default(),
        ChatProfile::new("fancy", "has starters of its own").icon(ROBIN).starter(fancy),
        ChatProfile::new("sorted", "has its starters under headings"),
        ChatProfile::new("quiet", "shows no steps").config_overrides(json!({"ui": {"cot": "hidden"}})),
    ]
}

pub async fn starters() -> Vec<Starter> {
    vec![Starter::new("Greet", "good morning").icon(ROBIN), Starter::new("Look up", "what is new").command("Search")]
}

pub async fn starter_categories(ProfileName(profile): ProfileName) -> Vec<StarterCategory> {
    if profile.as_deref() != Some("sorted") {
        return Vec::new();
    }
    vec![
        StarterCategory::new("Work").icon(ROBIN).starter(Starter::new("Plan", "plan my day")),
        StarterCategory::new("Play").starter(Starter::new("Joke", "tell me a joke")),
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
