//! Variables that Chainlit's deployments have set already.

use std::path::PathBuf;
use std::str::FromStr;

use super::flags::Flags;
use super::{ConfigError, FilesAt, RootPath, SameSite, Secret};

/// What the environment says under Chainlit's names, and under those of ours that are no flag: a secret on the
/// command line could be read by every process of the machine. An empty variable says nothing.
pub(super) fn read(variable: impl Fn(&'static str) -> Option<String>) -> Result<Flags, ConfigError> {
    let text = |name: &'static str| variable(name).filter(|text| !text.is_empty());
    let parent = text("CHAINLIT_PARENT_ROOT_PATH");
    let root = text("CHAINLIT_ROOT_PATH");
    let root_path = if parent.is_none() && root.is_none() {
        None
    } else {
        let whole = parent.unwrap_or_default() + "/" + &root.unwrap_or_default();
        Some(parse::<RootPath>("CHAINLIT_ROOT_PATH", &whole)?)
    };
    let port = text("CHAINLIT_PORT").map(|port| parse("CHAINLIT_PORT", &port)).transpose()?;
    let same_site = match text("CHAINLIT_COOKIE_SAMESITE").as_deref() {
        None => None,
        Some("lax") => Some(SameSite::Lax),
        Some("strict") => Some(SameSite::Strict),
        Some("none") => Some(SameSite::None),
        Some(_) => {
            let message = "must be lax, strict or none".to_owned();
            return Err(ConfigError::Variable { name: "CHAINLIT_COOKIE_SAMESITE", message });
        }
    };
    // The bucket's name is shared by several kinds of storage: it is one of S3 when something of S3 is said beside it.
    let of_s3 = ["APP_AWS_REGION", "APP_AWS_ACCESS_KEY", "APP_AWS_SECRET_KEY", "DEV_AWS_ENDPOINT"];
    let bucket = text("BUCKET_NAME").filter(|_| of_s3.iter().any(|name| text(name).is_some()));
    let files = bucket.map(|name| parse::<FilesAt>("BUCKET_NAME", &format!("s3://{name}"))).transpose()?;
    Ok(Flags {
        host: text("CHAINLIT_HOST"),
        port,
        root_path,
        database_url: text("DATABASE_URL"),
        files,
        files_region: text("APP_AWS_REGION"),
        files_endpoint: text("DEV_AWS_ENDPOINT"),
        files_access_key: text("APP_AWS_ACCESS_KEY"),
        files_secret_key: text("REJOINDER_FILES_SECRET_KEY").or_else(|| text("APP_AWS_SECRET_KEY")).map(Secret::from),
        app_dir: text("CHAINLIT_APP_ROOT").map(PathBuf::from),
        // Whatever it says, it is set.
        require_login: text("CHAINLIT_CUSTOM_AUTH").map(|_| true),
        auth_secret: text("REJOINDER_AUTH_SECRET").or_else(|| text("CHAINLIT_AUTH_SECRET")).map(Secret::from),
        cookie_name: text("CHAINLIT_AUTH_COOKIE_NAME"),
        cookie_path: text("CHAINLIT_AUTH_COOKIE_PATH"),
        cookie_same_site: same_site,
        ..Flags::default()
    })
}

fn parse<T: FromStr<Err: std::fmt::Display>>(name: &'static str, text: &str) -> Result<T, ConfigError> {
    text.parse().map_err(|error: T::Err| ConfigError::Variable { name, message: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &'static [(&'static str, &'static str)]) -> Result<Flags, ConfigError> {
        read(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn the_names_that_deployments_have_are_read() {
        let flags = with(&[
            ("CHAINLIT_HOST", "0.0.0.0"),
            ("CHAINLIT_PORT", "8080"),
            ("CHAINLIT_PARENT_ROOT_PATH", "/a"),
            ("CHAINLIT_ROOT_PATH", "/b"),
            ("DATABASE_URL", "postgres://db"),
            ("CHAINLIT_CUSTOM_AUTH", "1"),
            ("CHAINLIT_AUTH_SECRET", "s"),
            ("CHAINLIT_COOKIE_SAMESITE", "none"),
            ("CHAINLIT_AUTH_COOKIE_NAME", "token"),
        ])
        .unwrap();
        assert_eq!((flags.host.as_deref(), flags.port), (Some("0.0.0.0"), Some(8080)));
        assert_eq!(flags.root_path.unwrap().as_str(), "/a/b");
        assert_eq!(flags.database_url.as_deref(), Some("postgres://db"));
        assert_eq!(flags.require_login, Some(true));
        assert_eq!(flags.auth_secret.unwrap().expose(), "s");
        assert_eq!(flags.cookie_same_site, Some(SameSite::None));
        assert_eq!(flags.cookie_name.as_deref(), Some("token"));
    }

    #[test]
    fn the_bucket_of_a_deployment_is_read() {
        let flags = with(&[
            ("BUCKET_NAME", "chat"),
            ("APP_AWS_REGION", "eu-1"),
            ("APP_AWS_ACCESS_KEY", "a"),
            ("APP_AWS_SECRET_KEY", "s"),
            ("DEV_AWS_ENDPOINT", "http://localhost:4566"),
        ])
        .unwrap();
        assert_eq!(flags.files, Some(FilesAt::Bucket { name: "chat".into(), prefix: String::new() }));
        assert_eq!(flags.files_region.as_deref(), Some("eu-1"));
        assert_eq!(flags.files_endpoint.as_deref(), Some("http://localhost:4566"));
        assert_eq!(flags.files_access_key.as_deref(), Some("a"));
        assert_eq!(flags.files_secret_key.unwrap().expose(), "s");
        assert_eq!(with(&[("BUCKET_NAME", "chat"), ("APP_GCS_PROJECT_ID", "p")]).unwrap().files, None);
    }

    #[test]
    fn an_empty_variable_says_nothing_and_a_wrong_one_is_named() {
        assert_eq!(with(&[("CHAINLIT_PORT", ""), ("DATABASE_URL", "")]).unwrap().port, None);
        for variables in [&[("CHAINLIT_PORT", "http")], &[("CHAINLIT_COOKIE_SAMESITE", "maybe")]] {
            let error = with(variables).unwrap_err().to_string();
            assert!(error.starts_with(variables[0].0), "{error}");
        }
    }
}
