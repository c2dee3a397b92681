//! Files on their way to a server.

use std::path::Path;
use std::time::Duration;

use reqwest::multipart::{Form, Part};
use reqwest::{Method, StatusCode};

use super::http::{Answer, Person};
use super::raw::SOON;

/// A form with one file, as pages send it.
pub fn form(name: &str, mime: &str, content: impl Into<Vec<u8>>) -> Form {
    Form::new().part("file", Part::bytes(content.into()).file_name(name.to_owned()).mime_str(mime).unwrap())
}

impl Person<'_> {
    /// Uploads a file for a session, with what else the query says.
    pub async fn uploads(&self, session: &str, query: &str, form: Form) -> Answer {
        let path = format!("/project/file?session_id={session}{query}");
        Answer::of(self.request(Method::POST, &path).multipart(form)).await
    }

    /// Uploads a file that is taken; gives its id.
    pub async fn keeps(&self, session: &str, form: Form) -> String {
        let answer = self.uploads(session, "", form).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["id"].as_str().unwrap().to_owned()
    }
}

/// Every file below a folder, by its path in it.
pub fn files_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// Waits until something that tells nobody has happened: a folder, another process.
pub async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let looking = async {
        while !done().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(SOON, looking).await.is_ok(), "never: {what}");
}
