//! `number` and `verify`, as they are typed.

use rejoinder::id::ThreadId;

use super::{rejoinder, said};
use crate::store::adoption::{THREAD, chainlit};
use crate::support::database::Database;
use crate::support::records::{message, record, store};

#[tokio::test]
async fn old_rows_are_numbered_and_a_history_is_looked_at() {
    let database = Database::sqlite().await.unwrap();
    chainlit(&database, "").await;
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["--database-url", database.url()]].concat();
        said(&rejoinder(folder.path(), &arguments).output().unwrap())
    };
    let db = database.open().await;
    let thread = ThreadId::from(THREAD);
    let new = uuid::Uuid::new_v4().to_string();
    store(&*db, &thread, vec![record("a", message(&thread, &new, "new"))]).await;
    let (code, _, error) = run(&["verify"]);
    assert_eq!(code, Some(1), "a file belongs to one process");
    assert!(error.contains("another server has"), "{error}");
    db.close().await;

    assert_eq!(run(&["verify"]), (Some(0), "1 threads are as they must be\n".into(), String::new()));
    let (code, out, error) = run(&["number", "--all"]);
    assert_eq!((code, out.as_str(), error.as_str()), (Some(0), "7 records of 1 threads got a number\n", ""));
    assert_eq!(run(&["number", THREAD]).1, "0 records got a number\n");
    assert_eq!(run(&["number", "nobody's"]).0, Some(1));
    assert_eq!(run(&["number"]).0, Some(2), "one thread, or all of them");
    assert_eq!(run(&["verify"]).0, Some(0));

    database.run("update rejoinder_records set attributes = '{}' where sequence = 3").await;
    let (code, out, error) = run(&["verify"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("record 3 says something else than was stored"), "{out}");
    assert_eq!(error, "error: 1 of 1 threads are not as they must be\n");
    assert_eq!(run(&["verify", "--after", THREAD]).1, "0 threads are as they must be\n");
}
