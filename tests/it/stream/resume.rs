//! Coming back with a position: whatever was ever sent as one is good, and whatever is not one is refused aloud.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rejoinder::record::{Fact, Record, fold};
use reqwest::StatusCode;
use serde_json::Value;

use super::world::{anna, events, follow, note, say, serve, thread_of, write};
use crate::support::database::{Database, on_both};
use crate::support::http::Answer;
use crate::support::records::{ANNA, record, step, store};
use crate::support::server::{House, password_app};
use crate::support::sse::{Frame, Sse, sequences};

on_both!(
    resuming_from_any_position_loses_nothing,
    a_position_is_a_number_and_the_header_counts,
    a_position_of_another_history_is_refused,
    a_watermark_is_no_position,
    what_is_somebody_elses_looks_like_nothing,
);

/// I-39, I-33. Red when a page after the position is read by `>=`, and when frames without proof carry an id.
async fn resuming_from_any_position_loses_nothing(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 1).await;
    let seed = rand::random();
    eprintln!("seed {seed}");
    let mut random = StdRng::seed_from_u64(seed);
    for number in 2..=60_u64 {
        let about = random.random_range(2..=number);
        let id = format!("{thread}-{about}");
        let mut changed = step(&thread, &id, rejoinder::protocol::StepKind::AssistantMessage, 0);
        changed.output = format!("changed at {number}");
        let record = match random.random_range(0..4) {
            0 if about < number => record(format!("u{number}"), Fact::MessageUpdated(changed)),
            1 if about < number => record(format!("d{number}"), Fact::StepDeleted(id.as_str().into())),
            _ => note(&thread, number),
        };
        say(&server, &thread, vec![record]).await;
    }
    let person = anna(&server).await;
    let whole = follow(&person, &thread, "").await.until("ready").await;
    for frame in &whole {
        let carries = frame.is_event() || ["ready", "checkpoint"].contains(&frame.name.as_str());
        assert_eq!(frame.id.is_some(), carries, "{frame:?}");
        let Some(position) = frame.position() else { continue };
        let expected: Vec<&Frame> =
            whole.iter().filter(|frame| frame.is_event() && frame.sequence() > position.sequence()).collect();
        let header = events(&person, &thread, "?after=0").header("last-event-id", frame.id.as_deref().unwrap());
        let rest = Sse::open(header).await.until("ready").await;
        let rest: Vec<&Frame> = rest.iter().filter(|frame| frame.is_event()).collect();
        assert_eq!(rest, expected, "after {position}");
    }
    // I-33: what the store says of the records up to a position, and the events after it, is what it says of all.
    let page = person.get(&format!("/sessions/{thread}/records?limit=200")).await.json();
    let records: Vec<Record> = page["records"].as_array().unwrap().iter().map(read).collect();
    let folded = fold(&thread, &records).into_thread();
    let stored = person.get(&format!("/project/thread/{thread}")).await.json();
    let texts = |steps: &[Value]| -> Vec<(String, String)> {
        let of = |step: &Value| (step["id"].as_str().unwrap().to_owned(), step["output"].as_str().unwrap().to_owned());
        steps.iter().map(of).collect()
    };
    let folded: Value = serde_json::to_value(folded).unwrap();
    assert_eq!(texts(folded["steps"].as_array().unwrap()), texts(stored["steps"].as_array().unwrap()));
    for cut in 0..=60_u64 {
        let rest = follow(&person, &thread, &format!("?after={cut}")).await.until("ready").await;
        assert_eq!(sequences(&rest), (cut + 1..=60).collect::<Vec<_>>());
    }
}

fn read(record: &Value) -> Record {
    let fact = Fact::from_parts(record["record_type"].as_str().unwrap(), &record["attributes"]).unwrap();
    crate::support::records::record(record["record_id"].as_str().unwrap(), fact)
}

/// I-40.
async fn a_position_is_a_number_and_the_header_counts(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 120).await;
    let person = anna(&server).await;
    for (after, first) in [(9, 10), (99, 100), (119, 120)] {
        let frames = follow(&person, &thread, &format!("?after={after}")).await.until("ready").await;
        assert_eq!(sequences(&frames).first(), Some(&first));
        let by_header = events(&person, &thread, "?after=1").header("last-event-id", after.to_string());
        let frames = Sse::open(by_header).await.until("ready").await;
        assert_eq!(sequences(&frames).first(), Some(&first), "the header counts");
    }
    for bad in ["-1", "x", "1.2", "%20", "9f2c1b7a5e0d4c33.4.zzzzzzzz", ""] {
        let answer = Answer::of(events(&person, &thread, &format!("?after={bad}"))).await;
        assert_eq!(
            (answer.status, &answer.json()["code"]),
            (StatusCode::BAD_REQUEST, &"invalid_request".into()),
            "{bad}"
        );
    }
    let frames = Sse::open(events(&person, &thread, "").header("last-event-id", "nonsense")).await.rest().await;
    is_reset(&frames, "cursor_mismatch", 120);
    // What a browser says after such a reset: nothing.
    let frames =
        Sse::open(events(&person, &thread, "?after=118").header("last-event-id", "")).await.until("ready").await;
    assert_eq!(sequences(&frames), [119, 120]);
    for bad in ["2", "yes"] {
        let answer = Answer::of(events(&person, &thread, &format!("?previews={bad}"))).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    }
}

