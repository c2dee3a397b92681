//! The page itself: index.html with the app's name, styles and root path put in (chat-wire 6.10).

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;
use tracing::warn;

use super::{ApiError, Http, Shared};
use crate::config::Ui;
use crate::frontend::Part;

/// What a link preview shows, where the app does not say.
const BANNER: &str = "https://chainlit-cloud.s3.eu-west-3.amazonaws.com/logo/chainlit_banner.png";

/// Where a link preview leads, where the app does not say: the page's own project.
const PROJECT: &str = "https://github.com/Chainlit/chainlit";

/// Shown while there is no page. 503: whoever looks after the server should notice.
const NO_PAGE: &str = "<!doctype html><title>rejoinder</title><p>The server runs, but it has no page to show yet: \
    get the stock one with <code>rejoinder frontend fetch</code> and reload, or name a folder with \
    <code>--frontend</code>.</p>\n";

/// Whatever is no route: a GET is a place within the page, everything else is not allowed.
pub(super) async fn otherwise(state: State<Shared>, method: Method) -> Response {
    if method == Method::GET || method == Method::HEAD {
        return show(state).await;
    }
    ApiError::method_not_allowed().into_response()
}

/// The page.
pub(super) async fn show(State(http): State<Shared>) -> Response {
    let Some(folder) = http.frontend.part(Part::App) else {
        return (StatusCode::SERVICE_UNAVAILABLE, Html(NO_PAGE)).into_response();
    };
    match tokio::fs::read_to_string(folder.join("index.html")).await {
        Ok(template) => Html(fill(&template, &look(&http).await)).into_response(),
        Err(why) => {
            warn!(%why, "the page cannot be read");
            (StatusCode::SERVICE_UNAVAILABLE, Html(NO_PAGE)).into_response()
        }
    }
}

/// What is put into the page.
struct Look<'a> {
    ui: &'a Ui,
    root: &'a str,
    transports: Option<&'a [String]>,
    theme: Option<Value>,
}

async fn look(http: &Http) -> Look<'_> {
    let path = http.config.app_dir.join("public").join("theme.json");
    let theme = match tokio::fs::read_to_string(&path).await {
        Ok(text) => serde_json::from_str(&text)
            .inspect_err(|why| warn!(path = %path.display(), %why, "the theme cannot be read"))
            .ok(),
        Err(_) => None,
    };
    let config = &http.config;
    Look { ui: &config.ui, root: config.root_path.as_str(), transports: config.transports.as_deref(), theme }
}

fn fill(template: &str, look: &Look<'_>) -> String {
    let mut page = template.replace("<!-- TAG INJECTION PLACEHOLDER -->", &tags(look));
    page = page.replace("<!-- JS INJECTION PLACEHOLDER -->", &scripts(look));
    if let Some(href) = &look.ui.custom_css {
        let link = format!(
            r#"<link rel="stylesheet" type="text/css" href="{}" {}>"#,
            escape(href),
            attributes(&look.ui.custom_css_attributes)
        );
        page = page.replace("<!-- CSS INJECTION PLACEHOLDER -->", &link);
    }
    if let Some(fonts) = fonts(look) {
        page = between(&page, "<!-- FONT START -->", "<!-- FONT END -->", &fonts);
    }
    rooted(&page, look.root)
}

