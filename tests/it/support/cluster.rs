//! A PostgreSQL server of a test's own, which may be stopped, frozen and started again.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::database::Database;
use super::tool;

/// A cluster in a folder of its own, on a port of its own. It is stopped when dropped.
pub struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Cluster {
    /// Makes one and starts it; none where there is no PostgreSQL.
    pub async fn start() -> Option<Self> {
        tokio::task::spawn_blocking(Self::make).await.unwrap()
    }

    fn make() -> Option<Self> {
        let found = Command::new(tool::project("tests/env/postgres-bin")).output().unwrap();
        if !found.status.success() {
            assert!(std::env::var("CI").is_err(), "there is no PostgreSQL here, and CI never skips");
            eprintln!("SKIPPED: no PostgreSQL here (make deps)");
            return None;
        }
        let programs = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
        // A home folder may be closed to the user postgres.
        let folder = tempfile::Builder::new().prefix("rejoinder-cluster").tempdir_in("/tmp").unwrap();
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let cluster = Self { folder, programs, port };
        let options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions"];
        run(cluster.program("initdb").arg("-D").arg(cluster.data()).args(options));
        cluster.begin();
        Some(cluster)
    }

    /// The database in it.
    pub fn database(&self) -> Database {
        Database::existing(format!("postgres://postgres@127.0.0.1:{}/postgres", self.port))
    }

    /// Stops it as a crash does: nothing is said to anybody, nothing is written any more.
    pub async fn stop_at_once(&self) {
        let mut command = self.program("pg_ctl");
        command.arg("stop").arg("-D").arg(self.data()).args(["-m", "immediate", "-s"]);
        tokio::task::spawn_blocking(move || run(&mut command)).await.unwrap();
    }

    /// Starts it after a stop; when this returns, it takes connections.
    pub async fn start_again(&self) {
        let mut command = self.begin_command();
        tokio::task::spawn_blocking(move || run(&mut command)).await.unwrap();
    }

    /// All of its processes stand still, and its connections stay open.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// They go on.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    fn begin(&self) {
        run(&mut self.begin_command());
    }

    /// fsync stays on: what is acknowledged is on the disk.
    fn begin_command(&self) -> Command {
        let settings = format!(
            "-c listen_addresses=127.0.0.1 -c port={} -c unix_socket_directories='' -c max_connections=100",
            self.port
        );
        let mut command = self.program("pg_ctl");
        command.arg("start").arg("-D").arg(self.data()).arg("-l").arg(self.folder.path().join("log"));
        command.args(["-w", "-t", "60", "-s", "-o", &settings]);
        command
    }

    fn signal(&self, signal: &str) {
        let first = self.postmaster().expect("it runs");
        let mut pids = children(first);
        pids.push(first);
        for pid in pids {
            // A backend may have ended meanwhile.
            let _ = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).stderr(Stdio::null()).status();
        }
    }

    fn postmaster(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// One of its programs, as its owner: initdb refuses root.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        // They look at the folder they are started in, so they must be able to enter it.
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.postmaster().is_some() {
            self.thaw();
            let mut command = self.program("pg_ctl");
            command.arg("stop").arg("-D").arg(self.data()).args(["-m", "immediate", "-s"]);
            let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.starts_with(b"0\n")
}

/// Runs a program to its end. Its output goes to a file: a server that it starts keeps it open.
fn run(command: &mut Command) {
    let said = tempfile::tempfile().unwrap();
    let status = command
        .stdin(Stdio::null())
        .stdout(said.try_clone().unwrap())
        .stderr(said.try_clone().unwrap())
        .status()
        .unwrap_or_else(|why| panic!("{command:?}: {why}"));
    if !status.success() {
        let mut text = String::new();
        let mut said = said;
        std::io::Seek::rewind(&mut said).unwrap();
        std::io::Read::read_to_string(&mut said, &mut text).unwrap();
        panic!("{command:?}: {status}\n{text}");
    }
}

/// The processes that a process has started and that live.
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir(Path::new("/proc")).unwrap();
    let pids = processes.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
