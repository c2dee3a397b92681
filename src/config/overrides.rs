//! What a profile changes of the settings: `ui`, `features` and `project`, each merged deeply (chat-wire 7.3).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Config;
use super::chainlit::Project;

/// A profile wants to change something that is not there, or to something that cannot be. The text is for the log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WrongOverride(String);

/// The tables that a profile may change.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Overrides {
    ui: Map<String, Value>,
    features: Map<String, Value>,
    project: Map<String, Value>,
}

impl Config {
    /// These settings with what a profile changes of them: `{"ui": {"name": "Fast"}}`. What holds for the whole server,
    /// such as `project.session_timeout`, has no effect for one page.
    ///
    /// # Errors
    /// When a table is none of `ui`, `features`, `project`, or a value is not what its key takes.
    pub fn overridden(&self, overrides: &Value) -> Result<Self, WrongOverride> {
        let overrides: Overrides = Overrides::deserialize(overrides).map_err(|why| WrongOverride(why.to_string()))?;
        let mut config = self.clone();
        config.ui = merged("ui", &self.ui, overrides.ui)?;
        config.features = merged("features", &self.features, overrides.features)?;
        // It shows less of itself than it knows.
        config.features.mcp = self.features.mcp.clone();
        merged("project", &Project::of(self), overrides.project)?.apply(&mut config);
        Ok(config)
    }
}

/// A table with changes, one key after the other, so that a wrong one can be named.
fn merged<T: Serialize + DeserializeOwned>(
    table: &str,
    base: &T,
    changes: Map<String, Value>,
) -> Result<T, WrongOverride> {
    let wrong = |key: &str, why: serde_json::Error| WrongOverride(format!("{table}{key}: {why}"));
    let mut value = serde_json::to_value(base).map_err(|why| wrong("", why))?;
    for (key, change) in changes {
        merge(&mut value, Value::Object(Map::from_iter([(key.clone(), change)])));
        T::deserialize(&value).map_err(|why| wrong(&format!(".{key}"), why))?;
    }
    T::deserialize(value).map_err(|why| wrong("", why))
}

/// Objects key by key, everything else as a whole.
fn merge(base: &mut Value, change: Value) {
    match (base, change) {
        (Value::Object(base), Value::Object(changes)) => {
            for (key, change) in changes {
                merge(base.entry(key).or_insert(Value::Null), change);
            }
        }
        (base, change) => *base = change,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::{Accept, CotMode};

    #[test]
    fn tables_are_merged_deeply() {
        let mut base = Config::default();
        base.features.mcp.enabled = true;
        let config = base
            .overridden(&json!({
                "ui": {"name": "Fast", "cot": "hidden", "of_a_later_version": 1},
                "features": {"spontaneous_file_upload": {"accept": ["text/plain"]}, "audio": {"enabled": true}},
                "project": {"user_env": ["KEY"], "mask_user_env": true},
            }))
            .unwrap();
        assert_eq!((config.ui.name.as_str(), config.ui.cot), ("Fast", CotMode::Hidden));
        assert_eq!(config.ui.custom_js_attributes, "defer", "what is not named stays");
        let upload = config.features.spontaneous_file_upload.unwrap();
        assert_eq!((upload.max_files, upload.accept), (Some(20), Some(Accept::Types(vec!["text/plain".into()]))));
        assert_eq!((config.features.audio.enabled, config.features.audio.sample_rate), (true, 24_000));
        assert!(config.features.mcp.enabled);
        assert_eq!((config.user_env, config.mask_user_env), (Some(vec!["KEY".into()]), true));
        assert_eq!(base.overridden(&json!({})).unwrap().ui, base.ui);
    }

    #[test]
    fn a_wrong_change_is_named() {
        for (overrides, message) in [
            (json!({"UI": {}}), "unknown field `UI`, expected one of `ui`, `features`, `project`"),
            (json!({"ui": {"name": "x", "cot": "some"}}), "ui.cot: unknown variant `some`, expected one of `hidden`"),
            (json!({"features": {"latex": "yes"}}), "features.latex: invalid type: string \"yes\", expected a boolean"),
            (json!({"project": {"user_env": 1}}), "project.user_env: invalid type: integer `1`"),
            (json!({"ui": 1}), "invalid type: integer `1`, expected a map"),
            (json!([]), ""),
            (json!(1), "invalid type: integer `1`"),
        ] {
            let error = Config::default().overridden(&overrides);
            match error {
                Err(error) => assert!(error.to_string().starts_with(message), "{overrides}: {error}"),
                // An empty list is an empty object to serde.
                Ok(_) => assert_eq!(overrides, json!([])),
            }
        }
    }
}
