//! Elements before they are shown: what stands beside a message, and where its bytes come from.

use std::path::PathBuf;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{Chat, ChatError, Command, Content, FilePlace, NewFile};
use crate::id::{ElementId, StepId};
use crate::protocol::{Display, Element, ElementKind};

/// Something beside a message: a picture, a table, a form. It is shown below its message, unless it says otherwise.
///
/// ```
/// # use rejoinder::chat::{Chat, Message, NewElement};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (chat, recording) = Chat::recorded();
/// let note = NewElement::text("note", "remember the milk").side();
/// chat.send(Message::new("see the note").element(note)).await.unwrap();
/// assert_eq!(recording.elements()[0].name, "note");
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "an element is shown by the message that it is attached to"]
pub struct NewElement {
    element: Element,
    content: Option<Content>,
}

impl NewElement {
    fn new(kind: ElementKind, name: impl Into<String>, mime: Option<&str>, content: Option<Content>) -> Self {
        let mut element = Element::new(ElementId::random(), kind, name);
        element.mime = mime.map(str::to_owned);
        Self { element, content }
    }

    fn guessed(kind: ElementKind, name: impl Into<String>, content: impl Into<Content>) -> Self {
        let name = name.into();
        let content = content.into();
        // What the bytes are goes before what they are called (chat-wire 5.4).
        let (by_content, by_path) = match &content {
            Content::Bytes(bytes) => {
                // Not what looks like a text: that is for its name to tell.
                let found = infer::get(bytes).filter(|found| found.matcher_type() != infer::MatcherType::Text);
                (found.map(|found| found.mime_type().to_owned()), None)
            }
            Content::Path(path) => (None, mime_guess::from_path(path).first()),
        };
        let by_name = mime_guess::from_path(&name).first().or(by_path).map(|mime| mime.essence_str().to_owned());
        let mime = by_content.or(by_name).or_else(|| default_mime(kind).map(str::to_owned));
        Self::new(kind, name, mime.as_deref(), Some(content))
    }

    /// Text, in a fence when it has a language.
    pub fn text(name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::new(ElementKind::Text, name, Some("text/plain"), Some(content.into()))
    }

    /// A picture.
    pub fn image(name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::guessed(ElementKind::Image, name, content).size("medium")
    }

    /// A PDF document.
    pub fn pdf(name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::new(ElementKind::Pdf, name, Some("application/pdf"), Some(content.into()))
    }

    /// Sound.
    pub fn audio(name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::guessed(ElementKind::Audio, name, content)
    }

    /// A film.
    pub fn video(name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::guessed(ElementKind::Video, name, content).size("medium")
    }

    /// A download.
    pub fn file(name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::guessed(ElementKind::File, name, content)
    }

    /// A plotly figure: an object with `data` and `layout`.
    pub fn plotly(name: impl Into<String>, figure: &Value) -> Self {
        let content = Content::from(figure.to_string());
        Self::new(ElementKind::Plotly, name, Some("application/json"), Some(content)).size("medium")
    }

    /// A table: an object with `columns`, `index` and `data`, a row each.
    pub fn dataframe(name: impl Into<String>, table: &Value) -> Self {
        // Without a content type: a page that gets a table as JSON breaks (chat-wire 5.4).
        Self::new(ElementKind::Dataframe, name, None, Some(Content::from(table.to_string()))).size("large")
    }

    /// A component of the application, `public/elements/<name>.jsx`, with its properties.
    pub fn custom(name: impl Into<String>, props: Map<String, Value>) -> Self {
        let mut new = Self::new(ElementKind::Custom, name, Some("application/json"), None);
        new.set_props(props);
        new
    }

    /// Something that lies elsewhere: the page fetches it from `url` itself.
    pub fn linked(kind: ElementKind, name: impl Into<String>, url: impl Into<String>) -> Self {
        let url = url.into();
        let mime = mime_guess::from_path(url.split(['?', '#']).next().unwrap_or_default()).first();
        let mut new = Self::new(kind, name, mime.as_ref().map(mime_guess::Mime::essence_str), None);
        new.element.url = Some(url);
        new
    }

    /// In the side view, at once.
    pub fn side(mut self) -> Self {
        self.element.display = Display::Side;
        self
    }

    /// On a page of its own, by a link.
    pub fn page(mut self) -> Self {
        self.element.display = Display::Page;
        self
    }

