//! Twenty people upload at once, and the server's memory stays as it was.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use reqwest::multipart::{Form, Part};
use reqwest::{Body, Client};

use crate::support::bucket::S3;
use crate::support::program::Launch;
use crate::support::raw::Raw;

const CLIENTS: usize = 20;

/// Megabytes of each upload: 200 by `REJOINDER_TEST_UPLOAD_MB=200`, which takes a minute or two.
fn megabytes() -> usize {
    std::env::var("REJOINDER_TEST_UPLOAD_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(16)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_uploads_at_once_take_no_memory() {
    let program = Launch::demo().env("CHAINLIT_AUTH_SECRET", "s");
    grows_little(program, 64).await;
}

/// A bucket takes parts of five megabytes, each twice in memory at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_uploads_into_a_bucket_take_little_memory() {
    let Some(s3) = S3::start("chat").await else { return };
    let program = Launch::demo()
        .arg("--files=s3://chat/uploads")
        .arg(format!("--files-endpoint={}", s3.endpoint()))
        .env("REJOINDER_FILES_ACCESS_KEY", "test")
        .env("REJOINDER_FILES_SECRET_KEY", "test");
    grows_little(program, 400).await;
    assert_eq!(s3.keys().await.len(), CLIENTS);
}

async fn grows_little(program: Launch, most_megabytes: u64) {
    let program = program.start().await;
    let (base, pid) = (program.base().to_owned(), program.pid());
    let client = Client::builder().cookie_store(true).build().unwrap();
    let login = client.post(format!("{base}/auth/header")).send().await.unwrap();
    assert!(login.status().is_success(), "{}", login.status());
    let cookie = login.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let mut pages = Vec::new();
    for i in 0..CLIENTS {
        let url = format!("ws://{}/ws/socket.io/?EIO=4&transport=websocket", program.addr());
        let mut page = Raw::open_at(&url, &[("cookie", &cookie)]).await.unwrap();
        page.say(&format!("40{{\"sessionId\":\"s{i}\"}}")).await;
        assert!(page.packet().await.unwrap().starts_with("40{"));
        pages.push(page);
    }
    let before = resident(pid);
    let over = Arc::new(AtomicBool::new(false));
    let watch = tokio::spawn({
        let over = over.clone();
        async move {
            let mut most = 0;
            while !over.load(Ordering::Relaxed) {
                most = most.max(resident(pid));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            most
        }
    });
    let began = std::time::Instant::now();
    let uploads = (0..CLIENTS).map(|i| upload(&client, format!("{base}/project/file?session_id=s{i}")));
    futures_util::future::join_all(uploads).await;
    over.store(true, Ordering::Relaxed);
    let most = watch.await.unwrap();
    println!(
        "{CLIENTS} uploads of {} MB in {:.1} s: {before} MB before, {most} MB at most",
        megabytes(),
        began.elapsed().as_secs_f64()
    );
    assert!(most < before + most_megabytes, "{before} MB before, {most} MB at most");
}

async fn upload(client: &Client, url: String) {
    let chunk = Bytes::from(vec![7; 1 << 16]);
    let chunks = stream::iter((0..megabytes() << 4).map(move |_| Ok::<_, std::io::Error>(chunk.clone())));
    let length = (megabytes() as u64) << 20;
    let part = Part::stream_with_length(Body::wrap_stream(chunks), length).file_name("a.bin");
    let answer = client.post(url).multipart(Form::new().part("file", part)).send().await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
}

/// Megabytes of memory that a process has.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
