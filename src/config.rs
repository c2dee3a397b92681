//! What the server was told: one plain struct. Flags, environment and files are read by [`Config::load`] and nowhere
//! else.

mod chainlit;
mod environment;
mod features;
mod file;
mod files;
mod flags;
mod overrides;
mod print;
mod root_path;
mod secret;
mod ui;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use chainlit::Chainlit;
pub use features::{Accept, Audio, Features, FileUpload, Mcp, McpServer, Slack, UserServers};
pub use file::ConfigError;
pub use files::{Files, FilesAt};
pub use flags::{Flags, RecordFlags, Seconds};
pub use overrides::WrongOverride;
pub use root_path::RootPath;
pub use secret::Secret;
pub use ui::{AlertStyle, CotMode, HeaderLink, Layout, SettingsLocation, SidebarState, Theme, Ui};

/// When what a hook says is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Show {
    /// When it is stored, or after 250 ms without an answer of the store.
    #[default]
    Stored,
    /// At once; the record is queued.
    AtOnce,
}

/// What a person sees of an error that the application did not word for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum ShowErrors {
    /// The error's text, as frontends know it.
    #[default]
    AsItReads,
    /// One plain sentence.
    Plain,
}

/// Who may read `/metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum MetricsFor {
    /// Whoever asks on this machine, and not through a proxy.
    #[default]
    Local,
    /// Whoever reaches the server.
    Anyone,
    /// Nobody.
    Nobody,
}

/// The `SameSite` of cookies. `None` adds `Secure`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SameSite {
    /// Sent on navigation from elsewhere, not with requests that another site's page makes.
    #[default]
    Lax,
    /// Never sent from another site.
    Strict,
    /// Always sent; needed by a copilot on another site, and only over HTTPS.
    None,
}

/// The cookie that carries the login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieConfig {
    /// Its name.
    pub name: String,
    /// Where it is sent.
    pub path: String,
    /// Who may make a browser send it.
    pub same_site: SameSite,
}

impl Default for CookieConfig {
    fn default() -> Self {
        Self { name: "access_token".to_owned(), path: "/".to_owned(), same_site: SameSite::Lax }
    }
}

/// Everything that can be set. The default is what a server without flags, environment and files has.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address or name to listen on.
    pub host: String,
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Where the server is mounted.
    pub root_path: RootPath,
    /// The database; `None` is a SQLite file in the data folder.
    pub database_url: Option<String>,
    /// What the server keeps: database, files, fetched page, generated secret.
    pub data_dir: PathBuf,
    /// Where files are kept.
    pub files: Files,
    /// A built page to serve instead of the fetched one.
    pub frontend: Option<PathBuf>,
    /// Where `.chainlit/`, `public/` and `chainlit.md` are looked for.
    pub app_dir: PathBuf,
    /// Whether nobody gets in without a login even where the app has no login hook: tokens are made elsewhere.
    pub require_login: bool,
    /// Signs logins.
    pub auth_secret: Option<Secret>,
    /// The login's cookie.
    pub cookie: CookieConfig,
    /// When what a hook says is shown.
    pub show: Show,
    /// What a person sees of an error.
    pub show_errors: ShowErrors,
    /// Time between two pings of a connection.
    pub ping_interval: Duration,
    /// Time in which a ping must be answered.
    pub ping_timeout: Duration,
    /// Time in which a client must take what is written to it.
    pub write_timeout: Duration,
    /// Time that running hooks get when the server stops.
    pub shutdown_grace: Duration,
    /// Who may read `/metrics`.
    pub metrics: MetricsFor,
    /// Whether records get a sequence.
    pub sequence: bool,
    /// The project whose records the database holds.
    pub project: String,
    /// Origins of other sites that may use the server; `*` is any.
    pub allow_origins: Vec<String>,
    /// What the page may connect with; `None` leaves it the choice.
    pub transports: Option<Vec<String>>,
    /// Names of values that a person must enter.
    pub user_env: Option<Vec<String>>,
    /// How long a tab that is gone may come back.
    pub session_timeout: Duration,
    /// How long a login lasts.
    pub user_session_timeout: Duration,
    /// Whether entered values are stored with the thread.
    pub persist_user_env: bool,
    /// Whether the page hides entered values.
    pub mask_user_env: bool,
    /// What the page offers.
    pub features: Features,
    /// How the page looks.
    pub ui: Ui,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 8000,
            root_path: RootPath::default(),
            database_url: None,
            data_dir: PathBuf::from(".rejoinder"),
            files: Files::default(),
            frontend: None,
            app_dir: PathBuf::from("."),
            require_login: false,
            auth_secret: None,
            cookie: CookieConfig::default(),
            show: Show::default(),
            show_errors: ShowErrors::default(),
            ping_interval: Duration::from_secs(25),
            ping_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(20),
            shutdown_grace: Duration::from_secs(10),
            metrics: MetricsFor::default(),
            sequence: true,
            project: "default".to_owned(),
            allow_origins: vec!["*".to_owned()],
            transports: None,
            user_env: Some(Vec::new()),
            session_timeout: Duration::from_secs(3600),
            user_session_timeout: Duration::from_secs(15 * 24 * 3600),
            persist_user_env: false,
            mask_user_env: false,
            features: Features::of_a_new_app(),
            ui: Ui::of_a_new_app(),
        }
    }
}

impl Config {
    /// What environment and files say, without flags.
    ///
    /// # Errors
    /// When a variable or a file says something that cannot be; the text names the variable, or file and line.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::load(Flags::from_env()?)
    }

    /// What is in force. The first that says something wins: flag, `REJOINDER_…`, `CHAINLIT_…` and `DATABASE_URL`,
    /// the file of `--config`, `.chainlit/config.toml` of the app's folder, the default.
    ///
    /// # Errors
    /// As [`Config::from_env`].
    pub fn load(flags: Flags) -> Result<Self, ConfigError> {
        let mut flags = flags.or(environment::read(|name| std::env::var(name).ok())?);
        if let Some(path) = flags.config.take() {
            flags = flags.or(file::read(&path)?);
        }
        let mut config = Self::default();
        if let Some(app_dir) = &flags.app_dir {
            config.app_dir.clone_from(app_dir);
        }
        let path = config.app_dir.join(".chainlit").join("config.toml");
        if path.exists() {
            file::read::<Chainlit>(&path)?.apply(&mut config);
        }
        flags.apply(&mut config);
        Ok(config)
    }

    /// The database to open: the one that was set, or a SQLite file in the data folder.
    #[must_use]
    pub fn database_url(&self) -> String {
        match &self.database_url {
            Some(url) => url.clone(),
            None => format!("sqlite://{}", self.data_dir.join("rejoinder.db").display()),
        }
    }

    /// Where files are kept: the place that was set, or a folder in the data folder.
    #[must_use]
    pub fn files_at(&self) -> FilesAt {
        self.files.at.clone().unwrap_or_else(|| FilesAt::Folder(self.data_dir.join("files")))
    }

    /// What is in force as TOML, for a person: secrets are hidden.
    #[must_use]
    pub fn print(&self) -> String {
        print::print(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_in_the_data_folder_unless_one_is_named() {
        let mut config = Config { data_dir: "/data".into(), ..Config::default() };
        assert_eq!(config.database_url(), "sqlite:///data/rejoinder.db");
        config.database_url = Some("postgres://db/chat".to_owned());
        assert_eq!(config.database_url(), "postgres://db/chat");
    }
}
