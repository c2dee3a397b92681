//! A database that Chainlit 2.12.0 wrote (tests/chainlit/database) opens as it is, is talked in, and opens in Chainlit
//! again.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rejoinder::id::ThreadId;
use serde_json::Value;

use crate::support::chainlit;
use crate::support::database::{Database, Kind};
use crate::support::person::{Person, Visit};
use crate::support::program::{Launch, Program, eventually};
use crate::support::tool;

/// The database and what Chainlit itself tells of it.
struct Past {
    database: Database,
    told: Value,
}

/// The threads by who wrote them.
const PEOPLE: [&str; 2] = ["alice", "bob"];

fn folder() -> std::path::PathBuf {
    tool::project("tests/chainlit/database")
}

impl Past {
    async fn of(kind: Kind) -> Option<Self> {
        let (database, name) = match kind {
            Kind::Sqlite => {
                let database = Database::sqlite().await.unwrap();
                std::fs::copy(folder().join("chat.db"), database.url().strip_prefix("sqlite://").unwrap()).unwrap();
                (database, "sqlite")
            }
            Kind::Postgres => {
                let database = Database::postgres().await?;
                database.run(&std::fs::read_to_string(folder().join("postgres.sql")).unwrap()).await;
                (database, "postgres")
            }
        };
        let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
        let mut told: Value = serde_json::from_str(&text).unwrap();
        Some(Self { database, told: told[name].take() })
    }

    fn threads(&self, person: &str) -> &[Value] {
        self.told[person].as_array().unwrap()
    }

    /// The id of Alice's thread of that name.
    fn named(&self, name: &str) -> &str {
        let thread = self.threads("alice").iter().find(|thread| thread["name"] == name).unwrap();
        text(&thread["id"])
    }

    async fn rejoinder(&self) -> Program {
        // Files that Chainlit stored are found where its app has them.
        Launch::reference().on(&self.database).start().await
    }

