//! A bucket of a server that speaks the protocol of S3.

use rejoinder::file::{Bucket, BucketSettings};
use tokio_util::task::TaskTracker;

use super::program::Program;
use super::tool;

/// The server; killed when dropped.
pub struct S3 {
    program: Program,
    name: String,
}

impl S3 {
    /// Starts it with one bucket; `None` where it is not installed.
    pub async fn start(name: &str) -> Option<Self> {
        let mut command = tool::python("s3.py")?;
        command.arg(name);
        let program = Program::other(command, String::new(), "serving http://").await;
        Some(Self { program, name: name.to_owned() })
    }

    pub fn endpoint(&self) -> String {
        let log = self.program.log();
        let address = log.split("serving ").nth(1).and_then(|rest| rest.split_once('/').map(|_| rest)).unwrap();
        address.lines().next().unwrap().trim_end_matches('/').to_owned()
    }

    /// The bucket.
    pub fn bucket(&self, prefix: &str, tracker: &TaskTracker) -> Bucket {
        let settings = BucketSettings {
            name: self.name.clone(),
            prefix: prefix.to_owned(),
            region: Some("us-east-1".to_owned()),
            endpoint: Some(self.endpoint()),
            access_key: Some("test".to_owned()),
            secret_key: Some("test".to_owned()),
        };
        Bucket::open(settings, tracker.clone()).unwrap()
    }

    async fn asks(&self, query: &str) -> String {
        let url = format!("{}/{}?{query}", self.endpoint(), self.name);
        reqwest::get(url).await.unwrap().text().await.unwrap()
    }

    /// Every key in it.
    pub async fn keys(&self) -> Vec<String> {
        let list = self.asks("list-type=2").await;
        list.split("<Key>").skip(1).map(|rest| rest.split_once('<').unwrap().0.to_owned()).collect()
    }

    /// Whether it holds parts of something that is not finished.
    pub async fn has_parts(&self) -> bool {
        self.asks("uploads").await.contains("<UploadId>")
    }
}
