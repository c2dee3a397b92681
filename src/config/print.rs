//! `rejoinder config`: what is in force, as TOML with secrets hidden.

use std::time::Duration;

use serde::Serialize;

use super::{Config, Features, Show, ShowErrors, Ui};

#[derive(Serialize)]
struct Printed<'a> {
    host: &'a str,
    port: u16,
    root_path: &'a str,
    metrics: super::MetricsFor,
    data_dir: String,
    database_url: String,
    files: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_region: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_endpoint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_access_key: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_secret_key: Option<&'static str>,
    app_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    frontend: Option<String>,
    require_login: bool,
    auth_secret: &'static str,
    cookie_name: &'a str,
    cookie_path: &'a str,
    cookie_same_site: super::SameSite,
    show: Show,
    show_errors: ShowErrors,
    ping_interval: f64,
    ping_timeout: f64,
    write_timeout: f64,
    shutdown_grace: f64,
    project: &'a str,
    records: Records,
    chainlit: Tables<'a>,
}

#[derive(Serialize)]
struct Records {
    sequence: bool,
}

#[derive(Serialize)]
struct Tables<'a> {
    project: Project<'a>,
    features: &'a Features,
    #[serde(rename = "UI")]
    ui: &'a Ui,
}

#[derive(Serialize)]
struct Project<'a> {
    allow_origins: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    transports: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_env: Option<&'a [String]>,
    session_timeout: u64,
    user_session_timeout: u64,
    persist_user_env: bool,
    mask_user_env: bool,
}

const HIDDEN: &str = "(set, not shown)";

/// The settings, ours first; what an app's `.chainlit/config.toml` says stands in the tables `chainlit.…`.
pub(super) fn print(config: &Config) -> String {
    let seconds = |time: Duration| time.as_secs_f64();
    let printed = Printed {
        host: &config.host,
        port: config.port,
        root_path: config.root_path.as_str(),
        metrics: config.metrics,
        data_dir: config.data_dir.display().to_string(),
        database_url: hide_password(&config.database_url()),
        files: config.files_at().to_string(),
        files_region: config.files.region.as_deref(),
        files_endpoint: config.files.endpoint.as_deref(),
        files_access_key: config.files.access_key.as_ref().map(|_| HIDDEN),
        files_secret_key: config.files.secret_key.as_ref().map(|_| HIDDEN),
        app_dir: config.app_dir.display().to_string(),
        frontend: config.frontend.as_ref().map(|dir| dir.display().to_string()),
        require_login: config.require_login,
        auth_secret: if config.auth_secret.is_some() { HIDDEN } else { "(not set)" },
        cookie_name: &config.cookie.name,
        cookie_path: &config.cookie.path,
        cookie_same_site: config.cookie.same_site,
        show: config.show,
        show_errors: config.show_errors,
        ping_interval: seconds(config.ping_interval),
        ping_timeout: seconds(config.ping_timeout),
        write_timeout: seconds(config.write_timeout),
        shutdown_grace: seconds(config.shutdown_grace),
        project: &config.project,
        records: Records { sequence: config.sequence },
        chainlit: Tables {
            project: Project {
                allow_origins: &config.allow_origins,
                transports: config.transports.as_deref(),
                user_env: config.user_env.as_deref(),
                session_timeout: config.session_timeout.as_secs(),
                user_session_timeout: config.user_session_timeout.as_secs(),
                persist_user_env: config.persist_user_env,
                mask_user_env: config.mask_user_env,
            },
            features: &config.features,
            ui: &config.ui,
        },
    };
    toml::to_string(&printed).unwrap_or_else(|error| format!("# cannot be printed: {error}\n"))
}

/// The URL without its password, and without its query: that may hold one too.
fn hide_password(url: &str) -> String {
    let (url, query) = url.split_once('?').map_or((url, ""), |(url, _)| (url, "?…"));
    let Some((scheme, rest)) = url.split_once("://") else {
        return format!("{url}{query}");
    };
    let Some((user, host)) = rest.rsplit_once('@') else {
        return format!("{scheme}://{rest}{query}");
    };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:…@{host}{query}"),
        None => format!("{scheme}://{user}@{host}{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Files, FilesAt, Secret};

    #[test]
    fn secrets_are_hidden() {
        let config = Config {
            auth_secret: Some(Secret::from("hush")),
            files: Files {
                at: Some(FilesAt::Bucket { name: "chat".into(), prefix: "a".into() }),
                access_key: Some("hush".into()),
                secret_key: Some("hush".into()),
                ..Files::default()
            },
            database_url: Some("postgres://me:hush:hush@hush@db:5432/chat?password=hush".to_owned()),
            ..Config::default()
        };
        let printed = config.print();
        assert!(!printed.contains("hush"), "{printed}");
        assert!(printed.contains("files = \"s3://chat/a\""), "{printed}");
        assert!(printed.contains("postgres://me:…@db:5432/chat?…"), "{printed}");
    }

    #[test]
    fn the_defaults() {
        insta::assert_snapshot!(Config::default().print());
    }
}
