//! Settings as somebody gives them: flags, variables, the keys of the file of `--config`. One list for all three.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Parser;
use serde::Deserialize;

use super::{Config, ConfigError, FilesAt, MetricsFor, RootPath, SameSite, Secret, Show, ShowErrors};

/// What was said; `None` is silence.
#[derive(Clone, Debug, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Flags {
    /// Address or name to listen on [default: 127.0.0.1]; 0.0.0.0 is every network of the machine
    #[arg(long, env = "REJOINDER_HOST", hide_env_values = true, help_heading = "Network")]
    pub host: Option<String>,

    /// Port to listen on [default: 8000]; 0 takes a free one
    #[arg(long, env = "REJOINDER_PORT", hide_env_values = true, help_heading = "Network")]
    pub port: Option<u16>,

    /// Path under which the server is mounted, such as /chat
    #[arg(long, value_name = "PATH", env = "REJOINDER_ROOT_PATH", hide_env_values = true, help_heading = "Network")]
    pub root_path: Option<RootPath>,

    /// Who may read /metrics [default: local]; local is this machine, without a proxy in between
    #[arg(long, value_name = "WHO", env = "REJOINDER_METRICS", hide_env_values = true, help_heading = "Network")]
    pub metrics: Option<MetricsFor>,

    /// Folder for what the server keeps: database, page, secret [default: .rejoinder]
    #[arg(long, value_name = "DIR", env = "REJOINDER_DATA_DIR", hide_env_values = true, help_heading = "Files")]
    pub data_dir: Option<PathBuf>,

    /// Database [default: a SQLite file in the data folder]; postgres://user:password@host/name is the other kind
    #[arg(long, value_name = "URL", env = "REJOINDER_DATABASE_URL", hide_env_values = true, help_heading = "Files")]
    pub database_url: Option<String>,

    /// Where uploads and elements are kept [default: a folder in the data folder]; s3://bucket/prefix is the other kind
    #[arg(long, value_name = "URL", env = "REJOINDER_FILES", hide_env_values = true, help_heading = "Files")]
    pub files: Option<FilesAt>,

    /// Region of the bucket of --files
    #[arg(long, value_name = "NAME", env = "REJOINDER_FILES_REGION", hide_env_values = true, help_heading = "Files")]
    pub files_region: Option<String>,

    /// URL of the bucket's server, when it is not AWS
    #[arg(long, value_name = "URL", env = "REJOINDER_FILES_ENDPOINT", hide_env_values = true, help_heading = "Files")]
    pub files_endpoint: Option<String>,

    /// Key of the bucket; its secret half is read from REJOINDER_FILES_SECRET_KEY
    #[arg(
        long,
        value_name = "KEY",
        env = "REJOINDER_FILES_ACCESS_KEY",
        hide_env_values = true,
        help_heading = "Files"
    )]
    pub files_access_key: Option<String>,

    /// The secret half. Not a flag: other processes can read a command line.
    #[arg(skip)]
    pub files_secret_key: Option<Secret>,

    /// Folder of the app, where .chainlit/, public/ and chainlit.md are looked for [default: .]
    #[arg(long, value_name = "DIR", env = "REJOINDER_APP_DIR", hide_env_values = true, help_heading = "Files")]
    pub app_dir: Option<PathBuf>,

    /// Folder of a built page to serve instead of the one that `frontend fetch` got
    #[arg(long, value_name = "DIR", env = "REJOINDER_FRONTEND", hide_env_values = true, help_heading = "Files")]
    pub frontend: Option<PathBuf>,

    /// TOML file with settings: the long names of these flags, with _ for -
    #[arg(long, value_name = "FILE", env = "REJOINDER_CONFIG", hide_env_values = true, help_heading = "Files")]
    #[serde(skip)]
    pub config: Option<PathBuf>,

    /// Let nobody in without a login though the app has none: tokens are signed elsewhere [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        env = "REJOINDER_REQUIRE_LOGIN",
        hide_env_values = true,
        help_heading = "Logins"
    )]
    pub require_login: Option<bool>,

    /// Signs logins. Not a flag: other processes can read a command line.
    #[arg(skip)]
    pub auth_secret: Option<Secret>,

    /// Name of the login's cookie [default: access_token]
    #[arg(long, value_name = "NAME", env = "REJOINDER_COOKIE_NAME", hide_env_values = true, help_heading = "Logins")]
    pub cookie_name: Option<String>,

    /// Path of the login's cookie [default: /]
    #[arg(long, value_name = "PATH", env = "REJOINDER_COOKIE_PATH", hide_env_values = true, help_heading = "Logins")]
    pub cookie_path: Option<String>,

    /// SameSite of cookies [default: lax]; none is for a copilot on another site and needs HTTPS
    #[arg(
        long,
        value_name = "WHO",
        env = "REJOINDER_COOKIE_SAME_SITE",
        hide_env_values = true,
        help_heading = "Logins"
    )]
    pub cookie_same_site: Option<SameSite>,

    /// When what a hook says is shown [default: stored]
    #[arg(long, value_name = "WHEN", env = "REJOINDER_SHOW", hide_env_values = true, help_heading = "Chats")]
    pub show: Option<Show>,

    /// How a person sees an error of the app [default: as_it_reads]
    #[arg(long, value_name = "HOW", env = "REJOINDER_SHOW_ERRORS", hide_env_values = true, help_heading = "Chats")]
    pub show_errors: Option<ShowErrors>,

    /// Seconds between two pings of a connection [default: 25]
    #[arg(long, value_name = "S", env = "REJOINDER_PING_INTERVAL", hide_env_values = true, help_heading = "Chats")]
    pub ping_interval: Option<Seconds>,

    /// Seconds in which a ping must be answered [default: 20]
    #[arg(long, value_name = "S", env = "REJOINDER_PING_TIMEOUT", hide_env_values = true, help_heading = "Chats")]
    pub ping_timeout: Option<Seconds>,

    /// Seconds in which a client must take what is written to it [default: 20]
    #[arg(long, value_name = "S", env = "REJOINDER_WRITE_TIMEOUT", hide_env_values = true, help_heading = "Chats")]
    pub write_timeout: Option<Seconds>,

    /// Seconds that running hooks get when the server stops [default: 10]
    #[arg(long, value_name = "S", env = "REJOINDER_SHUTDOWN_GRACE", hide_env_values = true, help_heading = "Chats")]
    pub shutdown_grace: Option<Seconds>,

    /// The table `[records]`.
    #[command(flatten)]
    pub records: RecordFlags,

    /// Project whose records the database holds [default: default]
    #[arg(long, value_name = "NAME", env = "REJOINDER_PROJECT", hide_env_values = true, help_heading = "Records")]
    pub project: Option<String>,
}

