//! Questions.

use std::collections::BTreeMap;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{Chat, ChatError, Command, NewAction, NewAsk, NewElement};
use crate::id::StepId;
use crate::protocol::{Accept, Action, AskKind, ClientMessage, Element, Step, StepKind, StoredFile};

/// Why a question has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody answered in time, or the page gave the question back.
    #[error("nobody answered in time")]
    TimedOut,
    /// The page that a function was called at has lost its line.
    #[error("the page has lost its line")]
    Disconnected,
    /// The conversation is over.
    #[error("the conversation has ended")]
    Ended,
}

/// An answer to a question for a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The message it is.
    pub id: StepId,
    /// The text.
    pub text: String,
}

/// An answer to a question with a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Submitted {
    /// Whether the form was sent; false when the person chose not to.
    pub submitted: bool,
    /// What the form says besides.
    pub values: Map<String, Value>,
}

/// A question. Awaiting it gives the answer; it survives every break of the line.
///
/// ```
/// # use rejoinder::Chat;
/// # use std::time::Duration;
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// recording.answer("Ada");
/// let answer = chat.ask("your name?").timeout(Duration::from_secs(30)).await.unwrap();
/// assert_eq!(answer.text, "Ada");
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a question is asked by awaiting it"]
pub struct Question<K> {
    chat: Chat,
    text: String,
    author: Option<String>,
    timeout: Duration,
    wanted: K,
}

/// Wants a text.
#[derive(Debug)]
pub struct WantsText;

/// Wants one of some buttons pressed.
#[derive(Debug)]
pub struct WantsAction(Vec<NewAction>);

/// Wants files.
#[derive(Debug)]
pub struct WantsFiles {
    accept: BTreeMap<String, Vec<String>>,
    max_files: u32,
    max_size_mb: u32,
}

/// Wants a form filled in.
#[derive(Debug)]
pub struct WantsForm(NewElement);

impl Chat {
    /// Asks for a text, a minute long. Await the question to get the answer.
    pub fn ask(&self, text: impl Into<String>) -> Question<WantsText> {
        self.question(text.into(), Duration::from_secs(60), WantsText)
    }

    /// Asks for one of some buttons to be pressed, a minute and a half long.
    ///
    /// ```
    /// # use rejoinder::chat::{Chat, NewAction};
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (chat, recording) = Chat::recorded();
    /// recording.answer("yes");
    /// let question = chat.ask_action("continue?").choice(NewAction::new("yes")).choice(NewAction::new("no"));
    /// assert_eq!(question.await.unwrap().name, "yes");
    /// # });
    /// ```
    pub fn ask_action(&self, text: impl Into<String>) -> Question<WantsAction> {
        self.question(text.into(), Duration::from_secs(90), WantsAction(Vec::new()))
    }

    /// Asks for files, a minute and a half long: one, of any type, of two megabytes at most, when nothing else is said.
    pub fn ask_file(&self, text: impl Into<String>) -> Question<WantsFiles> {
        let wanted = WantsFiles { accept: BTreeMap::new(), max_files: 1, max_size_mb: 2 };
        self.question(text.into(), Duration::from_secs(90), wanted)
    }

    /// Asks with a form: a custom element that calls `submitElement` or `cancelElement`. A minute and a half long.
    pub fn ask_element(&self, text: impl Into<String>, form: NewElement) -> Question<WantsForm> {
        self.question(text.into(), Duration::from_secs(90), WantsForm(form))
    }

    fn question<K>(&self, text: String, timeout: Duration, wanted: K) -> Question<K> {
        Question { chat: self.clone(), text, author: None, timeout, wanted }
    }
}

impl<K> Question<K> {
    /// How long to wait. Counts on while the line is broken.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Signed by somebody else than the application's default author.
    pub fn author(mut self, name: impl Into<String>) -> Self {
        self.author = Some(name.into());
        self
    }
}

impl Question<WantsAction> {
    /// One more button.
    pub fn choice(mut self, action: NewAction) -> Self {
        self.wanted.0.push(action);
        self
    }
}

impl Question<WantsFiles> {
    /// Files of this content type are taken (`text/plain`, `image/*`), each type that is named.
    pub fn accept(self, mime: impl Into<String>) -> Self {
        self.accept_endings(mime, [])
    }

