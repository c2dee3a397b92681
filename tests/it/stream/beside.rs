//! A follower beside an unmodified frontend: the frontend sees nothing of it, and the follower's state is the store's.

use std::collections::BTreeMap;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;

use super::folded::{Folded, ids_of, messages_of};
use super::talk::Talk;
use crate::support::database::{Database, on_both};
use crate::support::page::{Cut, Visitor, sign_in};
use crate::support::program::Launch;
use crate::support::sse::{Frame, Sse, sequences};

on_both!(a_follower_beside_a_frontend_has_what_the_store_has);

async fn follow(base: &str, visitor: &Visitor, thread: &str, after: Option<&str>) -> Sse {
    let url = format!("{base}/sessions/{thread}/events");
    let mut request = reqwest::Client::new().get(url).header("cookie", &visitor.cookie);
    if let Some(after) = after {
        request = request.header("last-event-id", after);
    }
    Sse::open(request).await
}

/// I-33, I-56. Red when an event is left out, doubled or sent to the page. `REJOINDER_SEED` brings a history back.
async fn a_follower_beside_a_frontend_has_what_the_store_has(database: &Database) {
    let seed = std::env::var("REJOINDER_SEED").map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    let rounds = if std::env::var("REJOINDER_LONG").is_ok() { 400 } else { 40 };
    eprintln!("REJOINDER_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let server = Launch::reference().on(database).start().await;
    let visitor = sign_in(server.addr(), "anna").await;
    let mut talk = Talk::new(visitor.page(), server.addr(), StdRng::seed_from_u64(random.random()));
    talk.come(server.addr()).await;
    talk.page.until_text("hello").await;
    talk.say("first").await;
    let thread = talk.page.thread();
    let base = server.base().to_owned();

    // The follower cuts its own line as well, and comes back with the last id that it saw.
    let (of, who, mut chance) = (thread.clone(), visitor.clone(), StdRng::seed_from_u64(random.random()));
    let (done, mut is_done) = tokio::sync::watch::channel(0_u64);
    let following = tokio::spawn(async move {
        let (mut frames, mut last): (Vec<Frame>, Option<String>) = (Vec::new(), None);
        let mut stream = follow(&base, &who, &of, None).await;
        loop {
            tokio::select! {
                frame = stream.next() => {
                    let frame = frame.expect("the server goes on");
                    last = frame.id.clone().or(last);
                    frames.push(frame);
                }
                _ = is_done.changed() => {}
            }
            let until = *is_done.borrow();
            let seen = last.as_deref().and_then(|id| id.split('.').nth(1)?.parse::<u64>().ok()).unwrap_or_default();
            if until > 0 && seen >= until {
                return frames;
            }
            if chance.random_bool(0.02) {
                stream = follow(&base, &who, &of, last.as_deref()).await;
            }
        }
    });
    for _ in 0..rounds {
        talk.turn().await;
        if random.random_bool(0.1) {
            let text = format!("say {}", random.random::<u32>());
            let id = talk.page.send(&text);
            talk.page.cut(Cut::Reset).await;
            talk.come(server.addr()).await;
            // What was said into a dying line may never have been heard.
            talk.page.send_as(&id, &text);
            talk.page.until_answered(&id).await;
        }
    }
    let page = talk.page;
    let stored = visitor.stored(server.addr(), &page).await;
    let snapshot = reqwest::Client::new().get(format!("{}/sessions/{thread}", server.base()));
    let snapshot: Value = snapshot.header("cookie", &visitor.cookie).send().await.unwrap().json().await.unwrap();
    let latest = snapshot["read"]["latest_sequence"].as_u64().unwrap();
    done.send(latest).unwrap();
    let frames = tokio::time::timeout(Duration::from_secs(20), following).await.unwrap().unwrap();

    assert_eq!(sequences(&frames), (1..=latest).collect::<Vec<_>>(), "each once, in order");
    let events: Vec<Value> = frames.iter().filter(|frame| frame.is_event()).map(Frame::json).collect();
    let folded = Folded::of(&events);
    assert_eq!(folded.messages(), messages_of(&stored), "the follower has what the store has");
    assert_eq!(folded.ids(), ids_of(&stored));
    let shown: BTreeMap<String, String> = page.look(|seen| {
        let messages = seen.screen.steps().filter(|step| step.is_message());
        messages.map(|step| (step.id.to_string(), step.output.clone())).collect()
    });
    assert_eq!(shown, messages_of(&stored), "the page has what the store has");
    let strange: Vec<String> = page.look(|seen| {
        let names = seen.events.iter().map(|came| came.event.name());
        names.filter(|name| name.contains("session_") || name.contains("record")).map(str::to_owned).collect()
    });
    assert_eq!(strange, Vec::<String>::new(), "nothing new on the page's line");
}
