//! HTTP as tests speak it: what was answered, and requests that no client library would send.

use std::net::SocketAddr;

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::server::Running;

/// What was answered.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        Self { status: response.status(), headers: response.headers().clone(), text: response.text().await.unwrap() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|why| panic!("{why}: {}", self.text))
    }

    /// What a page would show of an error.
    pub fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap_or_else(|| panic!("no detail: {}", self.text)).to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn cookies(&self) -> Vec<String> {
        self.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }
}

/// A browser without and with a login.
pub struct Person<'a> {
    server: &'a Running,
    client: Client,
}

impl Running {
    /// Somebody who never signed in.
    pub fn visitor(&self) -> Person<'_> {
        Person { server: self, client: Client::builder().cookie_store(true).build().unwrap() }
    }

    /// Somebody who signed in by password.
    pub async fn person(&self, name: &str) -> Person<'_> {
        let person = self.visitor();
        let login = person.login(name, "pw").await;
        assert_eq!(login.status, StatusCode::OK, "{}", login.text);
        person
    }

    /// Sends `head` as it is (lines end in `\n` here) and gives status and body.
    pub async fn raw(&self, head: &str) -> (u16, String) {
        raw(self.addr, head).await
    }
}

impl Person<'_> {
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.server.url(path))
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(self.request(Method::GET, path)).await
    }

    /// Any method with a JSON body.
    pub async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        Answer::of(self.request(method, path).json(&body)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, body).await
    }

    pub async fn login(&self, name: &str, password: &str) -> Answer {
        Answer::of(self.request(Method::POST, "/login").form(&[("username", name), ("password", password)])).await
    }
}

async fn raw(addr: SocketAddr, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let head = format!("{head}\nHost: localhost\nConnection: close\n\n").replace('\n', "\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{answer}"));
    (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}
