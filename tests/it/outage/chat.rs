//! I-27: the chat stays usable. What a hook says is shown, and nothing is computed for a question that is not stored.

use std::time::{Duration, Instant};

use rejoinder::journal::{JournalSettings, WatchdogSettings};
use rejoinder::protocol::ServerEvent;
use rejoinder::server::Tuning;

use super::world::{Gated, Place, in_each_outage, outages};
use crate::support::page::{Seen, outline, outline_of, sign_in};
use crate::support::raw::SOON;

in_each_outage!(i27_a_running_hook_is_heard_and_a_new_question_waits, i27_who_waited_too_long_for_a_question_is_told,);

/// What is said without the store is shown after a quarter of a second; a busy machine gets as much again.
const SHOWN: Duration = Duration::from_millis(500);

/// Red when the feed waits for the store without end; when a run's hook is called before its message is stored.
async fn i27_a_running_hook_is_heard_and_a_new_question_waits(mut place: Place) {
    let gated = Gated::new();
    let server = place.serve(gated.app(), Tuning::default()).await;
    let anna = sign_in(server.addr, "anna").await;
    let mut page = anna.page();
    page.come(server.addr).await;
    page.until_text("hello").await;
    let (rounds, length) = outages();
    for round in 0..rounds {
        let working = page.send(&format!("wait {round}"));
        page.until("begun", |seen| seen.answers(&working) == ["begun"]).await;
        place.goes().await;
        let said = Instant::now();
        gated.let_go();
        page.until("done", |seen| seen.answers(&working) == ["begun", "done"]).await;
        let shown = page.look(|seen| last_of(seen, "done")).saturating_duration_since(said);
        assert!(shown < SHOWN, "it was shown after {shown:?}");
        page.until_answered(&working).await;

        let question = page.send(&format!("question {round}"));
        // It stays a question as long as the database is away.
        tokio::time::sleep(length).await;
        assert!(!gated.called().iter().any(|text| text.starts_with(&format!("question {round}"))));
        assert_eq!(page.look(|seen| seen.answers(&question)), Vec::<String>::new());
        place.comes_back().await;
        page.until_answered(&question).await;
        assert_eq!(page.look(|seen| seen.answers(&question)), [format!("echo: question {round}")]);
        eprintln!("shown {shown:?} after it was said");
    }
    assert_eq!(gated.called().len() as u32, 2 * rounds, "each question once: {:?}", gated.called());
    let stored = anna.stored(server.addr, &page).await;
    assert_eq!(page.look(|seen| outline(&seen.screen)), outline_of(stored));
}

/// A write that is on its way when the patience ends may still come to its end with the database. Then the question is
/// stored, but nobody answers it, and its run has an end before long.
///
/// Red when a question that was told to have failed is answered later; when its run is held by nobody and goes on.
async fn i27_who_waited_too_long_for_a_question_is_told(mut place: Place) {
    let gated = Gated::new();
    let journal = JournalSettings { patience: Duration::from_millis(1_500), ..JournalSettings::default() };
    let watchdog = WatchdogSettings { lease: Duration::from_secs(2), every: Duration::from_millis(500), most: 500 };
    let server = place.serve(gated.app(), Tuning { journal, watchdog, ..Tuning::default() }).await;
    let anna = sign_in(server.addr, "anna").await;
    let mut page = anna.page();
    page.come(server.addr).await;
    page.until_text("hello").await;
    assert_eq!(page.ask("first").await, "echo: first");
    place.goes().await;
    let question = page.send("question");
    let told = "This could not be saved. The server cannot reach its store.";
    page.until("an error", |seen| seen.screen.texts().contains(&told)).await;
    page.until("its end", |seen| !seen.screen.is_loading() && seen.run(&question).is_none()).await;
    place.comes_back().await;
    assert_eq!(page.ask("second").await, "echo: second");
    let running = "rejoinder_executions where state = 'running'";
    let deadline = Instant::now() + SOON;
    while place.database.count(running).await > 0 {
        assert!(Instant::now() < deadline, "a run goes on that nobody works on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(gated.called(), ["first", "second"]);
    let answered = format!("rejoinder_executions where trigger_id = '{question}' and state <> 'lost'");
    assert_eq!(place.database.count(&answered).await, 0);
}

fn last_of(seen: &Seen, text: &str) -> Instant {
    let said = |event: &ServerEvent| matches!(event, ServerEvent::NewMessage(step) if step.output == text);
    seen.events.iter().rev().find(|came| said(&came.event)).unwrap().at
}
