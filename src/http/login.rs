//! Signing in and out, and who one is (chat-wire 6.3).

use axum::Json;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{AppendHeaders, IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Peer, Visitor};
use super::{ApiError, Http, Shared};
use crate::auth::local_visitor;
use crate::hook::{HeaderLogin, PasswordLogin};
use crate::protocol::User;

/// How one signs in here.
pub(super) async fn config(State(http): State<Shared>) -> Json<Value> {
    let ui = &http.config.ui;
    Json(json!({
        "requireLogin": http.auth.required(),
        "passwordAuth": http.app.has_password_login(),
        "headerAuth": http.app.has_header_login(),
        "oauthProviders": [],
        "default_theme": ui.default_theme,
        "ui": {
            "login_page_image": ui.login_page_image,
            "login_page_image_filter": ui.login_page_image_filter,
            "login_page_image_dark_filter": ui.login_page_image_dark_filter,
        },
    }))
}

/// By name and password.
pub(super) async fn password(State(http): State<Shared>, request: Request) -> Result<Response, ApiError> {
    let headers = request.headers().clone();
    let login = form(&http, request).await?;
    if !http.app.has_password_login() {
        return Err(ApiError::bad_request("No auth_callback defined"));
    }
    signed_in(&http, &headers, http.answers.password_login(login).await).await
}

/// By the headers of the request.
pub(super) async fn header(State(http): State<Shared>, peer: Peer, headers: HeaderMap) -> Result<Response, ApiError> {
    if !http.app.has_header_login() {
        return Err(ApiError::bad_request("No header_auth_callback defined"));
    }
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let all: Vec<_> = headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let local = peer.is_loopback() && local_visitor(&all, http.listen);
    signed_in(&http, &headers, http.answers.header_login(HeaderLogin { headers: all, local }).await).await
}

/// By a token that somebody else made with our secret; the browser gets one of ours as a cookie.
pub(super) async fn jwt(State(http): State<Shared>, headers: HeaderMap) -> Result<Response, ApiError> {
    let header = headers.get(AUTHORIZATION).ok_or_else(|| ApiError::unauthorized("Authorization header missing"))?;
    let malformed = || ApiError::unauthorized("Invalid authorization header format");
    let (scheme, token) = header.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(ApiError::unauthorized("Invalid authentication scheme. Please use Bearer"));
    }
    let user = http.auth.verify(token.trim()).map_err(|_| ApiError::unauthorized("Invalid token"))?;
    signed_in(&http, &headers, Some(user)).await
}

/// Out: every part of the token is removed, whatever the application says to it. What that is, is the answer.
pub(super) async fn logout(State(http): State<Shared>, headers: HeaderMap) -> Response {
    // Whoever is known no more may still leave.
    let user = http.auth.authenticate(&headers).await.ok().flatten();
    let answer = http.answers.logout(user).await.unwrap_or_else(|| json!({"success": true}));
    (cookies(http.auth.sign_out(&headers)), Json(answer)).into_response()
}

/// Providers are not built; the page offers none.
pub(super) async fn oauth() -> ApiError {
    ApiError::bad_request("No oauth_callback defined")
}

/// Who one is; null where nobody signs in.
pub(super) async fn user(Visitor(user): Visitor) -> Json<Option<User>> {
    Json(user)
}

async fn signed_in(http: &Http, request: &HeaderMap, user: Option<User>) -> Result<Response, ApiError> {
    let user = user.filter(|user| !user.identifier.is_empty());
    let user = user.ok_or_else(|| ApiError::unauthorized("credentialssignin"))?;
    let set = http.auth.sign_in(&user, request).await.map_err(|why| ApiError::internal(&why))?;
    Ok((cookies(set), Json(json!({"success": true}))).into_response())
}

fn cookies(values: Vec<HeaderValue>) -> AppendHeaders<Vec<(HeaderName, HeaderValue)>> {
    AppendHeaders(values.into_iter().map(|value| (SET_COOKIE, value)).collect())
}

/// A form with a name and a password, in either encoding.
async fn form(http: &Shared, mut request: Request) -> Result<PasswordLogin, ApiError> {
    #[derive(Default, Deserialize)]
    struct Form {
        username: Option<String>,
        password: Option<String>,
    }
    let unreadable = || ApiError::invalid("value_error", &["body"], "Not a form");
    let is_multipart = |value: &HeaderValue| value.as_bytes().to_ascii_lowercase().starts_with(b"multipart/form-data");
    let mut form = Form::default();
    if request.headers().get(CONTENT_TYPE).is_some_and(is_multipart) {
        let mut parts = Multipart::from_request(request, http).await.map_err(|_| unreadable())?;
        while let Some(part) = parts.next_field().await.map_err(|_| unreadable())? {
            let field = match part.name() {
                Some("username") => &mut form.username,
                Some("password") => &mut form.password,
                _ => continue,
            };
            *field = Some(part.text().await.map_err(|_| unreadable())?);
        }
    } else {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        form = axum::Form::<Form>::from_request(request, http).await.map_err(|_| unreadable())?.0;
    }
    // As the page's own server has it, a field that is left empty is a field that is missing.
    let given = |field: Option<String>| field.filter(|text| !text.is_empty());
    let username = given(form.username).ok_or_else(|| ApiError::missing(&["body", "username"]))?;
    let password = given(form.password).ok_or_else(|| ApiError::missing(&["body", "password"]))?;
    Ok(PasswordLogin { username, password })
}
