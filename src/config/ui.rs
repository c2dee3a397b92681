//! `[UI]` of `.chainlit/config.toml`: how the page looks (chat-wire 7.3).

use serde::{Deserialize, Serialize};

/// The table; all keys are sent to the page, nulls included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ui {
    /// The application's name, and the author of its messages.
    pub name: String,
    /// What search engines are told.
    pub description: String,
    /// Which steps are shown.
    pub cot: CotMode,
    /// The theme of a page that was never told otherwise.
    pub default_theme: Theme,
    /// The page's language, whatever the browser asks for.
    pub language: Option<String>,
    /// How wide messages are.
    pub layout: Layout,
    /// The list of threads at first.
    pub default_sidebar_state: SidebarState,
    /// Where the settings are opened.
    pub chat_settings_location: SettingsLocation,
    /// Whether they are open at first.
    pub default_chat_settings_open: bool,
    /// Ask before a new chat is begun.
    pub confirm_new_chat: bool,
    /// The button to a repository.
    pub github: Option<String>,
    /// A stylesheet of the application.
    pub custom_css: Option<String>,
    /// Attributes of its link.
    pub custom_css_attributes: String,
    /// A script of the application.
    pub custom_js: Option<String>,
    /// How errors look.
    pub alert_style: AlertStyle,
    /// Attributes of the script.
    pub custom_js_attributes: String,
    /// A picture beside the login form.
    pub login_page_image: Option<String>,
    /// Its CSS filter.
    pub login_page_image_filter: Option<String>,
    /// The same in the dark theme.
    pub login_page_image_dark_filter: Option<String>,
    /// The address that link previews show.
    pub custom_meta_url: Option<String>,
    /// The picture that link previews show.
    pub custom_meta_image_url: Option<String>,
    /// A logo from elsewhere.
    pub logo_file_url: Option<String>,
    /// An avatar from elsewhere.
    pub default_avatar_file_url: Option<String>,
    /// How big avatars are.
    pub avatar_size: Option<u32>,
    /// A build of the page in the application's folder.
    pub custom_build: Option<String>,
    /// Links in the header.
    pub header_links: Option<Vec<HeaderLink>>,
}

impl Default for Ui {
    /// What holds when the table does not say.
    fn default() -> Self {
        Self {
            name: "Assistant".to_owned(),
            description: String::new(),
            cot: CotMode::Full,
            default_theme: Theme::Dark,
            language: None,
            layout: Layout::Default,
            default_sidebar_state: SidebarState::Open,
            chat_settings_location: SettingsLocation::MessageComposer,
            default_chat_settings_open: false,
            confirm_new_chat: true,
            github: None,
            custom_css: None,
            custom_css_attributes: String::new(),
            custom_js: None,
            alert_style: AlertStyle::Classic,
            custom_js_attributes: "defer".to_owned(),
            login_page_image: None,
            login_page_image_filter: None,
            login_page_image_dark_filter: None,
            custom_meta_url: None,
            custom_meta_image_url: None,
            logo_file_url: None,
            default_avatar_file_url: None,
            avatar_size: None,
            custom_build: None,
            header_links: None,
        }
    }
}

impl Ui {
    /// What holds when there is no file: what Chainlit writes into the one it generates.
    #[must_use]
    pub fn of_a_new_app() -> Self {
        Self { logo_file_url: Some(String::new()), default_avatar_file_url: Some(String::new()), ..Self::default() }
    }
}

/// Which steps are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CotMode {
    /// None; they are sent as stubs.
    Hidden,
    /// Tool steps; the page chooses.
    ToolCall,
    /// All.
    Full,
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// Light.
    Light,
    /// Dark.
    Dark,
}

/// How wide messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// A column.
    Default,
    /// The whole width.
    Wide,
}

/// The list of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SidebarState {
    /// Open.
    Open,
    /// Closed.
    Closed,
    /// Not there.
    Hidden,
}

/// Where the settings are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsLocation {
    /// By a button in the composer.
    MessageComposer,
    /// At the side.
    Sidebar,
}

/// How errors look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertStyle {
    /// As ever.
    Classic,
    /// New.
    Modern,
}

/// A link in the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderLink {
    /// What it is for.
    pub name: String,
    /// Its picture.
    pub icon_url: String,
    /// Where it leads.
    pub url: String,
    /// What stands beside the picture.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Which window it opens in.
    #[serde(default)]
    pub target: Option<String>,
}
