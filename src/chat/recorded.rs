//! What was said through a chat without a server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use super::{Command, Said};
use crate::id::StepId;
use crate::protocol::{Step, StepKind, Toast};

/// The words of a hook under test, by the page's rules: a step stands where it was first shown, in its last form.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    steps: Vec<Step>,
    toasts: Vec<Toast>,
    answers: VecDeque<String>,
}

impl Recording {
    /// Answers the next question with `text`; without one it times out at once.
    pub fn answer(&self, text: impl Into<String>) {
        self.lock().answers.push_back(text.into());
    }

    /// The texts of the messages, in order.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.lock().steps.iter().filter(|step| step.is_message()).map(|step| step.output.clone()).collect()
    }

    /// Messages and steps, in order.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        self.lock().steps.clone()
    }

    /// The notes that were shown.
    #[must_use]
    pub fn toasts(&self) -> Vec<Toast> {
        self.lock().toasts.clone()
    }

    pub(super) fn take(&self, command: Command) {
        let mut words = self.lock();
        match command {
            Command::Message(step)
            | Command::Update(step)
            | Command::Open(step)
            | Command::Change(step)
            | Command::Close(step)
            | Command::StreamStart(step)
            | Command::Finish(step) => words.put(step),
            Command::Remove(id) => words.steps.retain(|step| step.id != id),
            Command::Token(token) => {
                if let Some(step) = words.steps.iter_mut().find(|step| step.id == token.id) {
                    if token.is_sequence {
                        step.output = token.token;
                    } else {
                        step.output.push_str(&token.token);
                    }
                }
            }
            Command::CutOff(id) => {
                if let Some(step) = words.steps.iter_mut().find(|step| step.id == id) {
                    step.streaming = false;
                }
            }
            Command::Ask { step, answer, .. } => {
                words.put(step);
                if let Some(text) = words.answers.pop_front() {
                    let id = StepId::random();
                    let reply =
                        json!({"id": id, "output": text, "createdAt": "2026-01-01T00:00:00Z", "type": "user_message"});
                    let mut step = Step::new(id, "test".into(), StepKind::UserMessage, "User");
                    step.output = text;
                    words.put(step);
                    let _ = answer.send(reply);
                }
            }
            Command::Toast(toast) => words.toasts.push(toast),
            Command::End(_) => {}
            Command::History(reply) => {
                let said = |step: &Step| Said {
                    id: step.id.clone(),
                    kind: step.kind.clone(),
                    name: step.name.clone(),
                    text: step.output.clone(),
                };
                let _ = reply.send(words.steps.iter().filter(|step| step.is_message()).map(said).collect());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Words> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Words {
    fn put(&mut self, step: Step) {
        match self.steps.iter_mut().find(|known| known.id == step.id) {
            Some(known) => *known = step,
            None => self.steps.push(step),
        }
    }
}
