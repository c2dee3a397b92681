//! The observer: a page that shows a thread live, as its records tell it (records.md 3.11). It is built from `client/` and
//! carried in the binary; it holds no secrets, what it reads is guarded where it reads it.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::{Html, IntoResponse, Response};
use rust_embed::Embed;

use super::Shared;
use super::extract::Path;
use super::page::escape;

/// The built page; nothing where it was not built.
#[derive(Embed)]
#[folder = "client/observer/dist"]
#[allow_missing = true]
struct Built;

/// What the page may do: what it brings along and what this server answers, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

/// Shown where the page was not built. 503: whoever looks after the server should notice.
const NOT_BUILT: &str = "<!doctype html><title>rejoinder</title><p>The observer page was not built into this server: \
    build it with <code>make observer</code>, for which npm is needed, and build the server again.</p>\n";

/// The page for a thread, or a file beside it: no thread's id has a dot.
pub(super) async fn show(State(http): State<Shared>, Path(name): Path<String>) -> Response {
    let guard = [(CONTENT_SECURITY_POLICY, POLICY), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    if let Some(file) = name.contains('.').then(|| Built::get(&name)).flatten() {
        let kind = mime_guess::from_path(&name).first_or_octet_stream();
        let kind = format!("{}; charset=utf-8", kind.essence_str());
        return (guard, [(CONTENT_TYPE, kind)], file.data).into_response();
    }
    let Some(page) = Built::get("index.html") else {
        return (StatusCode::SERVICE_UNAVAILABLE, Html(NOT_BUILT)).into_response();
    };
    let page = String::from_utf8_lossy(&page.data);
    (guard, Html(rooted(&page, http.config.root_path.as_str()))).into_response()
}

/// The page with the root path that it puts in front of what it asks for.
fn rooted(page: &str, root: &str) -> String {
    let named = format!(r#"name="rejoinder-root" content="{}""#, escape(root));
    page.replace(r#"name="rejoinder-root" content="""#, &named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_its_root() {
        let page = r#"<meta name="rejoinder-root" content="" />"#;
        assert_eq!(rooted(page, "/base"), r#"<meta name="rejoinder-root" content="/base" />"#);
    }
}
