//! Somebody who talks at random with the reference app: everything that it offers, as a page does it.

use std::net::SocketAddr;

use rand::Rng;
use rand::rngs::StdRng;
use rejoinder::id::StepId;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::page::{Page, Seen};

/// A page that is being talked at.
pub struct Talk {
    pub page: Page,
    pub random: StdRng,
    server: SocketAddr,
    client: Client,
    /// Messages that were heard, oldest first.
    heard: Vec<StepId>,
    turns: usize,
}

impl Talk {
    pub fn new(page: Page, server: SocketAddr, random: StdRng) -> Self {
        Self { page, random, server, client: Client::new(), heard: Vec::new(), turns: 0 }
    }

    /// The page comes to a server; what it had said before is known there.
    pub async fn come(&mut self, server: SocketAddr) {
        self.server = server;
        self.page.come(server).await;
    }

    /// Says or does something and waits for what comes of it, or for the end of the line. Gives a message that was written,
    /// with its text: into a dying line, it may never have been heard.
    pub async fn turn(&mut self) -> Option<(StepId, String)> {
        self.turns += 1;
        let text = match self.random.random_range(0..16) {
            0 => format!("/many {}", self.random.random_range(1..6)),
            1 | 2 => format!("/stream {} {}", self.random.random_range(1..60), self.random.random_range(0..4)),
            3 => format!("/tool {}", self.turns),
            4 => "/error oh".to_owned(),
            5 => "/element".to_owned(),
            6 => format!("/set key {}", self.turns),
            7 => return self.ask().await,
            8 => return self.stop().await,
            9 => return self.press().await,
            10 | 11 => return self.edit().await,
            12 => return self.change_settings().await,
            13 => return self.vote().await,
            _ => format!("say {}", self.turns),
        };
        Some(self.say(&text).await)
    }

    /// Writes a message and waits for the end of its run.
    pub async fn say(&mut self, text: &str) -> (StepId, String) {
        let id = self.page.send(text);
        self.until_answered(&id).await;
        (id, text.to_owned())
    }

    async fn until_answered(&mut self, id: &StepId) {
        self.until(|seen| seen.is_answered(id) && !seen.screen.is_loading()).await;
        if self.page.look(|seen| seen.is_answered(id)) && !self.heard.contains(id) {
            self.heard.push(id.clone());
        }
    }

    /// Waits, but not for a line that is gone. False when it is.
    async fn until(&self, mut done: impl FnMut(&Seen) -> bool) -> bool {
        self.page.until("an end of a turn", |seen| !seen.is_open || done(seen)).await;
        self.page.look(|seen| seen.is_open)
    }

    async fn ask(&mut self) -> Option<(StepId, String)> {
        let asked = self.page.look(|seen| seen.count_ever("ask"));
        let id = self.page.send("/ask");
        if self.until(|seen| seen.count_ever("ask") > asked).await {
            self.page.answer("somebody");
        }
        self.until_answered(&id).await;
        Some((id, "/ask".to_owned()))
    }

    /// Something that takes long, or waits for an answer, is stopped.
    async fn stop(&mut self) -> Option<(StepId, String)> {
        let text = if self.random.random_bool(0.5) { "/sleep 60000" } else { "/ask-action" };
        let asked = self.page.look(|seen| seen.count_ever("ask"));
        let id = self.page.send(text);
        let begun = |seen: &Seen| match text {
            "/ask-action" => seen.count_ever("ask") > asked,
            _ => seen.run(&id).is_some(),
        };
        if self.until(begun).await {
            self.page.emit("stop", &[]);
        }
        self.until_answered(&id).await;
        Some((id, text.to_owned()))
    }

    /// A message with a button, which is pressed.
    async fn press(&mut self) -> Option<(StepId, String)> {
        let said = self.say("/action").await;
        let pressed = |seen: &Seen| seen.screen.texts().iter().filter(|text| **text == "pressed 1").count();
        let before = self.page.look(pressed);
        let action = json!({"name": "press", "payload": {"n": 1}});
        let body = json!({"action": action, "sessionId": self.page.session});
        if self.request(Method::POST, "/project/action", body).await {
            self.until(|seen| pressed(seen) > before).await;
        }
        Some(said)
    }

    /// An earlier message is changed: what followed it is gone, and it is answered anew.
    async fn edit(&mut self) -> Option<(StepId, String)> {
        // Near the end, or little would be left of what was said.
        let back = self.random.random_range(1..=3).min(self.heard.len());
        let id = self.heard.get(self.heard.len() - back)?.clone();
        self.heard.truncate(self.heard.len() - back + 1);
        let run = self.page.look(|seen| seen.run(&id).map(|run| run.id.clone()));
        let text = format!("changed {}", self.turns);
        self.page.emit("edit_message", &[json!({"message": {"id": id, "output": text}})]);
        let anew = |seen: &Seen| seen.run(&id).is_some_and(|now| Some(&now.id) != run.as_ref() && now.end.is_some());
        self.until(|seen| anew(seen) && !seen.screen.is_loading()).await;
        None
    }

    async fn change_settings(&mut self) -> Option<(StepId, String)> {
        let said = self.say("/settings").await;
        let value = format!("v{}", self.turns);
        self.page.emit("chat_settings_change", &[json!({"model": value})]);
        self.until(|seen| seen.screen.texts().iter().any(|text| text.contains(&value))).await;
        Some(said)
    }

    async fn vote(&mut self) -> Option<(StepId, String)> {
        let step = self.heard.last()?.clone();
        let vote = json!({"forId": step, "threadId": self.page.thread(), "value": self.random.random_range(0..2)});
        self.request(Method::PUT, "/feedback", json!({"feedback": vote, "sessionId": self.page.session})).await;
        None
    }

    /// Asks something by HTTP. False when there is nobody to ask.
    async fn request(&self, method: Method, path: &str, body: Value) -> bool {
        let request = self.client.request(method, format!("http://{}{path}", self.server)).json(&body);
        request.header("cookie", &self.page.visitor.cookie).send().await.is_ok()
    }
}
