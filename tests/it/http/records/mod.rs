//! The records of a thread over HTTP (records.md 3.7), by invariant number.

mod cancel;
mod every;
mod read;
mod refuse;
mod resume;

use rejoinder::id::ThreadId;
use rejoinder::record::Record;
use rejoinder::{App, Config};
use serde_json::Value;

use crate::support::database::Database;
use crate::support::http::Person;
use crate::support::records::{ANNA, append, start_for};
use crate::support::server::{House, Running, password_app};

/// A server on each kind of database, with a thread of Anna's that holds the records after its first one.
async fn on_both(records: impl Fn(&ThreadId) -> Vec<Record>, test: impl AsyncFn(Running, ThreadId, &Database)) {
    on_both_with(password_app, records, test).await;
}

/// The same with another app.
async fn on_both_with(
    app: impl Fn() -> App,
    records: impl Fn(&ThreadId) -> Vec<Record>,
    test: impl AsyncFn(Running, ThreadId, &Database),
) {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        let thread = put(&database, Some(ANNA), &records).await;
        let server = House::new().with_page().serve_with(app(), at(&database)).await;
        test(server, thread, &database).await;
    }
}

/// Stores a thread.
async fn put(database: &Database, owner: Option<&str>, records: impl Fn(&ThreadId) -> Vec<Record>) -> ThreadId {
    let store = database.open().await;
    let thread = ThreadId::random();
    let mut all = vec![start_for(&thread, owner)];
    all.extend(records(&thread));
    for some in all.chunks(50) {
        let mut append = append(&thread, some.to_vec());
        append.owner = owner.map(str::to_owned);
        assert!(store.append(&[append]).await.unwrap().remove(0).is_ok());
    }
    store.close().await;
    thread
}

fn at(database: &Database) -> impl FnOnce(&mut Config) + use<> {
    let url = database.url().to_owned();
    move |config| config.database_url = Some(url)
}

/// A page of a history.
async fn page(person: &Person<'_>, thread: &ThreadId, query: &str) -> Value {
    let answer = person.get(&format!("/sessions/{thread}/records?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    answer.json()
}

fn numbers(page: &Value) -> Vec<Option<u64>> {
    page["records"].as_array().unwrap().iter().map(|record| record["sequence"].as_u64()).collect()
}
