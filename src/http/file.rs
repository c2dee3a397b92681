//! Files of the app and of the built page (chat-wire 6.9): whole or in ranges, with etag and last-modified, and never
//! one that lies outside of its folder.

use std::path::{Component, Path, PathBuf};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::X_CONTENT_TYPE_OPTIONS;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use mime_guess::Mime;
use tower::ServiceExt;
use tower_http::services::ServeFile;

use super::extract::Path as InPath;
use super::{ApiError, Shared};
use crate::frontend::Part;

/// The app's `public` folder.
pub(super) async fn public(
    State(http): State<Shared>,
    InPath(name): InPath<String>,
    request: Request,
) -> Result<Response, ApiError> {
    below(&http.config.app_dir.join("public"), &name, request).await
}

/// What the page's HTML refers to.
pub(super) async fn assets(
    State(http): State<Shared>,
    InPath(name): InPath<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let page = http.frontend.part(Part::App).ok_or_else(not_found)?;
    below(&page.join("assets"), &name, request).await
}

/// The copilot: a script for pages of others.
pub(super) async fn copilot(
    State(http): State<Shared>,
    InPath(name): InPath<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let copilot = http.frontend.part(Part::Copilot).ok_or_else(not_found)?;
    below(&copilot, &name, request).await
}

/// The file `name` in `folder`.
async fn below(folder: &Path, name: &str, request: Request) -> Result<Response, ApiError> {
    serve(&inside(folder, name).await?, request).await
}

/// Where `name` lies in `folder`. Names that lead out of it are refused, by dots as well as by links.
async fn inside(folder: &Path, name: &str) -> Result<PathBuf, ApiError> {
    let outside = || ApiError::bad_request("Invalid filename");
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if name.contains(['\0', '\\']) || !Path::new(name).components().all(plain) {
        return Err(outside());
    }
    let folder = tokio::fs::canonicalize(folder).await.map_err(|_| not_found())?;
    let path = tokio::fs::canonicalize(folder.join(name)).await.map_err(|_| not_found())?;
    if !path.starts_with(&folder) {
        return Err(outside());
    }
    match tokio::fs::metadata(&path).await {
        Ok(metadata) if metadata.is_file() => Ok(path),
        Ok(_) | Err(_) => Err(not_found()),
    }
}

/// A file that was found.
pub(super) async fn serve(path: &Path, request: Request) -> Result<Response, ApiError> {
    let response = ServeFile::new_with_mime(path, &content_type(path)).oneshot(request).await;
    let response = match response {
        Ok(response) => response.map(Body::new),
        Err(never) => match never {},
    };
    if response.status() == StatusCode::NOT_FOUND {
        return Err(not_found());
    }
    let guard = [(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))];
    Ok((guard, response).into_response())
}

/// By the file's ending. Texts say that they are UTF-8: a script of ours in a page of others is read wrongly without.
fn content_type(path: &Path) -> Mime {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    let guess = mime_guess::from_ext(&ending).first_or_octet_stream();
    let text = match ending.as_str() {
        "js" | "mjs" => "application/javascript; charset=utf-8",
        // The source of a custom element: the page compiles it itself.
        "jsx" | "tsx" | "ts" | "md" => "text/plain; charset=utf-8",
        _ if guess.type_() == mime_guess::mime::TEXT => return with_charset(&guess),
        _ => return guess,
    };
    text.parse().unwrap_or(guess)
}

fn with_charset(text: &Mime) -> Mime {
    format!("{}; charset=utf-8", text.essence_str()).parse().unwrap_or_else(|_| text.clone())
}

pub(super) fn not_found() -> ApiError {
    ApiError::not_found("File not found")
}