    /// The same, if the name ends with one of these: `.csv`.
    pub fn accept_endings<'a>(mut self, mime: impl Into<String>, endings: impl IntoIterator<Item = &'a str>) -> Self {
        let endings = endings.into_iter().map(str::to_owned).collect();
        self.wanted.accept.insert(mime.into(), endings);
        self
    }

    /// So many at most. Pages count; more are given to the hook as they come.
    pub fn max_files(mut self, most: u32) -> Self {
        self.wanted.max_files = most;
        self
    }

    /// Each of so many megabytes at most.
    pub fn max_size_mb(mut self, most: u32) -> Self {
        self.wanted.max_size_mb = most;
        self
    }
}

/// What a question is prepared with.
#[doc(hidden)]
pub struct Prepared {
    kind: AskKind,
    actions: Vec<Action>,
    element: Option<Element>,
}

/// What can be wanted: how it is asked, how an answer is read.
#[doc(hidden)]
pub trait Wanted: Sized + Send + 'static {
    /// What the hook gets.
    type Answer: Send;

    /// What is shown with the question.
    fn prepare(self, chat: &Chat, ask: &StepId) -> impl Future<Output = Result<Prepared, ChatError>> + Send;

    /// Reads an answer that the conversation has taken. `None` when it is none.
    fn read(answer: Value) -> Option<Self::Answer>;
}

impl Wanted for WantsText {
    type Answer = Answer;

    async fn prepare(self, _: &Chat, _: &StepId) -> Result<Prepared, ChatError> {
        Ok(Prepared { kind: AskKind::Text, actions: Vec::new(), element: None })
    }

    fn read(answer: Value) -> Option<Answer> {
        let Value::Object(step) = answer else { return None };
        let message = ClientMessage::parse_step(step).ok()?;
        Some(Answer { id: message.id, text: message.output })
    }
}

impl Wanted for WantsAction {
    type Answer = Action;

    async fn prepare(self, _: &Chat, ask: &StepId) -> Result<Prepared, ChatError> {
        let actions: Vec<Action> = self.0.into_iter().map(|action| action.below(ask)).collect();
        let keys = actions.iter().map(|action| action.id.clone()).collect();
        Ok(Prepared { kind: AskKind::Action { keys }, actions, element: None })
    }

    fn read(answer: Value) -> Option<Action> {
        serde_json::from_value(answer).ok()
    }
}

impl Wanted for WantsFiles {
    type Answer = Vec<StoredFile>;

    async fn prepare(self, _: &Chat, _: &StepId) -> Result<Prepared, ChatError> {
        let Self { accept, max_files, max_size_mb } = self;
        let accept = Accept::new(accept);
        Ok(Prepared { kind: AskKind::File { accept, max_files, max_size_mb }, actions: Vec::new(), element: None })
    }

    fn read(answer: Value) -> Option<Vec<StoredFile>> {
        serde_json::from_value(answer).ok()
    }
}

impl Wanted for WantsForm {
    type Answer = Submitted;

    async fn prepare(self, chat: &Chat, ask: &StepId) -> Result<Prepared, ChatError> {
        let element = self.0.kept(chat, Some(ask)).await?;
        let kind = AskKind::Element { element_id: element.id.clone() };
        Ok(Prepared { kind, actions: Vec::new(), element: Some(element) })
    }

    fn read(answer: Value) -> Option<Submitted> {
        let Value::Object(mut values) = answer else { return None };
        let submitted = values.remove("submitted").and_then(|value| value.as_bool()).unwrap_or(false);
        Some(Submitted { submitted, values })
    }
}

impl<K: Wanted> Question<K> {
    async fn ask(self) -> Result<K::Answer, AskError> {
        let Self { chat, text, author, timeout, wanted } = self;
        let name = chat.signed(author).await;
        let mut step = Step::new(StepId::random(), chat.thread().clone(), StepKind::AssistantMessage, name);
        let prepared = wanted.prepare(&chat, &step.id).await.map_err(|_| AskError::Ended)?;
        let Prepared { kind, actions, element } = prepared;
        let now = chat.clock().now();
        step.parent_id = chat.parent().cloned();
        step.output = text;
        step.wait_for_answer = true;
        step.created_at = Some(now);
        step.start = Some(now);
        step.end = Some(now);
        let (sender, answer) = oneshot::channel();
        let new = NewAsk { step, kind, actions, element, timeout, answer: sender };
        chat.tell(Command::Ask(Box::new(new))).await.map_err(|_| AskError::Ended)?;
        // The conversation drops the sender when the time is over.
        let value = answer.await.map_err(|_| AskError::TimedOut)?;
        K::read(value).ok_or(AskError::TimedOut)
    }
}

impl<K: Wanted> IntoFuture for Question<K> {
    type Output = Result<K::Answer, AskError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.ask())
    }
}