    /// `small`, `medium` or `large`.
    pub fn size(mut self, size: impl Into<String>) -> Self {
        self.element.size = Some(size.into());
        self
    }

    /// The fence language of a text.
    pub fn language(mut self, language: impl Into<String>) -> Self {
        self.element.language = Some(language.into());
        self
    }

    /// Its content type, where the guess by its name is wrong.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.element.mime = Some(mime.into());
        self
    }

    /// The page that a PDF opens at, from 1.
    pub fn at_page(mut self, page: i64) -> Self {
        self.element.page = Some(page);
        self
    }

    /// Sound that starts by itself, where the browser allows it.
    pub fn auto_play(mut self) -> Self {
        self.element.auto_play = Some(true);
        self
    }

    /// Settings of the film player.
    pub fn player_config(mut self, config: Value) -> Self {
        self.element.player_config = Some(config);
        self
    }

    fn set_props(&mut self, props: Map<String, Value>) {
        self.content = Some(Content::from(Value::Object(props.clone()).to_string()));
        self.element.props = Some(props);
    }

    /// Keeps its bytes: from here on it can be shown. `message`: what it stands beside.
    pub(super) async fn kept(self, chat: &Chat, message: Option<&StepId>) -> Result<Element, ChatError> {
        let Self { mut element, content } = self;
        element.thread_id = Some(chat.thread().clone());
        element.for_id = Some(message.map_or_else(|| "".into(), StepId::clone));
        if let Some(content) = content {
            let (name, mime) = (element.name.clone(), element.mime.clone().unwrap_or_default());
            let file = chat.keep(NewFile { name, mime, content }).await?;
            element.chainlit_key = Some(file.id);
        }
        Ok(element)
    }
}

/// What the content is taken for, where its name tells nothing.
fn default_mime(kind: ElementKind) -> Option<&'static str> {
    match kind {
        ElementKind::Image => Some("image/png"),
        ElementKind::Audio => Some("audio/mpeg"),
        ElementKind::Video => Some("video/mp4"),
        _ => None,
    }
}

/// An element that was shown: change it or take it away.
#[derive(Clone, Debug)]
pub struct SentElement {
    chat: Chat,
    element: Element,
}

impl SentElement {
    pub(super) fn new(chat: Chat, element: Element) -> Self {
        Self { chat, element }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ElementId {
        &self.element.id
    }

    /// Gives a custom element other properties, on every page and in the store.
    ///
    /// # Errors
    /// When the conversation is over or the properties cannot be kept.
    pub async fn update_props(&mut self, props: Map<String, Value>) -> Result<(), ChatError> {
        let message = self.element.for_id.clone();
        let mut new = NewElement { element: self.element.clone(), content: None };
        new.set_props(props);
        self.element = new.kept(&self.chat, message.as_ref()).await?;
        self.chat.tell(Command::Element(self.element.clone())).await
    }

    /// Takes it away.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn remove(self) -> Result<(), ChatError> {
        self.chat.tell(Command::RemoveElement(self.element.id)).await
    }
}

impl Chat {
    /// Shows something beside a message or a step that was sent before.
    ///
    /// # Errors
    /// When the conversation is over or the bytes cannot be kept.
    pub async fn attach(&self, message: &StepId, element: NewElement) -> Result<SentElement, ChatError> {
        let element = element.kept(self, Some(message)).await?;
        self.tell(Command::Element(element.clone())).await?;
        Ok(SentElement::new(self.clone(), element))
    }

    /// Keeps a file for this conversation.
    pub(super) async fn keep(&self, file: NewFile) -> Result<crate::protocol::StoredFile, ChatError> {
        let about = self.about();
        let place = FilePlace { session: about.session.clone(), thread: about.thread.clone() };
        self.files().keep(&place, file).await.map_err(|error| ChatError::NotKept(error.to_string()))
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<&'static [u8]> for Content {
    fn from(bytes: &'static [u8]) -> Self {
        Self::Bytes(Bytes::from_static(bytes))
    }
}

impl<const N: usize> From<&'static [u8; N]> for Content {
    fn from(bytes: &'static [u8; N]) -> Self {
        Self::Bytes(Bytes::from_static(bytes))
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Bytes(text.into())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Bytes(text.to_owned().into())
    }
}

impl From<PathBuf> for Content {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}
