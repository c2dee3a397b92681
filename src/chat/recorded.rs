//! What was said through a chat without a server.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{AskError, Command, Content, FileError, FileKeeper, FilePlace, FileReader, NewAsk, NewFile, Said};
use crate::id::{FileId, StepId};
use crate::protocol::{Action, AskKind, Element, ServerEvent, Step, StepKind, StoredFile, Toast};

/// The words of a hook under test, by the page's rules: a step stands where it was first shown, in its last form.
#[derive(Clone, Debug, Default)]
pub struct Recording(Arc<Mutex<Words>>);

#[derive(Debug, Default)]
struct Words {
    steps: Vec<Step>,
    actions: Vec<Action>,
    elements: Vec<Element>,
    shown: Vec<ServerEvent>,
    answers: VecDeque<String>,
}

impl Recording {
    /// Answers the next question with `text`: for buttons the name of one, for files and forms JSON as the hook gets it.
    /// Without an answer a question times out at once.
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
        let toast = |event: &ServerEvent| match event {
            ServerEvent::Toast(toast) => Some(toast.clone()),
            _ => None,
        };
        self.lock().shown.iter().filter_map(toast).collect()
    }

    /// The buttons that are there.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        self.lock().actions.clone()
    }

    /// The elements that are there.
    #[must_use]
    pub fn elements(&self) -> Vec<Element> {
        self.lock().elements.clone()
    }

    /// What was shown to the tab alone: notes, settings, commands, the side view.
    #[must_use]
    pub fn shown(&self) -> Vec<ServerEvent> {
        self.lock().shown.clone()
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
                    let text = if token.is_input { &mut step.input } else { &mut step.output };
                    if token.is_sequence {
                        *text = token.token;
                    } else {
                        text.push_str(&token.token);
                    }
                }
            }
            Command::CutOff(id) => {
                if let Some(step) = words.steps.iter_mut().find(|step| step.id == id) {
                    step.streaming = false;
                }
            }
            Command::Ask(ask) => {
                let NewAsk { step, kind, actions, element, answer, .. } = *ask;
                let asked = step.id.clone();
                words.put(step);
                let chosen = words.answers.pop_front().and_then(|text| words.answered(text, &kind, &actions));
                if let Some(element) = element.filter(|_| chosen.is_none()) {
                    words.elements.push(element);
                }
                if let Some(step) = words.steps.iter_mut().find(|step| step.id == asked) {
                    step.wait_for_answer = false;
                }
                if let Some(value) = chosen {
                    let _ = answer.send(value);
                }
            }
            Command::Call { answer, .. } => {
                let reply = words.answers.pop_front().map(Value::from).ok_or(AskError::TimedOut);
                let _ = answer.send(reply);
            }
            Command::Element(element) => match words.elements.iter_mut().find(|known| known.id == element.id) {
                Some(known) => *known = element,
                None => words.elements.push(element),
            },
            Command::RemoveElement(id) => words.elements.retain(|known| known.id != id),
            Command::Action(action) => words.actions.push(action),
            Command::RemoveAction(action) => words.actions.retain(|known| known.id != action.id),
            Command::Show(event) => words.shown.push(event),
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
    /// The answer `text` to a question of this kind: a text, the name of a button, JSON for files and forms.
    fn answered(&mut self, text: String, kind: &AskKind, actions: &[Action]) -> Option<Value> {
        match kind {
            AskKind::Text => {
                let id = StepId::random();
                let mut step = Step::new(id.clone(), "test".into(), StepKind::UserMessage, "User");
                step.output.clone_from(&text);
                self.put(step);
                Some(json!({"id": id, "output": text, "createdAt": "2026-01-01T00:00:00Z", "type": "user_message"}))
            }
            AskKind::Action { .. } => {
                actions.iter().find(|action| action.name == text).and_then(|action| serde_json::to_value(action).ok())
            }
            AskKind::File { .. } | AskKind::Element { .. } => serde_json::from_str(&text).ok(),
        }
    }

    fn put(&mut self, step: Step) {
        match self.steps.iter_mut().find(|known| known.id == step.id) {
            Some(known) => *known = step,
            None => self.steps.push(step),
        }
    }
}

/// Files of a hook under test: kept in memory.
#[derive(Debug, Default)]
pub(super) struct InMemory(Mutex<HashMap<FileId, Bytes>>);

#[async_trait]
impl FileKeeper for InMemory {
    async fn keep(&self, _: &FilePlace, file: NewFile) -> Result<StoredFile, FileError> {
        let content = match file.content {
            Content::Bytes(bytes) => bytes,
            Content::Path(path) => tokio::fs::read(path).await?.into(),
        };
        let kept = StoredFile { id: FileId::random(), name: file.name, mime: file.mime, size: content.len() as u64 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(kept.id.clone(), content);
        Ok(kept)
    }

    async fn read(&self, id: &FileId) -> Result<FileReader, FileError> {
        let content = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        Ok(Box::pin(std::io::Cursor::new(content.ok_or(FileError::NotFound)?)))
    }
}
