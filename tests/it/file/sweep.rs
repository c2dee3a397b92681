//! What nobody refers to goes, what somebody may refer to stays.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rejoinder::chat::{Content, FileKeeper, FilePlace, NewFile};
use rejoinder::clock::Clock;
use rejoinder::file::{Files, LocalFolder};
use rejoinder::id::{FileId, SessionId, ThreadId};
use rejoinder::protocol::{Element, ElementKind, StoredFile};
use rejoinder::record::Fact;
use rejoinder::store::{FileRow, LiveSession, Store};
use tokio_util::task::TaskTracker;

use crate::support::database::{Database, on_both};
use crate::support::records::{at, record, started, store};
use crate::support::upload::files_in;

on_both! {
    a_file_without_a_session_and_an_element_goes,
    a_file_that_is_referred_to_in_time_stays,
    a_deleted_thread_takes_its_files_along,
    what_a_crash_left_half_done_goes,
    many_files_are_swept,
}

/// Files of a database, in a folder that goes with the test.
struct World {
    files: Files,
    store: Arc<dyn Store>,
    folder: tempfile::TempDir,
}

impl World {
    async fn new(database: &Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = Arc::new(LocalFolder::open(folder.path().to_owned()).unwrap());
        let store = database.open().await;
        let files = Files::new(storage, store.clone(), Clock::ticking_from(at(0)), TaskTracker::new());
        Self { files, store, folder }
    }

    async fn keep(&self, session: &str, thread: &ThreadId) -> StoredFile {
        let place = FilePlace { session: session.into(), thread: thread.clone() };
        let content = Content::Bytes("hi".into());
        self.files.keep(&place, NewFile { name: "a".into(), mime: "text/plain".into(), content }).await.unwrap()
    }

    /// Sweeps twice: the first sweep only notes.
    async fn sweep(&self, live: &[&str]) -> usize {
        let live: HashSet<String> = live.iter().map(|id| SessionId::from(*id).key()).collect();
        assert_eq!(self.files.sweep(&live, Duration::from_secs(3600)).await.unwrap(), 0);
        self.files.sweep(&live, Duration::ZERO).await.unwrap()
    }

    async fn has(&self, file: &StoredFile) -> bool {
        let known = self.files.find(&file.id).await.unwrap().is_some();
        let bytes = self.files.open(file.id.as_str()).await.unwrap().is_some();
        assert!(bytes || !known, "a file that is known has its bytes");
        known
    }

    async fn remember(&self, session: &str) {
        let row = LiveSession {
            hash: SessionId::from(session).key(),
            thread: ThreadId::random(),
            owner: None,
            greeted: true,
            stored: false,
            seen_at: at(0),
        };
        self.store.save_sessions(&[row]).await.unwrap();
    }

    async fn refer(&self, thread: &ThreadId, element: &str, file: &StoredFile) {
        let mut shown = Element::new(element.into(), ElementKind::File, "a");
        shown.chainlit_key = Some(file.id.clone());
        store(&*self.store, thread, vec![record(format!("r-{element}-{}", file.id), Fact::Element(shown))]).await;
    }
}

async fn a_file_without_a_session_and_an_element_goes(database: &Database) {
    let world = World::new(database).await;
    let thread = started(&*world.store).await;
    let live = world.keep("live", &thread).await;
    let back_soon = world.keep("back-soon", &thread).await;
    world.remember("back-soon").await;
    let shown = world.keep("gone", &thread).await;
    world.refer(&thread, "e", &shown).await;
    let loose = world.keep("gone", &thread).await;
    assert_eq!(world.sweep(&["live"]).await, 1);
    assert!(world.has(&live).await && world.has(&back_soon).await && world.has(&shown).await);
    assert!(!world.has(&loose).await);
    assert_eq!(files_in(world.folder.path()).len(), 3);
    assert_eq!(database.count("rejoinder_files").await, 3);

    // A changed element has another file; the tabs have ended.
    let newer = world.keep("gone", &thread).await;
    world.refer(&thread, "e", &newer).await;
    world.store.forget_sessions(&[SessionId::from("back-soon").key()]).await.unwrap();
    assert_eq!(world.sweep(&[]).await, 3);
    assert!(world.has(&newer).await && !world.has(&shown).await);
    assert_eq!(files_in(world.folder.path()).len(), 1);
}

