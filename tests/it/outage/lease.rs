//! I-25: a live server keeps its runs over any outage; and what it does when it was taken for dead all the same.

use std::time::Duration;

use rejoinder::clock::Clock;
use rejoinder::id::{StepId, ThreadId};
use rejoinder::journal::WatchdogSettings;
use rejoinder::protocol::Timestamp;
use rejoinder::server::Tuning;
use rejoinder::store::OpenOptions;

use super::world::{Gated, Place, in_each_outage};
use crate::support::database::Database;
use crate::support::page::{Page, outline, outline_of, sign_in};
use crate::support::records::{run_started, started, store};
use crate::support::server::{House, Running};

in_each_outage!(i25_an_outage_makes_nothing_lost);

const LEASE: Duration = Duration::from_secs(4);

fn tuning(every: Duration) -> Tuning {
    let watchdog = WatchdogSettings { lease: LEASE, every, ..WatchdogSettings::default() };
    Tuning { watchdog, ..Tuning::default() }
}

/// One run works, one waits for an answer, and the database is away for two leases. On PostgreSQL a second server
/// looks after leases more often than the one that works, so it is the first one to see the database again.
///
/// Red, where PostgreSQL is stopped, when a watchdog settles at once after an outage. (Frozen, the renewals that were under
/// way come through first; with one server, its own renewal does.)
async fn i25_an_outage_makes_nothing_lost(mut place: Place) {
    let gated = Gated::new();
    let server = place.serve(gated.app(), tuning(Duration::from_millis(1_500))).await;
    let beside = match place.database.kind {
        crate::support::database::Kind::Postgres => {
            Some(place.serve(Gated::new().app(), tuning(Duration::from_millis(300))).await)
        }
        crate::support::database::Kind::Sqlite => None,
    };
    let anna = sign_in(server.addr, "anna").await;
    let (mut working, mut asked) = (anna.page(), anna.page());
    working.come(server.addr).await;
    asked.come(server.addr).await;
    for page in [&working, &asked] {
        page.until_text("hello").await;
    }
    let work = working.send("wait");
    working.until("begun", |seen| seen.answers(&work) == ["begun"]).await;
    let question = asked.send("ask");
    asked.until_text("well?").await;
    // Longer than a lease, so that the servers have begun to settle what lapses, and see that these do not.
    settles_a_dead_run(&place.database, &server).await;

    place.is_away_for(2 * LEASE).await;
    // What is settled now lapsed before, and both servers have seen it lapse.
    settles_a_dead_run(&place.database, &server).await;
    assert_eq!(place.database.count("rejoinder_executions where state = 'running'").await, 2);
    assert_eq!(place.database.count("rejoinder_records where record_type = 'task_lost'").await, 2);

    gated.let_go();
    working.until_answered(&work).await;
    assert_eq!(working.look(|seen| seen.answers(&work)), ["begun", "done"]);
    asked.answer("fine");
    asked.until_answered(&question).await;
    for page in [&working, &asked] {
        let stored = anna.stored(server.addr, page).await;
        assert_eq!(page.look(|seen| outline(&seen.screen)), outline_of(stored));
    }
    let ended = "rejoinder_executions where settled_by = 'runner' and reason = 'completed'";
    let greetings = 2;
    assert_eq!(place.database.count(ended).await, 2 + greetings);
    drop(beside);
}

