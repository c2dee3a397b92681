//! A person at a page, on rejoinder or on Chainlit alike: signs in, lists threads, opens them, talks.

use reqwest::multipart::Form;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::http::Answer;
use super::raw::Raw;

/// Somebody who signed in.
pub struct Person {
    base: String,
    name: String,
    cookie: String,
    client: Client,
}

/// A page of theirs.
pub struct Visit {
    raw: Raw,
    name: String,
    /// Every event so far.
    pub seen: Vec<(String, Value)>,
}

impl Person {
    /// Somebody of whom no login is wanted.
    pub fn stranger(base: &str) -> Self {
        Self { base: base.to_owned(), name: "User".into(), cookie: String::new(), client: Client::new() }
    }

    /// Signs in with the reference app's password.
    pub async fn sign_in(base: &str, name: &str) -> Self {
        let client = Client::new();
        let form = client.post(format!("{base}/login")).form(&[("username", name), ("password", "pw")]);
        let answer = form.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        let cookies = answer.headers().get_all("set-cookie").iter();
        let cookies = cookies.map(|value| value.to_str().unwrap().split(';').next().unwrap().to_owned());
        let cookie = cookies.collect::<Vec<_>>().join("; ");
        Self { base: base.to_owned(), name: name.to_owned(), cookie, client }
    }

    /// Their threads, newest first.
    pub async fn threads(&self) -> Vec<Value> {
        let url = format!("{}/project/threads", self.base);
        let request = self.client.post(url).json(&json!({"pagination": {"first": 100}, "filter": {}}));
        let answer = request.header("cookie", &self.cookie).send().await.unwrap();
        let mut page: Value = answer.json().await.unwrap();
        serde_json::from_value(page["data"].take()).unwrap()
    }

    /// A stored thread.
    pub async fn thread(&self, id: &str) -> Value {
        let url = format!("{}/project/thread/{id}", self.base);
        self.client.get(url).header("cookie", &self.cookie).send().await.unwrap().json().await.unwrap()
    }

    /// Asks something over HTTP.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).header("cookie", &self.cookie)
    }

    /// Uploads a file for a session; gives its id.
    pub async fn keeps(&self, session: &str, form: Form) -> String {
        let request = self.request(Method::POST, &format!("/project/file?session_id={session}")).multipart(form);
        let answer = Answer::of(request).await;
        assert!(answer.status.is_success(), "{}", answer.text);
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Opens a page on that thread; an empty id is a new conversation.
    pub async fn visit(&self, thread: &str) -> Visit {
        self.visit_as(&uuid::Uuid::new_v4().to_string(), thread).await
    }

    /// The same for a tab that may have been here before.
    pub async fn visit_as(&self, session: &str, thread: &str) -> Visit {
        self.visit_under("", session, thread).await
    }

    /// A line that has said nothing yet.
    pub async fn line(&self) -> Raw {
        let address = self.base.strip_prefix("http://").unwrap();
        let url = format!("ws://{address}/ws/socket.io/?EIO=4&transport=websocket");
        Raw::open_at(&url, &[("cookie", &self.cookie)]).await.unwrap()
    }

    /// The same under a profile, which is encoded as pages do it.
    pub async fn visit_under(&self, profile: &str, session: &str, thread: &str) -> Visit {
        let mut raw = self.line().await;
        let auth = json!({
            "clientType": "webapp", "sessionId": session, "threadId": thread, "userEnv": "{}", "chatProfile": profile,
        });
        raw.say(&format!("40{auth}")).await;
        let answer = raw.packet().await.unwrap();
        assert!(answer.starts_with("40{"), "{answer}");
        raw.emit("connection_successful", &[]).await;
        Visit { raw, name: self.name.clone(), seen: Vec::new() }
    }
}

impl Visit {
    /// The next such event, and what is remembered of those before.
    pub async fn until(&mut self, is: impl Fn(&str, &Value) -> bool) -> Value {
        loop {
            let (name, value) = self.raw.event().await.unwrap_or_else(|| panic!("the line closed: {:?}", self.seen));
            self.seen.push((name.clone(), value.clone()));
            if is(&name, &value) {
                return value;
            }
        }
    }

    /// The thread that is shown.
    pub async fn thread(&mut self) -> Value {
        self.until(|name, _| name == "resume_thread").await
    }

    /// Waits for a message of this text.
    pub async fn reads(&mut self, text: &str) -> Value {
        self.until(|name, step| name == "new_message" && step["output"] == text).await
    }

    /// Sends a message; gives its id.
    pub async fn say(&mut self, text: &str) -> String {
        self.say_with(text, &[]).await
    }

    /// Sends a message with files; gives its id.
    pub async fn say_with(&mut self, text: &str, files: &[&str]) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let message = json!({
            "threadId": "", "id": id, "name": self.name, "type": "user_message", "output": text,
            "createdAt": "2026-01-01T10:00:00.000Z", "metadata": {},
        });
        let files: Vec<Value> = files.iter().map(|id| json!({"id": id})).collect();
        self.raw.emit("client_message", &[json!({"message": message, "fileReferences": files})]).await;
        id
    }

    /// Sends a message and waits for the end of its run.
    pub async fn turn(&mut self, text: &str) {
        let id = self.say(text).await;
        let its_end = |name: &str, step: &Value| {
            name == "update_message" && step["type"] == "run" && step["parentId"] == id && step["end"].is_string()
        };
        self.until(its_end).await;
        self.until(|name, _| name == "task_end").await;
    }

    /// Goes, as a closed tab does.
    pub async fn leave(mut self) {
        self.raw.say("41").await;
        self.raw.answers = 0;
        let _ = self.raw.stream.close(None).await;
        while self.raw.packet().await.is_some() {}
    }

    /// The line itself.
    pub fn line(&mut self) -> &mut Raw {
        &mut self.raw
    }
}
