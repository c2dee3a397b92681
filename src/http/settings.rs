//! What the page must know before it shows anything (chat-wire 6.4).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;

use super::extract::{Query, Visitor};
use super::language::{InLanguage, Language};
use super::{ApiError, Http, Shared};
use crate::config::{Features, Ui};

/// The settings. A page breaks without `ui`, `features.audio` and the arrays, so all of them are always there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings<'a> {
    ui: &'a Ui,
    features: &'a Features,
    user_env: Option<&'a [String]>,
    mask_user_env: bool,
    data_persistence: bool,
    thread_resumable: bool,
    thread_sharing: bool,
    markdown: Option<String>,
    chat_profiles: &'a [Value],
    starters: &'a [Value],
    starter_categories: &'a [Value],
    debug_url: Option<String>,
}

/// Settings for whoever asks. Profiles, starters and sharing are not built yet; the page is told that there are none.
pub(super) async fn get(
    State(http): State<Shared>,
    _: Visitor,
    Query(query): Query<InLanguage>,
) -> Result<Response, ApiError> {
    let language = query.language()?;
    let config = &http.config;
    let features = offered(&config.features);
    let settings = Settings {
        ui: &config.ui,
        features: &features,
        user_env: config.user_env.as_deref(),
        mask_user_env: config.mask_user_env,
        data_persistence: true,
        thread_resumable: http.app.can_resume(),
        thread_sharing: false,
        markdown: markdown(&http, &language).await,
        chat_profiles: &[],
        starters: &[],
        starter_categories: &[],
        debug_url: None,
    };
    Ok(Json(settings).into_response())
}

/// The features that the page may offer: what is not built is switched off, whatever the file says, so that nobody is
/// shown a button that does nothing.
fn offered(features: &Features) -> Features {
    features.clone()
}

/// The app's readme in the page's language, or the one without a language.
async fn markdown(http: &Http, language: &Language) -> Option<String> {
    for name in [format!("chainlit_{}.md", language.as_str()), "chainlit.md".to_owned()] {
        if let Ok(text) = tokio::fs::read_to_string(http.config.app_dir.join(name)).await {
            return Some(text);
        }
    }
    None
}

/// Connections to tool servers are not built; the page is told so in `features.mcp`.
pub(super) async fn no_mcp(_: Visitor) -> ApiError {
    ApiError::status(StatusCode::BAD_REQUEST, "This app does not support MCP.")
}