    /// The real Chainlit on the same database.
    async fn chainlit(&self, home: &Path) -> Option<Program> {
        let url = match self.database.kind {
            Kind::Sqlite => {
                let file = self.database.url().strip_prefix("sqlite://").unwrap();
                format!("sqlite+aiosqlite:///{file}")
            }
            Kind::Postgres => {
                let rest = self.database.url().split_once("://").unwrap().1;
                format!("postgresql+asyncpg://{rest}")
            }
        };
        chainlit::start(home, &[("CONNINFO", &url)]).await
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

fn names(threads: &[Value]) -> Vec<&str> {
    threads.iter().map(|thread| text(&thread["name"])).collect()
}

fn steps(thread: &Value) -> &[Value] {
    thread["steps"].as_array().unwrap()
}

/// Who says what, in order.
fn outputs(thread: &Value) -> Vec<&str> {
    steps(thread)
        .iter()
        .filter(|step| text(&step["type"]).ends_with("_message"))
        .map(|step| text(&step["output"]))
        .collect()
}

/// All that Chainlit told is there and reads the same, and a page can take it in this order.
fn holds(shown: &Value, told: &Value) {
    assert_eq!(shown["name"], told["name"]);
    let by_id: HashMap<&str, &Value> = steps(shown).iter().map(|step| (text(&step["id"]), step)).collect();
    for step in steps(told) {
        let id = text(&step["id"]);
        let ours = by_id.get(id).unwrap_or_else(|| panic!("{} lacks {step}", told["name"]));
        for key in ["type", "name", "output", "isError"] {
            assert_eq!(ours[key], step[key], "{key} of {step}");
        }
        // A message's input is never shown.
        if !text(&step["type"]).ends_with("_message") {
            assert_eq!(ours["input"], step["input"], "{step}");
        }
        if let Some(vote) = step["feedback"].as_object() {
            assert_eq!(ours["feedback"]["value"], vote["value"]);
            assert_eq!(ours["feedback"]["comment"], vote["comment"]);
        }
    }
    assert_eq!(by_id.len(), steps(told).len());
    let mut known = HashSet::new();
    for step in steps(shown) {
        assert!(step["parentId"].is_null() || known.contains(text(&step["parentId"])), "a page would drop {step}");
        known.insert(text(&step["id"]));
    }
    // What has a time stands by it, among the steps below the same parent.
    let mut last: HashMap<Option<&str>, &str> = HashMap::new();
    for step in steps(shown) {
        let Some(time) = step["createdAt"].as_str() else { continue };
        let before = last.insert(step["parentId"].as_str(), time);
        assert!(before.is_none_or(|before| before <= time), "{} stands out of its time in {}", step, told["name"]);
    }
    for element in told["elements"].as_array().unwrap() {
        let ours = shown["elements"].as_array().unwrap().iter().find(|ours| ours["id"] == element["id"]).unwrap();
        for key in ["forId", "name", "type", "display", "mime"] {
            assert_eq!(ours[key], element[key], "{key} of {element}");
        }
        assert!(ours["url"].is_string(), "a page shows no element without an address: {ours}");
    }
}

/// Opens a thread; gives what is shown of it.
async fn opened(person: &Person, thread: &str) -> (Visit, Value) {
    let mut visit = person.visit(thread).await;
    let shown = visit.thread().await;
    (visit, shown)
}

async fn all_is_there(past: &Past, server: &Program) {
    for name in PEOPLE {
        let person = Person::sign_in(server.base(), name).await;
        let listed = person.threads().await;
        assert_eq!(names(&listed), names(past.threads(name)), "newest first");
        for told in past.threads(name) {
            let id = text(&told["id"]);
            holds(&person.thread(id).await, told);
            if told["name"] != "fail-once please" {
                let (visit, shown) = opened(&person, id).await;
                if told["name"] != "greet me" {
                    holds(&shown, told);
                }
                visit.leave().await;
            }
        }
    }
}

async fn a_database_of_chainlits_opens_as_it_is(kind: Kind) {
    let Some(past) = Past::of(kind).await else { return };
    let server = past.rejoinder().await;
    all_is_there(&past, &server).await;
    let alice = Person::sign_in(server.base(), "alice").await;

    // The resume hook goes by the name that the thread was given in Chainlit.
    let mut visit = alice.visit(past.named("greet me")).await;
    visit.thread().await;
    visit.reads("welcome back").await;
    visit.leave().await;

    // Failed: the thread with the error. Opened again by the same tab: without.
    let (session, thread) = (uuid::Uuid::new_v4().to_string(), past.named("fail-once please"));
    let mut visit = alice.visit_as(&session, thread).await;
    assert!(outputs(&visit.thread().await).contains(&"resume failed"));
    let mut visit = alice.visit_as(&session, thread).await;
    let is_well = |name: &str, thread: &Value| name == "resume_thread" && !outputs(thread).contains(&"resume failed");
    let shown = visit.until(is_well).await;
    holds(&shown, past.threads("alice").iter().find(|told| told["id"] == thread).unwrap());
    visit.leave().await;

    // A value that Chainlit stored; what was said there is in the context.
    let mut visit = alice.visit(past.named("/set colour deep blue")).await;
    visit.turn("/get colour").await;
    assert!(visit.seen.iter().any(|(_, step)| step["output"] == "deep blue"));
    visit.leave().await;
    let mut visit = alice.visit(past.named("/stream 12 5")).await;
    visit.turn("/context").await;
    let context = visit.seen.iter().rev().find(|(name, _)| name == "new_message").unwrap().1["output"].clone();
    assert!(text(&context).contains("t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11"), "{context}");
    visit.leave().await;
}

async fn chainlit_and_rejoinder_take_turns_on_one_database(kind: Kind) {
    let Some(past) = Past::of(kind).await else { return };
    let home = tempfile::tempdir().unwrap();
    let thread = past.named("hi there");

    let server = past.rejoinder().await;
    let alice = Person::sign_in(server.base(), "alice").await;
    let (mut visit, _) = opened(&alice, thread).await;
    visit.turn("said to rejoinder").await;
    visit.turn("/stream 3 1").await;
    visit.turn("/tool a shelf").await;
    visit.leave().await;
    let mut fresh = alice.visit("").await;
    fresh.reads("hello").await;
    fresh.turn("begun on rejoinder").await;
    fresh.leave().await;
    let begun = alice.threads().await;
    let begun = begun.iter().find(|thread| thread["name"] == "begun on rejoinder").unwrap();
    let begun = text(&begun["id"]).to_owned();
    server.stop().await;

    let Some(chainlit) = past.chainlit(home.path()).await else { return };
    let there = Person::sign_in(chainlit.base(), "alice").await;
    let listed = there.threads().await;
    let listed: HashSet<&str> = names(&listed).into_iter().collect();
    let wanted: HashSet<&str> = names(past.threads("alice")).into_iter().chain(["begun on rejoinder"]).collect();
    assert_eq!(listed, wanted);
    for told in past.threads("alice").iter().filter(|told| told["name"] != "fail-once please") {
        let (visit, shown) = opened(&there, text(&told["id"])).await;
        assert_eq!(shown["name"], told["name"]);
        assert!(steps(&shown).len() >= steps(told).len(), "{shown}");
        visit.leave().await;
    }
    let (visit, shown) = opened(&there, &begun).await;
    assert!(outputs(&shown).contains(&"echo: begun on rejoinder"), "{shown}");
    visit.leave().await;
    let (mut visit, shown) = opened(&there, thread).await;
    for said in ["said to rejoinder", "echo: said to rejoinder", "t0 t1 t2 ", "done"] {
        assert!(outputs(&shown).contains(&said), "Chainlit shows what rejoinder added: {said} in {shown}");
    }
    let lookup = steps(&shown).iter().find(|step| step["name"] == "lookup").unwrap();
    assert_eq!((&lookup["input"], &lookup["output"]), (&"a shelf".into(), &"found a shelf".into()));
    let order: Vec<_> = outputs(&shown).into_iter().filter(|said| !said.starts_with('/')).collect();
    assert!(order.ends_with(&["said to rejoinder", "echo: said to rejoinder", "t0 t1 t2 ", "done"]), "{order:?}");
    visit.turn("said to Chainlit").await;
    visit.leave().await;
    eventually("Chainlit writes", async || outputs(&there.thread(thread).await).contains(&"echo: said to Chainlit"))
        .await;
    chainlit.stop().await;

    let server = past.rejoinder().await;
    let alice = Person::sign_in(server.base(), "alice").await;
    let (mut visit, shown) = opened(&alice, thread).await;
    let said = outputs(&shown);
    assert!(said.ends_with(&["done", "said to Chainlit", "echo: said to Chainlit"]), "{said:?}");
    visit.turn("and back").await;
    visit.leave().await;
    let stored = alice.thread(thread).await;
    assert!(outputs(&stored).ends_with(&["said to Chainlit", "echo: said to Chainlit", "and back", "echo: and back"]));
    server.stop().await;

    let store = past.database.open().await;
    let why = |id: &str| {
        let (store, id) = (store.clone(), ThreadId::from(id));
        async move { store.thread_head(&id).await.unwrap().unwrap().incomplete }
    };
    assert!(why(thread).await.contains("foreign_rows"), "rows came without records");
    assert!(why(thread).await.contains("legacy_rows"), "rows are older than the first record");
    assert!(why(&begun).await.is_empty(), "every row has its record: {:?}", why(&begun).await);
}

async fn a_database_made_from_the_documentation_works(kind: Kind) {
    let database = match kind {
        Kind::Sqlite => Database::sqlite().await,
        Kind::Postgres => Database::postgres().await,
    };
    let Some(database) = database else { return };
    database.run(&std::fs::read_to_string(folder().join("documented.sql")).unwrap()).await;
    let server = Launch::reference().on(&database).start().await;
    let carol = Person::sign_in(server.base(), "carol").await;
    let mut visit = carol.visit("").await;
    visit.reads("hello").await;
    visit.turn("/tool x").await;
    visit.leave().await;
    let [thread] = &carol.threads().await[..] else { panic!("one thread") };
    let (visit, shown) = opened(&carol, text(&thread["id"])).await;
    assert_eq!(outputs(&shown), ["hello", "/tool x", "done"]);
    visit.leave().await;
    server.stop().await;
    let steps = steps(&shown).len();
    assert_eq!(database.count("steps").await, i64::try_from(steps).unwrap());
    assert_eq!(database.count(r#"steps where not "disableFeedback""#).await, i64::try_from(steps).unwrap());
}

macro_rules! on_both {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::Kind::Sqlite).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(super::Kind::Postgres).await;
            })*
        }
    };
}

on_both! {
    a_database_of_chainlits_opens_as_it_is,
    chainlit_and_rejoinder_take_turns_on_one_database,
    a_database_made_from_the_documentation_works,
}
