//! The texts of the page, from the app's folder or the fetched page (chat-wire 6.4).

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::warn;

use super::extract::Query;
use super::language::{InLanguage, Language};
use super::{ApiError, Http, Shared};
use crate::frontend::Part;

/// The texts as their file has them.
#[derive(Serialize)]
pub(super) struct Translation {
    translation: Box<RawValue>,
}

/// The texts in the language asked for, or the next best. It always answers: a page without an answer stays blank.
pub(super) async fn get(
    State(http): State<Shared>,
    Query(query): Query<InLanguage>,
) -> Result<Json<Translation>, ApiError> {
    let asked = query.language()?;
    let set = http.config.ui.language.as_deref().and_then(Language::parse);
    let translation = match find(&http, &set.unwrap_or(asked)).await {
        Some(text) => text,
        None => RawValue::from_string("{}".to_owned()).map_err(|why| ApiError::internal(&why))?,
    };
    Ok(Json(Translation { translation }))
}

/// Exact; the language alone; for that the first with a region; English. Each looked for beside the app first.
async fn find(http: &Http, language: &Language) -> Option<Box<RawValue>> {
    let folders = folders(http);
    for name in [language.as_str(), language.bare()] {
        for folder in &folders {
            if let Some(texts) = read(folder.join(format!("{name}.json"))).await {
                return Some(texts);
            }
        }
    }
    if language.as_str() == language.bare() {
        for folder in &folders {
            if let Some(path) = first_region(folder, language.bare()).await
                && let Some(texts) = read(path).await
            {
                return Some(texts);
            }
        }
    }
    for folder in &folders {
        if let Some(texts) = read(folder.join("en-US.json")).await {
            return Some(texts);
        }
    }
    None
}

fn folders(http: &Http) -> Vec<PathBuf> {
    let own = http.config.app_dir.join(".chainlit").join("translations");
    std::iter::once(own).chain(http.frontend.part(Part::Translations)).collect()
}

async fn first_region(folder: &PathBuf, bare: &str) -> Option<PathBuf> {
    let mut entries = tokio::fs::read_dir(folder).await.ok()?;
    let mut first: Option<PathBuf> = None;
    while let Ok(Some(entry)) = entries.next_entry().await {
        let path = entry.path();
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let fits = is_json && name.strip_prefix(bare).is_some_and(|rest| rest.starts_with('-'));
        if fits && first.as_ref().is_none_or(|first| path < *first) {
            first = Some(path);
        }
    }
    first
}

/// A file's texts; a file that is no JSON object is logged and passed over.
async fn read(path: PathBuf) -> Option<Box<RawValue>> {
    let text = tokio::fs::read_to_string(&path).await.ok()?;
    match serde_json::from_str::<Box<RawValue>>(&text) {
        Ok(texts) if texts.get().starts_with('{') => Some(texts),
        Ok(_) => {
            warn!(path = %path.display(), "a translation is no object");
            None
        }
        Err(why) => {
            warn!(path = %path.display(), %why, "a translation cannot be read");
            None
        }
    }
}
