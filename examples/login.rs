//! A chat for people who are in a table, with passwords as Argon2 hashes.
//!
//! `cargo run --example login -- add ada` puts somebody into `users.db`; the password is read from the first line of
//! standard input. Then `CHAINLIT_AUTH_SECRET=… cargo run --example login -- serve`.

use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{self, PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use rejoinder::hook::{PasswordLogin, ResumedThread};
use rejoinder::protocol::User;
use rejoinder::{App, Chat, State, UserMessage};
use sqlx::SqlitePool;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::OnceCell;

/// The table of people; opened when somebody first asks for it.
#[derive(Clone, Default)]
struct People(Arc<OnceCell<SqlitePool>>);

impl People {
    async fn table(&self) -> sqlx::Result<&SqlitePool> {
        let open = async || {
            let options = SqliteConnectOptions::new().filename("users.db").create_if_missing(true);
            let pool = SqlitePool::connect_with(options).await?;
            let table = "create table if not exists users (name text primary key, password_hash text not null)";
            sqlx::query(table).execute(&pool).await?;
            Ok(pool)
        };
        self.0.get_or_try_init(open).await
    }

    async fn add(&self, name: &str, hash: &str) -> sqlx::Result<()> {
        let row = "insert into users (name, password_hash) values (?, ?) \
            on conflict (name) do update set password_hash = excluded.password_hash";
        sqlx::query(row).bind(name).bind(hash).execute(self.table().await?).await?;
        Ok(())
    }

    async fn hash_of(&self, name: &str) -> sqlx::Result<Option<String>> {
        let question = "select password_hash from users where name = ?";
        sqlx::query_scalar(question).bind(name).fetch_optional(self.table().await?).await
    }
}

fn hash(password: &str) -> password_hash::Result<String> {
    let salt = SaltString::generate(&mut OsRng);
    Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string())
}

/// Whoever is not in the table is measured against this hash of nothing: a refusal takes as long as for one who is.
static NOBODY: LazyLock<String> = LazyLock::new(|| hash("").unwrap_or_default());

async fn sign_in(login: PasswordLogin, State(people): State<People>) -> rejoinder::Result<Option<User>> {
    let PasswordLogin { username, password } = login;
    let known = people.hash_of(&username).await?;
    // This takes a tenth of a second of a processor, on purpose: not on a thread that serves others.
    let is_right = tokio::task::spawn_blocking(move || {
        let stored = known.as_ref().unwrap_or(&NOBODY);
        let matches = PasswordHash::new(stored)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
        matches && known.is_some()
    })
    .await?;
    Ok(is_right.then(|| User::new(username)))
}

async fn greet(chat: Chat) -> rejoinder::Result {
    let name = chat.user().map_or("stranger", |user| &user.identifier);
    chat.say(format!("Hello {name}. What you say here, only you can open again.")).await?;
    Ok(())
}

/// Presence is enough: threads can be opened again.
async fn welcome_back(_thread: ResumedThread) {}

async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
    chat.say(format!("You said: {}", message.text())).await?;
    Ok(())
}

/// `login add NAME`.
async fn add(name: &str) -> anyhow::Result<()> {
    let mut password = String::new();
    std::io::stdin().read_line(&mut password)?;
    let password = password.trim_end_matches(['\r', '\n']);
    anyhow::ensure!(!password.is_empty(), "the password is empty");
    let hash = hash(password).map_err(|error| anyhow::anyhow!("{error}"))?;
    People::default().add(name, &hash).await?;
    println!("{name} may come in");
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [command, name] = &words[..]
        && command == "add"
    {
        let added = tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| runtime.block_on(add(name)));
        return added.map_or_else(|error| (eprintln!("{error}"), ExitCode::FAILURE).1, |()| ExitCode::SUCCESS);
    }
    let app = App::new()
        .with_state(People::default())
        .on_password_login(sign_in)
        .on_chat_start(greet)
        .on_chat_resume(welcome_back)
        .on_message(answer);
    rejoinder::cli::main(app.build())
}