fn tags(look: &Look<'_>) -> String {
    let name = escape(&look.ui.name);
    let description = escape(&look.ui.description);
    let image = escape(look.ui.custom_meta_image_url.as_deref().unwrap_or(BANNER));
    let url = escape(look.ui.custom_meta_url.as_deref().unwrap_or(PROJECT));
    let root = escape(look.root);
    [
        format!("<title>{name}</title>"),
        r#"<link rel="icon" href="/favicon" />"#.to_owned(),
        format!(r#"<meta name="description" content="{description}">"#),
        r#"<meta property="og:type" content="website">"#.to_owned(),
        format!(r#"<meta property="og:title" content="{name}">"#),
        format!(r#"<meta property="og:description" content="{description}">"#),
        format!(r#"<meta property="og:image" content="{image}">"#),
        format!(r#"<meta property="og:url" content="{url}">"#),
        format!(r#"<meta property="og:root_path" content="{root}">"#),
    ]
    .join("\n    ")
}

fn scripts(look: &Look<'_>) -> String {
    let variables = look.theme.as_ref().and_then(|theme| theme.get("variables")).filter(|value| !value.is_null());
    let theme = variables.map(|variables| format!("window.theme = {};\n", script_json(variables)));
    let transports = look.transports.filter(|list| !list.is_empty());
    let transports = transports.map(|list| format!("window.transports = {};\n", script_json(&Value::from(list))));
    let inline = format!("<script>\n{}{}</script>", theme.unwrap_or_default(), transports.unwrap_or_default());
    let own =
        look.ui.custom_js.as_ref().map(|src| {
            format!(r#"<script src="{}" {}></script>"#, escape(src), attributes(&look.ui.custom_js_attributes))
        });
    inline + &own.unwrap_or_default()
}

/// Links to the theme's fonts; `None` leaves the page's own.
fn fonts(look: &Look<'_>) -> Option<String> {
    let fonts = look.theme.as_ref()?.get("custom_fonts")?.as_array()?;
    let links = fonts.iter().filter_map(Value::as_str);
    Some(links.map(|href| format!(r#"<link rel="stylesheet" href="{}">"#, escape(href))).collect::<Vec<_>>().join("\n"))
}

/// A text within HTML or one of its attributes.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// Attributes that the app's owner wrote: kept, but they stay within their tag.
fn attributes(text: &str) -> String {
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// JSON within a script: nothing in it may end the script.
fn script_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Puts `text` in place of what stands between two markers, and of the markers.
fn between(page: &str, start: &str, end: &str, text: &str) -> String {
    match page.split_once(start) {
        Some((before, rest)) => match rest.split_once(end) {
            Some((_, after)) => format!("{before}{text}{after}"),
            None => page.to_owned(),
        },
        None => page.to_owned(),
    }
}

/// Links to places of this server, under its root. `//host/…` is another server.
fn rooted(page: &str, root: &str) -> String {
    if root.is_empty() {
        return page.to_owned();
    }
    ["href=\"/", "src=\"/"].iter().fold(page.to_owned(), |page, link| {
        let attribute = &link[..link.len() - 1];
        let mut parts = page.split(link);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |done, part| {
            let root = if part.starts_with('/') { "" } else { root };
            format!("{done}{attribute}{root}/{part}")
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEMPLATE: &str = r#"<!doctype html>
<html lang="en">
  <head>
    <!-- TAG INJECTION PLACEHOLDER -->
    <!-- FONT START -->
    <link href="https://fonts.example/css" rel="stylesheet" />
    <!-- FONT END -->
    <!-- JS INJECTION PLACEHOLDER -->
    <!-- CSS INJECTION PLACEHOLDER -->
    <script type="module" crossorigin src="/assets/index.js"></script>
    <link rel="stylesheet" crossorigin href="/assets/index.css">
  </head>
</html>
"#;

    #[test]
    fn a_page_as_it_is() {
        let ui = Ui::default();
        let look = Look { ui: &ui, root: "", transports: None, theme: None };
        insta::assert_snapshot!(fill(TEMPLATE, &look));
    }

    #[test]
    fn everything_put_in_is_escaped_and_rooted() {
        let ui = Ui {
            name: r#"</title><script>"'&"#.to_owned(),
            description: r#"" onload="x"#.to_owned(),
            custom_css: Some("/public/a.css".to_owned()),
            custom_css_attributes: r#"media="print" ><b>"#.to_owned(),
            custom_js: Some("//elsewhere.example/a.js".to_owned()),
            ..Ui::default()
        };
        let theme = json!({
            "custom_fonts": ["https://fonts.example/a?b=1&c=\"2\"", 3],
            "variables": {"light": {"--a": "</script><script>alert(1)</script>"}}
        });
        let transports = ["websocket".to_owned()];
        let look = Look { ui: &ui, root: "/base", transports: Some(&transports), theme: Some(theme) };
        insta::assert_snapshot!(fill(TEMPLATE, &look));
    }

    #[test]
    fn an_empty_list_of_fonts_removes_the_pages_own() {
        let ui = Ui::default();
        let look = Look { ui: &ui, root: "", transports: None, theme: Some(json!({"custom_fonts": []})) };
        assert!(!fill(TEMPLATE, &look).contains("fonts.example"));
    }
}
