//! Databases that go away, and what tests of that share.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::User;
use rejoinder::server::Tuning;
use rejoinder::{App, Chat, State, UserMessage};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection as _, Executor as _};
use tokio::sync::Semaphore;

use crate::support::cluster::Cluster;
use crate::support::database::Database;
use crate::support::server::{House, Running};

/// A database that can be taken away.
pub struct Place {
    pub database: Database,
    how: How,
}

enum How {
    /// PostgreSQL is stopped as by a crash, and started again.
    Stopped(Cluster),
    /// PostgreSQL stands still, with its connections open.
    Frozen(Cluster),
    /// Somebody else writes to the file and does not come to an end.
    Locked(Option<SqliteConnection>),
}

impl Place {
    pub async fn stopped() -> Option<Self> {
        let cluster = Cluster::start().await?;
        Some(Self { database: cluster.database(), how: How::Stopped(cluster) })
    }

    pub async fn frozen() -> Option<Self> {
        let cluster = Cluster::start().await?;
        Some(Self { database: cluster.database(), how: How::Frozen(cluster) })
    }

    pub async fn locked() -> Option<Self> {
        Some(Self { database: Database::sqlite().await?, how: How::Locked(None) })
    }

    /// The database is away from here on.
    pub async fn goes(&mut self) {
        match &mut self.how {
            How::Stopped(cluster) => cluster.stop_at_once().await,
            How::Frozen(cluster) => cluster.freeze(),
            How::Locked(writer) => {
                let mut connection = SqliteConnection::connect(self.database.url()).await.unwrap();
                connection.execute("begin immediate").await.unwrap();
                *writer = Some(connection);
            }
        }
    }

    /// And back.
    pub async fn comes_back(&mut self) {
        match &mut self.how {
            How::Stopped(cluster) => cluster.start_again().await,
            How::Frozen(cluster) => cluster.thaw(),
            How::Locked(writer) => {
                let mut connection = writer.take().expect("it was away");
                connection.execute("rollback").await.unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    /// The database is away for so long: what is tested is time that passes.
    pub async fn is_away_for(&mut self, time: Duration) {
        self.goes().await;
        tokio::time::sleep(time).await;
        self.comes_back().await;
    }

    /// A server on it.
    pub async fn serve(&self, app: App, tuning: Tuning) -> Running {
        let url = self.database.url().to_owned();
        House::new().serve_tuned(app, |config| config.database_url = Some(url), tuning).await
    }
}

/// Runs each function in each kind of outage.
macro_rules! in_each_outage {
    ($($name:ident),* $(,)?) => {
        mod stopped {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(place) = super::super::world::Place::stopped().await {
                    super::$name(place).await;
                }
            })*
        }
        mod frozen {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                if let Some(place) = super::super::world::Place::frozen().await {
                    super::$name(place).await;
                }
            })*
        }
        mod locked {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::super::world::Place::locked().await.unwrap()).await;
            })*
        }
    };
}
pub(super) use in_each_outage;

/// How long the database is away, and how often: five seconds three times with `REJOINDER_LONG`.
pub fn outages() -> (u32, Duration) {
    if std::env::var("REJOINDER_LONG").is_ok() { (3, Duration::from_secs(5)) } else { (2, Duration::from_secs(2)) }
}

/// An app whose hooks tell that they were called, and go on when they are let.
#[derive(Clone)]
pub struct Gated(Arc<Inner>);

struct Inner {
    called: Mutex<Vec<String>>,
    gate: Semaphore,
}

impl Gated {
    pub fn new() -> Self {
        Self(Arc::new(Inner { called: Mutex::default(), gate: Semaphore::new(0) }))
    }

    /// `wait …`: says `begun`, waits until it is let, and says `done`. `quiet …`: the same without the last word. `stream …`: the same with a text that streams.
    /// `ask …`: asks, and says the answer. Anything else is echoed.
    pub fn app(&self) -> App {
        let app = App::new().with_state(self.clone()).on_password_login(sign_in);
        app.on_chat_start(greet).on_message(answer).build().unwrap()
    }

    /// Lets one go on.
    pub fn let_go(&self) {
        self.0.gate.add_permits(1);
    }

    /// The messages whose hooks were called.
    pub fn called(&self) -> Vec<String> {
        self.0.called.lock().unwrap().clone()
    }
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "pw").then(|| User::new(login.username))
}

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.say("hello").await?;
    Ok(())
}

async fn answer(chat: Chat, message: UserMessage, State(gated): State<Gated>) -> rejoinder::Result {
    let text = message.text().to_owned();
    gated.0.called.lock().unwrap().push(text.clone());
    match text.split(' ').next() {
        Some("wait") => {
            chat.say("begun").await?;
            gated.0.gate.acquire().await?.forget();
            chat.say("done").await?;
        }
        Some("quiet") => {
            chat.say("begun").await?;
            gated.0.gate.acquire().await?.forget();
        }
        Some("stream") => {
            let mut reply = chat.reply();
            reply.push("so far").await?;
            gated.0.gate.acquire().await?.forget();
            reply.push(", so good").await?;
            reply.finish().await?;
        }
        Some("ask") => {
            let answer = chat.ask("well?").timeout(Duration::from_secs(600)).await?;
            chat.say(format!("you said: {}", answer.text)).await?;
        }
        _ => drop(chat.say(format!("echo: {text}")).await?),
    }
    Ok(())
}