/// Settings of records.
#[derive(Clone, Debug, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordFlags {
    /// Whether records are numbered [default: true]
    #[arg(
        id = "records.sequence",
        long = "records-sequence",
        value_name = "BOOL",
        env = "REJOINDER_RECORDS_SEQUENCE",
        hide_env_values = true,
        help_heading = "Records"
    )]
    pub sequence: Option<bool>,
}

/// A time in seconds; a fraction is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(Duration);

impl FromStr for Seconds {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds: f64 = text.parse().map_err(|_| "not a number of seconds")?;
        Self::new(seconds).ok_or("not a number of seconds")
    }
}

impl Seconds {
    fn new(seconds: f64) -> Option<Self> {
        Duration::try_from_secs_f64(seconds).ok().map(Self)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).ok_or_else(|| serde::de::Error::custom("not a number of seconds"))
    }
}

impl Flags {
    /// What the variables of the flags say.
    pub(super) fn from_env() -> Result<Self, ConfigError> {
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            flags: Flags,
        }
        Ok(Only::try_parse_from(["rejoinder"])?.flags)
    }

    /// What this says, and where it says nothing what the other does.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            host: self.host.or(other.host),
            port: self.port.or(other.port),
            root_path: self.root_path.or(other.root_path),
            metrics: self.metrics.or(other.metrics),
            data_dir: self.data_dir.or(other.data_dir),
            database_url: self.database_url.or(other.database_url),
            files: self.files.or(other.files),
            files_region: self.files_region.or(other.files_region),
            files_endpoint: self.files_endpoint.or(other.files_endpoint),
            files_access_key: self.files_access_key.or(other.files_access_key),
            files_secret_key: self.files_secret_key.or(other.files_secret_key),
            app_dir: self.app_dir.or(other.app_dir),
            frontend: self.frontend.or(other.frontend),
            config: self.config.or(other.config),
            require_login: self.require_login.or(other.require_login),
            auth_secret: self.auth_secret.or(other.auth_secret),
            cookie_name: self.cookie_name.or(other.cookie_name),
            cookie_path: self.cookie_path.or(other.cookie_path),
            cookie_same_site: self.cookie_same_site.or(other.cookie_same_site),
            show: self.show.or(other.show),
            show_errors: self.show_errors.or(other.show_errors),
            ping_interval: self.ping_interval.or(other.ping_interval),
            ping_timeout: self.ping_timeout.or(other.ping_timeout),
            write_timeout: self.write_timeout.or(other.write_timeout),
            shutdown_grace: self.shutdown_grace.or(other.shutdown_grace),
            records: RecordFlags { sequence: self.records.sequence.or(other.records.sequence) },
            project: self.project.or(other.project),
        }
    }

    /// Puts what was said into `config`.
    pub(super) fn apply(self, config: &mut Config) {
        fn put<T>(said: Option<T>, place: &mut T) {
            if let Some(said) = said {
                *place = said;
            }
        }
        put(self.host, &mut config.host);
        put(self.port, &mut config.port);
        put(self.root_path, &mut config.root_path);
        put(self.metrics, &mut config.metrics);
        put(self.data_dir, &mut config.data_dir);
        put(self.database_url.map(Some), &mut config.database_url);
        put(self.app_dir, &mut config.app_dir);
        put(self.files.map(Some), &mut config.files.at);
        put(self.files_region.map(Some), &mut config.files.region);
        put(self.files_endpoint.map(Some), &mut config.files.endpoint);
        put(self.files_access_key.map(Some), &mut config.files.access_key);
        put(self.files_secret_key.map(Some), &mut config.files.secret_key);
        put(self.frontend.map(Some), &mut config.frontend);
        put(self.require_login, &mut config.require_login);
        put(self.auth_secret.map(Some), &mut config.auth_secret);
        put(self.cookie_name, &mut config.cookie.name);
        put(self.cookie_path, &mut config.cookie.path);
        put(self.cookie_same_site, &mut config.cookie.same_site);
        put(self.show, &mut config.show);
        put(self.show_errors, &mut config.show_errors);
        put(self.ping_interval.map(|s| s.0), &mut config.ping_interval);
        put(self.ping_timeout.map(|s| s.0), &mut config.ping_timeout);
        put(self.write_timeout.map(|s| s.0), &mut config.write_timeout);
        put(self.shutdown_grace.map(|s| s.0), &mut config.shutdown_grace);
        put(self.records.sequence, &mut config.sequence);
        put(self.project, &mut config.project);
    }
}
