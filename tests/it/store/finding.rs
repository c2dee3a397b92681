//! Single rows that somebody has a right to: favourites, a step, a vote.

use rejoinder::id::{FeedbackId, StepId, ThreadId};
use rejoinder::protocol::{Feedback, Step, StepKind};
use rejoinder::record::Fact;
use rejoinder::store::Store;

use super::adoption::{QUESTION, THREAD, VOTE, chainlit};
use crate::support::database::{Database, on_both};
use crate::support::records::{ANNA, append, message, record, start_for, started, step, store};

on_both! {
    favourites_are_the_owners_over_all_threads_and_newest_first,
    favourites_of_a_database_that_chainlit_made,
    a_step_is_found_by_the_owner_of_its_thread,
    a_vote_is_found_by_the_owner_of_its_thread,
}

fn starred(thread: &ThreadId, id: &str, micros: i64, favorite: bool) -> Step {
    let mut step = step(thread, id, StepKind::UserMessage, micros);
    step.metadata.insert("location".into(), "https://host/".into());
    step.metadata.insert("favorite".into(), favorite.into());
    step
}

async fn say(db: &dyn Store, step: Step) {
    let thread = step.thread_id.clone();
    let fact = Fact::Message { step: step.clone(), interrupted: false };
    store(db, &thread, vec![record(format!("m-{}", step.id), fact)]).await;
}

async fn begin(db: &dyn Store, owner: Option<&str>) -> ThreadId {
    let thread = ThreadId::random();
    let mut batch = append(&thread, vec![start_for(&thread, owner)]);
    batch.owner = owner.map(str::to_owned);
    db.append(&[batch]).await.unwrap().remove(0).unwrap();
    thread
}

async fn put(db: &dyn Store, owner: Option<&str>, thread: &ThreadId, fact: Fact) {
    let mut batch = append(thread, vec![record(format!("r-{thread}"), fact)]);
    batch.owner = owner.map(str::to_owned);
    db.append(&[batch]).await.unwrap().remove(0).unwrap();
}

async fn favorites(db: &dyn Store, limit: u32) -> Vec<String> {
    db.favorites(ANNA, limit).await.unwrap().into_iter().map(|step| step.id.to_string()).collect()
}

async fn favourites_are_the_owners_over_all_threads_and_newest_first(database: &Database) {
    let db = database.open().await;
    let (first, second, deleted) = (started(&*db).await, started(&*db).await, started(&*db).await);
    say(&*db, starred(&first, "old", 0, true)).await;
    say(&*db, starred(&second, "new", 500_000, true)).await;
    say(&*db, starred(&second, "never", 3, false)).await;
    say(&*db, starred(&first, "undone", 4, true)).await;
    say(&*db, starred(&deleted, "deleted", 5, true)).await;
    store(&*db, &first, vec![record("undo", Fact::MessageUpdated(starred(&first, "undone", 4, false)))]).await;
    db.delete_thread(&deleted).await.unwrap();
    let theirs = begin(&*db, Some("bert")).await;
    let fact = Fact::Message { step: starred(&theirs, "theirs", 6, true), interrupted: false };
    put(&*db, Some("bert"), &theirs, fact).await;

    assert_eq!(favorites(&*db, 10).await, ["new", "old"]);
    assert_eq!(favorites(&*db, 1).await, ["new"]);
    let all = db.favorites(ANNA, 10).await.unwrap();
    assert_eq!(all[1], starred(&first, "old", 0, true), "whole steps, with their thread");
    assert_eq!(db.favorites("nobody", 10).await.unwrap(), []);
}

async fn favourites_of_a_database_that_chainlit_made(database: &Database) {
    chainlit(database, "").await;
    database.run(&format!(r#"update steps set metadata = '{{"favorite": true}}' where id = '{QUESTION}'"#)).await;
    let db = database.open().await;
    assert_eq!(favorites(&*db, 10).await, [QUESTION]);
    assert_eq!(db.step(Some(ANNA), &QUESTION.into()).await.unwrap().unwrap().thread_id, THREAD.into());
    assert_eq!(db.step(Some(ANNA), &QUESTION.to_uppercase().into()).await.unwrap(), None);
    assert_eq!(db.step(Some(ANNA), &"no uuid".into()).await.unwrap(), None);
    let vote = db.vote(Some(ANNA), &VOTE.into()).await.unwrap().unwrap();
    assert_eq!((vote.thread_id, vote.value), (Some(THREAD.into()), 0));
    assert_eq!(db.vote(Some(ANNA), &"no uuid".into()).await.unwrap(), None);
}

async fn a_step_is_found_by_the_owner_of_its_thread(database: &Database) {
    let db = database.open().await;
    let mine = started(&*db).await;
    let nobodys = begin(&*db, None).await;
    store(&*db, &mine, vec![record("m", message(&mine, "mine", "hello"))]).await;
    put(&*db, None, &nobodys, message(&nobodys, "nobodys", "hello")).await;
    let found = async |owner: Option<&'static str>, id: &'static str| {
        db.step(owner, &StepId::from(id)).await.unwrap().map(|step| step.thread_id)
    };
    assert_eq!(found(Some(ANNA), "mine").await, Some(mine.clone()));
    assert_eq!(found(None, "nobodys").await, Some(nobodys));
    for (owner, id) in [(Some("bert"), "mine"), (None, "mine"), (Some(ANNA), "nobodys"), (Some(ANNA), "unknown")] {
        assert_eq!(found(owner, id).await, None, "{owner:?} {id}");
    }
    db.delete_thread(&mine).await.unwrap();
    assert_eq!(found(Some(ANNA), "mine").await, None);
}

async fn a_vote_is_found_by_the_owner_of_its_thread(database: &Database) {
    let db = database.open().await;
    let mine = started(&*db).await;
    let vote = Feedback {
        id: Some("vote".into()),
        for_id: "run".into(),
        thread_id: Some(mine.clone()),
        value: 1,
        comment: Some("good".into()),
    };
    store(&*db, &mine, vec![record("v", Fact::FeedbackSet(vote.clone()))]).await;
    let id = FeedbackId::from("vote");
    assert_eq!(db.vote(Some(ANNA), &id).await.unwrap(), Some(vote));
    for owner in [Some("bert"), None] {
        assert_eq!(db.vote(owner, &id).await.unwrap(), None, "{owner:?}");
    }
    store(&*db, &mine, vec![record("w", Fact::FeedbackRemoved(id.clone()))]).await;
    assert_eq!(db.vote(Some(ANNA), &id).await.unwrap(), None);
}
