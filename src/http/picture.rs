//! Favicon, logo, avatars: the app's own, else the page's (chat-wire 6.9).

use std::path::{Path, PathBuf};

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;

use super::extract::{Path as InPath, Query};
use super::file::{not_found, serve};
use super::{ApiError, Http, Shared};
use crate::frontend::Part;

/// `public/favicon.*`, else the page's.
pub(super) async fn favicon(State(http): State<Shared>, request: Request) -> Result<Response, ApiError> {
    serve(&icon(&http).await?, request).await
}

#[derive(Deserialize)]
pub(super) struct Themed {
    theme: Option<String>,
}

/// `public/logo_light.*` or `public/logo_dark.*`, else the page's. Without a theme the light one.
pub(super) async fn logo(
    State(http): State<Shared>,
    Query(query): Query<Themed>,
    request: Request,
) -> Result<Response, ApiError> {
    let name = match query.theme.as_deref() {
        Some("light") | None => "logo_light",
        Some("dark") => "logo_dark",
        Some(_) => {
            return Err(ApiError::invalid("enum", &["query", "theme"], "Input should be 'light' or 'dark'"));
        }
    };
    serve(&of_app_or_page(&http, name).await?, request).await
}

/// `public/avatars/<id>.*`, else the favicon. `default` is the app itself.
pub(super) async fn avatar(
    State(http): State<Shared>,
    InPath(id): InPath<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ' | b'.' | b'-');
    if id.is_empty() || !id.bytes().all(plain) {
        return Err(ApiError::bad_request("Invalid avatar_id"));
    }
    let id = if id == "default" { http.config.ui.name.clone() } else { id };
    let name = id.to_lowercase().replace([' ', '.'], "_");
    let path = match find(&http.config.app_dir.join("public").join("avatars"), &name).await {
        Some(path) => path,
        None => icon(&http).await?,
    };
    serve(&path, request).await
}

async fn icon(http: &Http) -> Result<PathBuf, ApiError> {
    of_app_or_page(http, "favicon").await
}

async fn of_app_or_page(http: &Http, name: &str) -> Result<PathBuf, ApiError> {
    if let Some(path) = find(&http.config.app_dir.join("public"), name).await {
        return Ok(path);
    }
    let page = http.frontend.part(Part::App).ok_or_else(not_found)?;
    find(&page, name).await.ok_or_else(not_found)
}

/// The file of that name with whatever ending; of several the first by name.
async fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = tokio::fs::read_dir(folder).await.ok()?;
    let mut first: Option<PathBuf> = None;
    while let Ok(Some(entry)) = entries.next_entry().await {
        let path = entry.path();
        let fits = path.extension().is_some() && path.file_stem().is_some_and(|stem| stem == name);
        if fits && path.is_file() && first.as_ref().is_none_or(|first| path < *first) {
            first = Some(path);
        }
    }
    first
}
