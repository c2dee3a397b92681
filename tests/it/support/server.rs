//! A whole server in the test's process: a free port, folders and a database of its own.

use std::net::SocketAddr;
use std::path::Path;

use rejoinder::config::Secret;
use rejoinder::hook::{HeaderLogin, PasswordLogin};
use rejoinder::journal::Journal;
use rejoinder::protocol::User;
use rejoinder::server::Tuning;
use rejoinder::{App, Chat, Config, Server};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What signs the logins of test servers.
pub const SECRET: &str = "a secret for tests";

/// A server that runs until it is stopped or dropped.
pub struct Running {
    pub addr: SocketAddr,
    /// The way into its store.
    pub journal: Journal,
    folder: TempDir,
    root: String,
    stop: CancellationToken,
    served: JoinHandle<()>,
}

/// Folders for a server that is not started yet.
pub struct House(TempDir);

impl House {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The app's folder, with `public/` and `.chainlit/`.
    pub fn app(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file of the app, with its folders.
    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.app().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// A small page where a fetched one would be.
    pub fn with_page(self) -> Self {
        let page = "<!doctype html><head><!-- TAG INJECTION PLACEHOLDER --><!-- JS INJECTION PLACEHOLDER -->\
            </head><script src=\"/assets/index.js\"></script>";
        self.file("data/frontend/app/index.html", page)
            .file("data/frontend/app/assets/index.js", "console.log('é')")
            .file("data/frontend/app/assets/worker.mjs", "1")
            .file("data/frontend/app/favicon.svg", "<svg>page</svg>")
            .file("data/frontend/app/logo_light.svg", "<svg>light</svg>")
            .file("data/frontend/copilot/index.js", "copilot")
            .file("data/frontend/translations/en-US.json", r#"{"hello": "hello"}"#)
            .file("data/frontend/translations/fr-FR.json", r#"{"hello": "bonjour"}"#)
    }

    /// What a server in these folders is set to; `.chainlit/config.toml` is read.
    pub fn config(&self) -> Config {
        let flags = rejoinder::config::Flags { app_dir: Some(self.app().to_owned()), ..Default::default() };
        let config = Config::load(flags).unwrap();
        let data_dir = self.app().join("data");
        Config { port: 0, data_dir, auth_secret: Some(Secret::from(SECRET)), database_url: None, ..config }
    }

    pub async fn serve(self, app: App) -> Running {
        self.serve_with(app, |_| {}).await
    }

    /// Serves with other settings.
    pub async fn serve_with(self, app: App, set: impl FnOnce(&mut Config)) -> Running {
        self.serve_tuned(app, set, Tuning::default()).await
    }

    /// The same with other times and bounds inside.
    pub async fn serve_tuned(self, app: App, set: impl FnOnce(&mut Config), tuning: Tuning) -> Running {
        let mut config = self.config();
        set(&mut config);
        let root = config.root_path.to_string();
        let server = Server::bind_tuned(config, app, tuning).await.unwrap();
        let (addr, journal) = (server.local_addr(), server.journal().clone());
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let served = tokio::spawn(async move { server.serve_until(stopped).await.unwrap() });
        Running { addr, journal, folder: self.0, root, stop, served }
    }
}

impl Running {
    /// A server of `app` with a page and nothing else.
    pub async fn start(app: App) -> Self {
        House::new().with_page().serve(app).await
    }

    /// The address of a place below the root path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{}{path}", self.addr, self.root)
    }

    /// Its SQLite file.
    pub fn database(&self) -> std::path::PathBuf {
        self.folder.path().join("data").join("rejoinder.db")
    }

    /// Where it keeps files.
    pub fn files(&self) -> std::path::PathBuf {
        self.folder.path().join("data").join("files")
    }

    /// Stops it; its folders stay.
    pub async fn stop(self) -> House {
        self.stop.cancel();
        self.served.await.unwrap();
        House(self.folder)
    }
}

/// Nobody signs in.
pub fn open_app() -> App {
    App::new().on_chat_start(greet).build().unwrap()
}

/// People sign in with the password `pw`.
pub fn password_app() -> App {
    App::new().on_password_login(check).on_chat_start(greet).build().unwrap()
}

/// People are signed in by the header `x-user`, and whoever is here as `here`.
pub fn header_app() -> App {
    App::new().on_header_login(named).on_chat_start(greet).build().unwrap()
}

async fn greet(chat: Chat) -> rejoinder::Result {
    chat.say("hello").await?;
    Ok(())
}

async fn check(login: PasswordLogin) -> rejoinder::Result<Option<User>> {
    match login.password.as_str() {
        "pw" => Ok(Some(User::new(login.username).with("role", "user"))),
        "boom" => Err(rejoinder::HookError::tell("the user table is on fire")),
        "nobody" => Ok(Some(User::new(""))),
        // A picture makes a token that does not fit into one cookie.
        "picture" => Ok(Some(User::new(login.username).with("image", "x".repeat(5000)))),
        _ => Ok(None),
    }
}

async fn named(login: HeaderLogin) -> rejoinder::Result<Option<User>> {
    Ok(login.get("x-user").or(login.local.then_some("here")).map(User::new))
}
