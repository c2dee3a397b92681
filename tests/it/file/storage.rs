//! One suite that both storages pass: a folder, and a bucket of a real server.

use bytes::Bytes;
use futures_util::TryStreamExt;
use rejoinder::file::{Bucket, BucketSettings, LocalFolder, Storage};
use tokio_util::task::TaskTracker;

use crate::support::bucket::S3;
use crate::support::upload::files_in;

#[tokio::test]
async fn a_folder_keeps_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let storage = LocalFolder::open(folder.path().to_owned()).unwrap();
    keeps_what_it_is_given(&storage).await;
    drop(partial(&storage, 100_000).await);
    assert_eq!(files_in(folder.path()), [""; 0]);
    std::mem::forget(partial(&storage, 100_000).await);
    assert_eq!(files_in(folder.path()).len(), 1);
    // What a crash left goes at the next start.
    LocalFolder::open(folder.path().to_owned()).unwrap();
    assert_eq!(files_in(folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_bucket_keeps_what_it_is_given() {
    let Some(s3) = S3::start("chat").await else { return };
    for prefix in ["", "some/where"] {
        let tracker = TaskTracker::new();
        let storage = s3.bucket(prefix, &tracker);
        keeps_what_it_is_given(&storage).await;
        drop(partial(&storage, 6_000_000).await);
        tracker.close();
        tracker.wait().await;
        assert!(!s3.has_parts().await, "the parts of what came to nothing are gone");
        assert_eq!(s3.keys().await, [""; 0]);
    }
}

#[tokio::test]
async fn a_bucket_that_is_away_says_so() {
    let settings = BucketSettings {
        name: "chat".into(),
        endpoint: Some("http://127.0.0.1:9".into()),
        access_key: Some("a".into()),
        secret_key: Some("s".into()),
        ..BucketSettings::default()
    };
    let storage = Bucket::open(settings, TaskTracker::new()).unwrap();
    assert!(storage.open("a").await.is_err());
    let mut incoming = storage.create("a").await.unwrap();
    incoming.write(Bytes::from_static(b"x")).await.unwrap();
    assert!(incoming.finish().await.is_err());
    assert!(storage.delete("a").await.is_err());
}

async fn keeps_what_it_is_given(storage: &dyn Storage) {
    // Less than a part of a bucket, exactly one, and more.
    let part = 5 * 1024 * 1024;
    for size in [0, 1, 100_000, part, 2 * part + 12_345] {
        let content: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let mut incoming = storage.create("ab-file").await.unwrap();
        for chunk in content.chunks(70_000) {
            incoming.write(Bytes::copy_from_slice(chunk)).await.unwrap();
            assert!(storage.open("ab-file").await.unwrap().is_none(), "nothing is seen before the end");
        }
        incoming.finish().await.unwrap();
        let opened = storage.open("ab-file").await.unwrap().unwrap();
        assert_eq!(opened.length, size as u64);
        assert!(opened.modified.as_micros() > 1_600_000_000_000_000);
        assert!(read(storage, None).await == content, "{size}");
        if size > 2 {
            let last = size as u64;
            for range in [0..1, 1..last, last - 1..last, last / 2..last / 2 + 1] {
                let wanted = &content[range.start as usize..range.end as usize];
                assert!(read(storage, Some(range.clone())).await == wanted, "{range:?} of {size}");
            }
        }
        storage.delete("ab-file").await.unwrap();
        assert!(storage.open("ab-file").await.unwrap().is_none());
    }
    storage.delete("ab-file").await.unwrap();
    for key in ["", "..", "../a", "/etc/passwd", "none/at/all"] {
        assert!(storage.open(key).await.unwrap().is_none(), "{key}");
        storage.delete(key).await.unwrap();
    }
}

async fn read(storage: &dyn Storage, range: Option<std::ops::Range<u64>>) -> Vec<u8> {
    let opened = storage.open("ab-file").await.unwrap().unwrap();
    let chunks: Vec<Bytes> = opened.read(range).await.unwrap().try_collect().await.unwrap();
    chunks.concat()
}

async fn partial(storage: &dyn Storage, size: usize) -> Box<dyn rejoinder::file::Incoming> {
    let mut incoming = storage.create("ab-file").await.unwrap();
    incoming.write(vec![1; size].into()).await.unwrap();
    incoming
}