/// Plants a run of a process that is dead, and waits until somebody has settled it: so they settle what has lapsed.
async fn settles_a_dead_run(database: &Database, server: &Running) {
    let db = server.journal.store();
    let thread = started(&**db).await;
    let run = StepId::random();
    let mut wakes = server.journal.follow(&thread);
    store(&**db, &thread, vec![run_started(&thread, &run)]).await;
    let past = match database.kind {
        crate::support::database::Kind::Postgres => "now() - interval '1 hour'",
        crate::support::database::Kind::Sqlite => "1",
    };
    database.run(&format!("update rejoinder_executions set lease_until = {past} where execution_id = '{run}'")).await;
    let settled = async {
        while db.cursor(&thread).await.unwrap().unwrap().latest < 3 {
            wakes.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(60), settled).await.expect("nobody settles it");
}

/// Two servers of a database: the one that works, and what another one does to it.
struct Overtaken {
    database: Database,
    gated: Gated,
    server: Running,
    page: Page,
    anna: crate::support::page::Visitor,
}

impl Overtaken {
    async fn on(database: Database, watchdog: WatchdogSettings) -> Self {
        let gated = Gated::new();
        let url = database.url().to_owned();
        let tuning = Tuning { watchdog, ..Tuning::default() };
        let server = House::new().serve_tuned(gated.app(), |config| config.database_url = Some(url), tuning).await;
        let anna = sign_in(server.addr, "anna").await;
        let mut page = anna.page();
        page.come(server.addr).await;
        page.until_text("hello").await;
        assert_eq!(page.ask("first").await, "echo: first");
        Self { database, gated, server, page, anna }
    }

    /// Another server finds that the lease of everything that runs here is over.
    async fn settled_elsewhere(&self) {
        let elsewhere = self.database.open_with(OpenOptions::default()).await;
        let later = Timestamp::from_micros(Clock::system().now().as_micros() + 3_600_000_000);
        let settled = elsewhere.settle_lapsed(500, later).await.unwrap();
        assert_eq!(settled.iter().map(|settled| settled.runs.len()).sum::<usize>(), 1);
        elsewhere.close().await;
    }

    /// The page shows what is stored, with a word of what happened, and the conversation goes on.
    async fn shows_what_is_stored(mut self, question: &StepId) {
        self.page
            .until("a word of it", |seen| {
                seen.screen.texts().iter().any(|text| text.starts_with("This answer could not be kept"))
                    && !seen.screen.is_loading()
            })
            .await;
        assert_eq!(self.page.ask("go on").await, "echo: go on");
        let thread = ThreadId::from(self.page.thread().as_str());
        let stored = self.server.journal.store().thread(&thread).await.unwrap().unwrap().thread;
        let expected = outline_of(stored);
        self.page.until("what is stored", |seen| outline(&seen.screen) == expected).await;
        let run = self.page.look(|seen| seen.run(question).unwrap().clone());
        assert!(run.end.is_some());
        let told = self.page.look(|seen| {
            seen.screen.texts().iter().filter(|text| text.starts_with("This answer could not be kept")).count()
        });
        assert_eq!(told, 1);
        let shown = self.anna.thread(self.server.addr, thread.as_str()).await.unwrap();
        assert_eq!(outline_of(shown), expected);
    }
}

/// It hears of it when its words are put aside. Red when that is taken for stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_what_is_put_aside_is_not_left_on_pages() {
    let Some(database) = Database::postgres().await else { return };
    let mut here = Overtaken::on(database, WatchdogSettings::default()).await;
    let question = here.page.send("stream");
    here.page.until("a text that streams", |seen| seen.screen.texts().contains(&"so far")).await;
    here.settled_elsewhere().await;
    here.gated.let_go();
    here.shows_what_is_stored(&question).await;
}

/// The end of a run that said nothing more. Red when an end that comes too late is taken for stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_an_end_that_comes_too_late_is_told() {
    let Some(database) = Database::postgres().await else { return };
    let mut here = Overtaken::on(database, WatchdogSettings::default()).await;
    let question = here.page.send("quiet");
    here.page.until("begun", |seen| seen.answers(&question) == ["begun"]).await;
    here.settled_elsewhere().await;
    here.gated.let_go();
    here.shows_what_is_stored(&question).await;
}

/// It hears of it by its next renewal, while the hook waits. Red when a renewal does not ask what was settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_a_renewal_tells_what_was_settled() {
    let Some(database) = Database::postgres().await else { return };
    let watchdog = WatchdogSettings { every: Duration::from_millis(100), ..WatchdogSettings::default() };
    let mut here = Overtaken::on(database, watchdog).await;
    let question = here.page.send("ask");
    here.page.until_text("well?").await;
    here.settled_elsewhere().await;
    here.shows_what_is_stored(&question).await;
}
