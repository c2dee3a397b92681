//! `[features]` of `.chainlit/config.toml`: what the page offers (chat-wire 7.2).

use indexmap::IndexMap;
use serde::{Deserialize, Serialize, Serializer};

/// The table; all of it is sent to the page. `audio` and `mcp` are objects always: a page without them breaks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Features {
    /// Files in the composer; `None` shows no button and checks nothing.
    pub spontaneous_file_upload: Option<FileUpload>,
    /// The microphone.
    pub audio: Audio,
    /// Tools by the Model Context Protocol.
    pub mcp: Mcp,
    /// Slack.
    pub slack: Slack,
    /// Formulas in messages.
    pub latex: bool,
    /// Markdown in what people write.
    pub user_message_markdown: bool,
    /// Scroll to a person's message.
    pub user_message_autoscroll: bool,
    /// Scroll along with an answer.
    pub assistant_message_autoscroll: bool,
    /// HTML in messages.
    pub unsafe_allow_html: bool,
    /// Tag threads with their profile.
    pub auto_tag_thread: bool,
    /// The pencil.
    pub edit_message: bool,
    /// Links to threads for others.
    pub allow_thread_sharing: bool,
    /// The star.
    pub favorites: bool,
}

impl Default for Features {
    /// What holds when the table does not say.
    fn default() -> Self {
        Self {
            spontaneous_file_upload: None,
            audio: Audio::default(),
            mcp: Mcp::default(),
            slack: Slack::default(),
            latex: false,
            user_message_markdown: true,
            user_message_autoscroll: true,
            assistant_message_autoscroll: true,
            unsafe_allow_html: false,
            auto_tag_thread: true,
            edit_message: true,
            allow_thread_sharing: false,
            favorites: false,
        }
    }
}

impl Features {
    /// What holds when there is no file: what Chainlit writes into the one it generates.
    #[must_use]
    pub fn of_a_new_app() -> Self {
        let everything = Accept::Types(vec!["*/*".to_owned()]);
        let upload =
            FileUpload { enabled: Some(true), accept: Some(everything), max_files: Some(20), max_size_mb: Some(500) };
        Self { spontaneous_file_upload: Some(upload), ..Self::default() }
    }
}

/// Which files may be sent from the composer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileUpload {
    /// Whether at all.
    pub enabled: Option<bool>,
    /// Of which types.
    pub accept: Option<Accept>,
    /// How many at once; the page counts.
    pub max_files: Option<u32>,
    /// How big each.
    pub max_size_mb: Option<u64>,
}

/// File types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a list of types, or a table of types with their file extensions")]
pub enum Accept {
    /// By type: `image/*`.
    Types(Vec<String>),
    /// By type with the extensions that go with it.
    Extensions(IndexMap<String, Vec<String>>),
}

/// The microphone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Audio {
    /// Samples a second. The page does not read it.
    pub sample_rate: u32,
    /// Whether it is shown.
    pub enabled: bool,
}

impl Default for Audio {
    fn default() -> Self {
        Self { sample_rate: 24_000, enabled: false }
    }
}

/// Tools by the Model Context Protocol. Read, so that a file that has them is understood; not built yet, so the page
/// is told that there are none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Mcp {
    /// Whether the file switches them on.
    pub enabled: bool,
    /// The application's servers.
    pub servers: Vec<McpServer>,
    /// Servers that people bring.
    pub user_servers: UserServers,
}

impl Serialize for Mcp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let none = serde_json::json!({"enabled": false, "servers": [], "user_servers": {"enabled": false}});
        none.serialize(serializer)
    }
}

/// A tool server of the application.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct McpServer {
    /// What people call it.
    pub name: String,
    /// `stdio`, `sse` or `streamable-http`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Tool servers that people bring.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct UserServers {
    /// Whether they may.
    pub enabled: bool,
    /// Below which addresses.
    pub allowed_urls: Vec<String>,
}

/// Slack. Read and shown, without an effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Slack {
    /// Mark a message as read by a reaction.
    pub reaction_on_message_received: bool,
}
