//! What is in force, and who says so.

use super::{rejoinder, said};
use crate::support::server::House;

fn printed(house: &House, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let arguments = [&["config"], arguments].concat();
    said(&rejoinder(house.app(), &arguments).envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn the_first_that_says_something_wins() {
    let house = House::new().file("file.toml", "port = 3\nhost = \"file\"\n[records]\nsequence = false\n");
    let file = ("REJOINDER_CONFIG", "file.toml");
    let chainlit = ("CHAINLIT_PORT", "2");
    let ours = ("REJOINDER_PORT", "1");
    for (arguments, variables, port) in [
        (&[][..], &[][..], "8000"),
        (&[], &[file], "3"),
        (&["--config", "file.toml"], &[], "3"),
        (&[], &[file, chainlit], "2"),
        (&[], &[file, chainlit, ours], "1"),
        (&["--port", "0"], &[file, chainlit, ours], "0"),
    ] {
        let (code, out, error) = printed(&house, arguments, variables);
        assert_eq!(code, Some(0), "{error}");
        assert!(out.contains(&format!("\nport = {port}\n")), "{variables:?}: {out}");
    }
    let (_, out, _) = printed(&house, &[], &[file]);
    assert!(out.contains("host = \"file\"") && out.contains("[records]\nsequence = false"), "{out}");
}

#[test]
fn what_is_printed_shows_no_secret() {
    let house = House::new().file("file.toml", "auth_secret = \"hush\"\n");
    for variables in [
        &[("CHAINLIT_AUTH_SECRET", "hush"), ("DATABASE_URL", "postgresql+asyncpg://me:hush@db/chat?sslpassword=hush")]
            [..],
        &[("REJOINDER_AUTH_SECRET", "hush"), ("REJOINDER_DATABASE_URL", "postgres://me:hush@db/chat")],
        &[("REJOINDER_CONFIG", "file.toml")],
    ] {
        let (code, out, error) = printed(&house, &[], variables);
        assert_eq!(code, Some(0), "{error}");
        assert!(!out.contains("hush") && !error.contains("hush"), "{out}{error}");
        assert!(out.contains("auth_secret = \"(set, not shown)\""), "{out}");
    }
    for command in ["serve", "config"] {
        let help = rejoinder(house.app(), &[command, "--help"]).env("REJOINDER_DATABASE_URL", "hush").output().unwrap();
        assert!(!said(&help).1.contains("hush"));
    }
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let house = House::new()
        .file(".chainlit/config.toml", "[project]\n\nsession_timeout = \"soon\"\n")
        .file("other/.chainlit/config.toml", "[UI]\nname = \"x\"\nlayout = \"diagonal\"\n")
        .file("fine/.chainlit/config.toml", "")
        .file("typo.toml", "host = \"x\"\nprot = 80\n")
        .file("broken.toml", "host = \n");
    for (arguments, variables, expected) in [
        (&[][..], &[][..], "./.chainlit/config.toml:3: session_timeout: invalid type: string \"soon\", expected u64"),
        (&["--app-dir", "other"], &[], "other/.chainlit/config.toml:3: layout: unknown variant `diagonal`"),
        (&["--app-dir", "fine", "--config", "typo.toml"], &[], "typo.toml:2: prot: unknown field `prot`"),
        (&["--app-dir", "fine", "--config", "broken.toml"], &[], "broken.toml:1: host: "),
        (&["--app-dir", "fine", "--config", "none.toml"], &[], "none.toml: cannot be read: No such file"),
        (&["--app-dir", "fine"], &[("CHAINLIT_PORT", "http")], "CHAINLIT_PORT: invalid digit"),
        (&["--app-dir", "fine"], &[("CHAINLIT_ROOT_PATH", "/a?b")], "CHAINLIT_ROOT_PATH: not a path like /chat"),
    ] {
        let (code, out, error) = printed(&house, arguments, variables);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(error.starts_with("error: ") && error.contains(expected), "{error}");
    }
}
