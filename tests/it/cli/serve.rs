//! `serve`, as a process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::{rejoinder, said};
use crate::support::server::House;

/// A served demo, ended when dropped.
struct Serving(Child, String);

impl Serving {
    /// Starts it and waits for the line that says where.
    fn start(house: &House, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--port", "0", "--log-format", "json"], arguments].concat();
        let mut child = rejoinder(house.app(), &arguments).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = lines.by_ref().find_map(|line| {
            let line: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            line["fields"]["address"].as_str().map(str::to_owned)
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self(child, address.expect("it said where it listens"))
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn the_demo_signs_in_whoever_is_here_and_stops_when_told() {
    let house = House::new();
    for signal in ["-TERM", "-INT"] {
        let mut server = Serving::start(&house, &[]);
        let client = reqwest::Client::builder().cookie_store(true).build().unwrap();
        let url = |path: &str| format!("http://{}{path}", server.1);
        assert!(client.post(url("/auth/header")).send().await.unwrap().status().is_success());
        let user: serde_json::Value = client.get(url("/user")).send().await.unwrap().json().await.unwrap();
        assert!(user["identifier"].is_string());
        server.signal(signal);
        assert_eq!(server.0.wait().unwrap().code(), Some(0), "{signal}");
    }
    assert!(house.app().join(".rejoinder/rejoinder.db").exists());
    assert!(house.app().join(".rejoinder/secret").exists());
}

#[test]
fn a_second_server_on_the_same_data_is_refused_in_a_sentence() {
    let house = House::new();
    let _first = Serving::start(&house, &[]);
    let (code, out, error) = said(&rejoinder(house.app(), &["serve", "--port", "0"]).output().unwrap());
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(error.contains("error: cannot open the database: "), "{error}");
}
