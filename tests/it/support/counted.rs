//! An app that counts its hooks and resumes as it is told to, session by session.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoinder::hook::{HookError, PasswordLogin};
use rejoinder::protocol::User;
use rejoinder::{App, Chat, State, UserMessage};
use tokio::sync::{Semaphore, watch};

use super::raw::SOON;

/// What the hooks of an app did, and what its next resumes shall do.
#[derive(Clone)]
pub struct Counted(Arc<Inner>);

struct Inner {
    counts: watch::Sender<HashMap<String, Counts>>,
    plans: Mutex<HashMap<String, VecDeque<Resume>>>,
}

/// The hooks of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub starts: u32,
    pub resumes: u32,
    pub resumed: u32,
    pub messages: Vec<String>,
}

/// What `on_chat_resume` does at one call.
#[derive(Clone, Default)]
pub struct Resume {
    /// It waits until the gate opens.
    pub gate: Option<Arc<Semaphore>>,
    /// It takes its time.
    pub takes: Duration,
    /// It says something.
    pub says: Option<&'static str>,
    /// It asks something, and says what was answered.
    pub asks: bool,
    /// It fails.
    pub fails: bool,
}

impl Counted {
    pub fn new() -> Self {
        Self(Arc::new(Inner { counts: watch::Sender::default(), plans: Mutex::default() }))
    }

    pub fn app(&self) -> App {
        App::new()
            .with_state(self.clone())
            .on_password_login(sign_in)
            .on_chat_start(on_chat_start)
            .on_chat_resume(on_chat_resume)
            .on_message(on_message)
            .build()
            .unwrap()
    }

    /// What the resumes of a session shall do, one after the other; further ones succeed at once.
    pub fn plan(&self, session: &str, resumes: impl IntoIterator<Item = Resume>) {
        self.0.plans.lock().unwrap().insert(session.to_owned(), resumes.into_iter().collect());
    }

    pub fn of(&self, session: &str) -> Counts {
        self.0.counts.borrow().get(session).cloned().unwrap_or_default()
    }

    /// Waits until a session's hooks have done something.
    pub async fn until(&self, session: &str, mut done: impl FnMut(&Counts) -> bool) {
        let mut counts = self.0.counts.subscribe();
        let done = counts.wait_for(|counts| counts.get(session).is_some_and(&mut done));
        let timely = tokio::time::timeout(SOON, done).await.is_ok();
        assert!(timely, "the hooks did only {:?}", self.of(session));
    }

    fn count(&self, chat: &Chat, count: impl FnOnce(&mut Counts)) {
        let session = chat.session().expose().to_owned();
        self.0.counts.send_modify(|counts| count(counts.entry(session).or_default()));
    }
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "pw").then(|| User::new(login.username))
}

async fn on_chat_start(chat: Chat, State(counted): State<Counted>) -> rejoinder::Result {
    counted.count(&chat, |counts| counts.starts += 1);
    chat.say("hello").await?;
    Ok(())
}

async fn on_chat_resume(chat: Chat, State(counted): State<Counted>) -> rejoinder::Result {
    let plan = counted.0.plans.lock().unwrap().get_mut(chat.session().expose()).and_then(VecDeque::pop_front);
    counted.count(&chat, |counts| counts.resumes += 1);
    let plan = plan.unwrap_or_default();
    if let Some(gate) = plan.gate {
        gate.acquire().await?.forget();
    }
    tokio::time::sleep(plan.takes).await;
    if let Some(text) = plan.says {
        chat.say(text).await?;
    }
    if plan.asks {
        let answer = chat.ask("still there?").timeout(Duration::from_secs(30)).await?;
        chat.say(format!("you said: {}", answer.text)).await?;
    }
    if plan.fails {
        return Err(HookError::tell("resume failed"));
    }
    counted.count(&chat, |counts| counts.resumed += 1);
    Ok(())
}

async fn on_message(chat: Chat, message: UserMessage, State(counted): State<Counted>) -> rejoinder::Result {
    counted.count(&chat, |counts| counts.messages.push(message.text().to_owned()));
    if message.text() == "/context" {
        let texts: Vec<String> = chat.history().await?.into_iter().map(|said| said.text).collect();
        chat.say(serde_json::to_string(&texts)?).await?;
    } else {
        chat.say(format!("echo: {}", message.text())).await?;
    }
    Ok(())
}