fn is_reset(frames: &[Frame], reason: &str, latest: u64) {
    let [frame] = frames else { panic!("{frames:?}") };
    assert_eq!((frame.name.as_str(), frame.id.as_deref()), ("reset", Some("")));
    assert_eq!(frame.json(), serde_json::json!({"reason": reason, "latest_sequence": latest}));
}

/// I-41: a restored backup that went on, another thread, the future. Red when marks are not compared.
async fn a_position_of_another_history_is_refused(database: &Database) {
    let server = serve(database).await;
    let (thread, other) = (thread_of(&server, 6).await, thread_of(&server, 6).await);
    let person = anna(&server).await;
    let token = |frames: &[Frame]| frames.last().unwrap().id.clone().unwrap();
    let mine = token(&follow(&person, &thread, "").await.until("ready").await);
    let theirs = token(&follow(&person, &other, "").await.until("ready").await);
    let plain = mine.split('.').next().unwrap();
    let cases = [
        (format!("{plain}.7.00000000"), "cursor_ahead"),
        ("7".to_owned(), "cursor_ahead"),
        (theirs, "cursor_mismatch"),
        (format!("{plain}.6.00000000"), "cursor_mismatch"),
        (format!("{plain}.3.{}", mine.rsplit('.').next().unwrap()), "cursor_mismatch"),
    ];
    for (position, reason) in &cases {
        let answer = Answer::of(events(&person, &thread, &format!("?after={position}"))).await;
        assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::CONFLICT, &(*reason).into()), "{position}");
        let by_header = events(&person, &thread, "").header("last-event-id", position);
        is_reset(&Sse::open(by_header).await.rest().await, reason, 6);
    }
    // The last two records are undone behind the server's back, as by a backup, and others take their place.
    let mut open = follow(&person, &thread, &format!("?after={mine}")).await;
    open.until("ready").await;
    let house = server.stop().await;
    let frames = open.rest().await;
    assert_eq!(frames.last().unwrap().name, "close");
    database
        .run(&format!(
            "delete from rejoinder_records where thread_id = '{thread}' and sequence > 4;
            update rejoinder_cursors set latest_sequence = 4, mark = (select mark from rejoinder_records
                where thread_id = '{thread}' and sequence = 4) where thread_id = '{thread}'"
        ))
        .await;
    let db = database.open().await;
    store(&*db, &thread, (10..=14).map(|number| note(&thread, number)).collect()).await;
    db.close().await;
    let url = database.url().to_owned();
    let server = house.serve_with(password_app(), |config| config.database_url = Some(url)).await;
    let person = anna(&server).await;
    let answer = Answer::of(events(&person, &thread, &format!("?after={mine}"))).await;
    assert_eq!(answer.json()["code"], "cursor_mismatch", "the number is there, with another history below it");
}

/// I-48: 10 comes with the watermark 12; whoever is cut then and comes back with what it has, gets 11 and 12.
async fn a_watermark_is_no_position(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 12).await;
    let person = anna(&server).await;
    let mut stream = follow(&person, &thread, "?after=9").await;
    let ten = stream.events(1).await.remove(0);
    assert_eq!((ten.sequence(), ten.json()["watermark"].as_u64()), (10, Some(12)));
    drop(stream);
    let again = events(&person, &thread, "").header("last-event-id", ten.id.unwrap());
    assert_eq!(sequences(&Sse::open(again).await.until("ready").await), [11, 12]);
}

/// I-42. The body of a stranger is that of a thread that does not exist.
async fn what_is_somebody_elses_looks_like_nothing(database: &Database) {
    let server = serve(database).await;
    let thread = thread_of(&server, 3).await;
    let bert = server.person("bert").await;
    let strange = Answer::of(events(&bert, &thread, "")).await;
    let missing = Answer::of(events(&bert, &"nowhere".into(), "")).await;
    assert_eq!((strange.status, &strange.text), (StatusCode::NOT_FOUND, &missing.text));
    assert_eq!(strange.json()["code"], "session_not_found");
    let nobody = server.visitor();
    assert_eq!(Answer::of(events(&nobody, &thread, "")).await.status, StatusCode::UNAUTHORIZED);
    // The position tells nothing either.
    let with = Answer::of(events(&bert, &thread, "?after=99")).await;
    assert_eq!(with.text, missing.text);
}

#[tokio::test]
async fn switched_off_there_is_nothing() {
    let server = House::new().serve_with(password_app(), |config| config.sequence = false).await;
    let anna = server.person(ANNA).await;
    let answer = Answer::of(events(&anna, &"any".into(), "")).await;
    assert_eq!((answer.status, &answer.json()["code"]), (StatusCode::NOT_FOUND, &"not_found".into()));
    write(&server, &thread_of(&server, 1).await, 2..=3).await;
}
