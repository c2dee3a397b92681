//! What a hook shows to its tab alone: notes, settings, commands, the side view, the window around the page.

use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;

use super::{Chat, ChatError, Command, FileError, FileReader, NewElement, NewFile};
use crate::id::{ElementId, FileId, StepId};
use crate::protocol::{
    Command as ComposerCommand, Element, ElementKind, Mode, ServerEvent, SettingsForm, TaskList, Toast, ToastKind,
    Widget,
};

impl Chat {
    /// Shows a note that goes away by itself.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn toast(&self, message: impl Into<String>, kind: ToastKind) -> Result<(), ChatError> {
        self.show(ServerEvent::Toast(Toast { message: message.into(), kind })).await
    }

    /// Offers a settings form. What its widgets say first are the session's values from now on; the first form after a
    /// resume goes on with the values that the thread had. Gives the values.
    ///
    /// ```
    /// # use rejoinder::Chat;
    /// # use rejoinder::protocol::{Widget, WidgetKind};
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (chat, _) = Chat::recorded();
    /// let loud = Widget::new("loud", "Speak up", WidgetKind::Switch { initial: false });
    /// let values = chat.settings(vec![loud]).await.unwrap();
    /// assert_eq!(values["loud"], false);
    /// # });
    /// ```
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn settings(&self, widgets: Vec<Widget>) -> Result<Map<String, Value>, ChatError> {
        self.settings_form(SettingsForm::Widgets(widgets)).await
    }

    /// The same with a form that may have tabs.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn settings_form(&self, mut form: SettingsForm) -> Result<Map<String, Value>, ChatError> {
        let values = self.values().offer(&form);
        form.start_with(&values);
        self.show(ServerEvent::ChatSettings(form.into())).await?;
        Ok(values)
    }

    /// The values of the settings form: what the person confirmed last.
    #[must_use]
    pub fn settings_values(&self) -> Map<String, Value> {
        self.values().settings()
    }

    /// The commands of the composer, in place of those before.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn set_commands(&self, commands: Vec<ComposerCommand>) -> Result<(), ChatError> {
        self.show(ServerEvent::SetCommands(commands.into())).await
    }

    /// The modes of the composer, in place of those before; what was chosen is forgotten.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn set_modes(&self, modes: Vec<Mode>) -> Result<(), ChatError> {
        self.show(ServerEvent::SetModes(modes.into())).await
    }

    /// Opens the side view with these elements. Each call replaces what is there.
    ///
    /// # Errors
    /// When the conversation is over or the bytes cannot be kept.
    pub async fn sidebar(&self, title: impl Into<String>, elements: Vec<NewElement>) -> Result<(), ChatError> {
        let mut kept = Vec::with_capacity(elements.len());
        for element in elements {
            kept.push(element.kept(self, None).await?.into());
        }
        self.show(ServerEvent::SetSidebarTitle(title.into())).await?;
        // A page ignores a second list with the key that it has, null included (chat-wire 4.1).
        let key = Some(ElementId::random().to_string());
        self.show(ServerEvent::SetSidebarElements { elements: kept, key }).await
    }

    /// Closes the side view.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn close_sidebar(&self) -> Result<(), ChatError> {
        self.show(ServerEvent::SetSidebarElements { elements: Vec::new(), key: None }).await
    }

    /// Shows a list of tasks to every tab of the conversation; a later one replaces it. It is not stored.
    ///
    /// # Errors
    /// When the conversation is over or the list cannot be kept.
    pub async fn tasks(&self, list: &TaskList) -> Result<(), ChatError> {
        let text = serde_json::to_string(list).map_err(|error| ChatError::NotKept(error.to_string()))?;
        let mime = "application/json".to_owned();
        let file = self.keep(NewFile { name: "tasklist".into(), mime: mime.clone(), content: text.into() }).await?;
        let mut element = Element::new(self.tasklist_id(), ElementKind::Tasklist, "tasklist");
        element.thread_id = Some(self.thread().clone());
        element.chainlit_key = Some(file.id);
        element.for_id = Some(StepId::from(""));
        element.mime = Some(mime);
        self.tell(Command::Element(element)).await
    }

    /// Adds to the number of tokens that the page shows.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn token_usage(&self, tokens: u64) -> Result<(), ChatError> {
        self.show(ServerEvent::TokenUsage(tokens)).await
    }

    /// Posts something to the window around the page. It is posted to any origin: no secrets.
    ///
    /// # Errors
    /// When the conversation is over.
    pub async fn post_to_window(&self, message: impl Into<Value>) -> Result<(), ChatError> {
        self.show(ServerEvent::WindowMessage(message.into())).await
    }

    /// The whole content of a file, in memory.
    ///
    /// # Errors
    /// When there is no such file or its place is away.
    pub async fn read_file(&self, file: &FileId) -> Result<Vec<u8>, FileError> {
        let mut content = Vec::new();
        self.open_file(file).await?.read_to_end(&mut content).await?;
        Ok(content)
    }

    /// The content of a file as a stream.
    ///
    /// # Errors
    /// As [`read_file`](Self::read_file).
    pub async fn open_file(&self, file: &FileId) -> Result<FileReader, FileError> {
        self.files().read(file).await
    }

    async fn show(&self, event: ServerEvent) -> Result<(), ChatError> {
        self.tell(Command::Show(event)).await
    }
}
