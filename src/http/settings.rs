//! What the page must know before it shows anything (chat-wire 6.4).

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use super::extract::{Query, Visitor};
use super::language::{InLanguage, Language};
use super::{ApiError, Http, Shared};
use crate::config::{Features, Ui};
use crate::hook::{ChoicesEvent, Language as OfPage, ProfileName};
use crate::protocol::{ChatProfile, Starter, StarterCategory};

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
    chat_profiles: Vec<ChatProfile>,
    starters: Vec<Starter>,
    starter_categories: Vec<StarterCategory>,
    debug_url: Option<String>,
}

/// The query: the profile that is chosen.
#[derive(Deserialize)]
pub(super) struct UnderProfile {
    chat_profile: Option<String>,
}

impl UnderProfile {
    /// The name as it is among these profiles. Pages encode it, and some of them twice.
    fn name(self, profiles: &[ChatProfile]) -> Option<String> {
        let name = self.chat_profile.filter(|name| !name.is_empty())?;
        if profiles.iter().any(|profile| profile.name == name) {
            return Some(name);
        }
        Some(percent_decode_str(&name).decode_utf8().map_or_else(|_| name.clone(), std::borrow::Cow::into_owned))
    }
}

/// Settings for whoever asks, as they are under the profile that is chosen.
pub(super) async fn get(
    State(http): State<Shared>,
    Visitor(user): Visitor,
    Query(language): Query<InLanguage>,
    Query(chosen): Query<UnderProfile>,
) -> Result<Response, ApiError> {
    let language = language.language()?;
    let page = OfPage(language.as_str().to_owned());
    let named = chosen.chat_profile.clone().filter(|name| !name.is_empty());
    let mut asks = ChoicesEvent { user, language: page, profile: ProfileName(named) };
    let chat_profiles = http.answers.profiles(&asks).await;
    asks.profile = ProfileName(chosen.name(&chat_profiles));
    let config = http.answers.under(&chat_profiles, asks.profile.0.as_deref());
    let (starters, starter_categories, markdown) =
        tokio::join!(http.answers.starters(&asks), http.answers.starter_categories(&asks), markdown(&http, &language),);
    let settings = Settings {
        ui: &config.ui,
        features: &config.features,
        user_env: config.user_env.as_deref(),
        mask_user_env: config.mask_user_env,
        data_persistence: true,
        thread_resumable: http.app.can_resume(),
        thread_sharing: config.features.allow_thread_sharing && http.answers.decides_views(),
        markdown,
        chat_profiles,
        starters,
        starter_categories,
        debug_url: None,
    };
    Ok(Json(settings).into_response())
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