/// The record that refers to a file, and the row of its tab, are written behind.
async fn a_file_that_is_referred_to_in_time_stays(database: &Database) {
    let world = World::new(database).await;
    let thread = started(&*world.store).await;
    let (one, other) = (world.keep("s", &thread).await, world.keep("t", &thread).await);
    let long = Duration::from_secs(600);
    assert_eq!(world.files.sweep(&HashSet::new(), long).await.unwrap(), 0);
    assert_eq!(world.files.sweep(&HashSet::new(), long).await.unwrap(), 0, "not before its time");
    world.refer(&thread, "e", &one).await;
    world.remember("t").await;
    assert_eq!(world.files.sweep(&HashSet::new(), Duration::ZERO).await.unwrap(), 0);
    assert!(world.has(&one).await && world.has(&other).await);
    // It was held meanwhile: its time begins again.
    assert_eq!(database.count("rejoinder_files where loose_since is not null").await, 0);
}

async fn a_deleted_thread_takes_its_files_along(database: &Database) {
    let world = World::new(database).await;
    let (thread, other) = (started(&*world.store).await, started(&*world.store).await);
    let (shown, shared) = (world.keep("live", &thread).await, world.keep("live", &thread).await);
    world.refer(&thread, "e1", &shown).await;
    world.refer(&thread, "e2", &shared).await;
    world.refer(&other, "e3", &shared).await;
    assert!(world.store.delete_thread(&thread).await.unwrap());
    assert!(world.files.find(&shown.id).await.unwrap().is_none(), "nobody finds it from then on");
    let live = HashSet::from([SessionId::from("live").key()]);
    assert_eq!(world.files.sweep(&live, Duration::from_secs(3600)).await.unwrap(), 1);
    assert!(world.has(&shared).await);
    assert_eq!(files_in(world.folder.path()).len(), 1);
}

async fn what_a_crash_left_half_done_goes(database: &Database) {
    let world = World::new(database).await;
    let thread = started(&*world.store).await;
    // The row was written and nothing more; it is nobody's file yet, not even a live tab's.
    let file = StoredFile { id: FileId::random(), name: "a".into(), mime: "text/plain".into(), size: 1 };
    let row = FileRow { file: file.clone(), session: SessionId::from("s").key(), thread, created_at: at(0) };
    world.store.add_file(&row).await.unwrap();
    assert_eq!(world.files.find(&file.id).await.unwrap(), None);
    assert_eq!(world.store.session_files(&row.session).await.unwrap(), []);
    assert_eq!(world.sweep(&["s"]).await, 1);
    assert_eq!(database.count("rejoinder_files").await, 0);
    assert!(world.store.keep_file(&file.id).await.is_err());
}

async fn many_files_are_swept(database: &Database) {
    let world = World::new(database).await;
    let thread = started(&*world.store).await;
    let mut kept = Vec::new();
    for i in 0..1100 {
        let session = if i % 2 == 0 { "live" } else { "gone" };
        let file = StoredFile { id: FileId::random(), name: "a".into(), mime: "a/b".into(), size: 0 };
        let row = FileRow {
            file: file.clone(),
            session: SessionId::from(session).key(),
            thread: thread.clone(),
            created_at: at(i),
        };
        world.store.add_file(&row).await.unwrap();
        world.store.keep_file(&file.id).await.unwrap();
        kept.push(row);
    }
    assert_eq!(world.sweep(&["live"]).await, 550);
    let left = world.store.session_files(&SessionId::from("live").key()).await.unwrap();
    kept.retain(|row| row.session == SessionId::from("live").key());
    assert_eq!(left, kept);
}
