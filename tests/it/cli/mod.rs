//! The binary, as it is typed.

mod config;
mod fetch;
mod records;
mod serve;

use std::path::Path;
use std::process::{Command, Output};

/// A run of the binary in a folder, without anything of the environment that it would read.
pub fn rejoinder(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoinder"));
    let ours = |name: &str| {
        ["REJOINDER_", "CHAINLIT_"].iter().any(|prefix| name.starts_with(prefix))
            || matches!(name, "DATABASE_URL" | "RUST_LOG" | "COLUMNS")
    };
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command.current_dir(folder).args(arguments);
    command
}

/// Exit code, standard output, standard error.
pub fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn help_for_a_newcomer() {
    let folder = tempfile::tempdir().unwrap();
    let (code, out, _) = said(&rejoinder(folder.path(), &["--help"]).output().unwrap());
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("help", out);
    let (code, out, _) = said(&rejoinder(folder.path(), &["serve", "--help"]).output().unwrap());
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("serve_help", out);
    let (code, out, _) = said(&rejoinder(folder.path(), &["frontend", "fetch", "--help"]).output().unwrap());
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("fetch_help", out);
}

/// Red when a command prints by `println!`, which panics.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["config"][..], &["secret"], &["play", "--schema"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = rejoinder(folder.path(), arguments).stdout(writer).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told), (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn what_is_not_understood_is_code_two() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in
        [&[][..], &["sreve"], &["serve", "--prot", "1"], &["serve", "--port", "x"], &["serve", "--show", "x"]]
    {
        let (code, _, error) = said(&rejoinder(folder.path(), arguments).output().unwrap());
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(error.contains("Usage") || error.contains("--help"), "{arguments:?}: {error}");
    }
}

#[test]
fn every_secret_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let secret = || said(&rejoinder(folder.path(), &["secret"]).output().unwrap()).1;
    let (first, second) = (secret(), secret());
    assert_eq!(first.trim().len(), 64);
    assert_ne!(first, second);
}
