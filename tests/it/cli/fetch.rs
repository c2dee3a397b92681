//! `frontend fetch`, from a wheel made here: nothing is asked of the network.

use std::path::Path;
use std::process::Command;

use super::{rejoinder, said};
use crate::support::server::House;

/// Packs the folder `chainlit` of `house` as a wheel would.
fn pack(house: &House) {
    let packed = Command::new("python3")
        .current_dir(house.app())
        .args(["-m", "zipfile", "-c", "wheel.whl", "chainlit"])
        .status()
        .expect("python3 is needed");
    assert!(packed.success());
}

fn fetch(folder: &Path, wheel: &str) -> (Option<i32>, String, String) {
    let arguments = ["frontend", "fetch", "--wheel", wheel, "--data-dir", "data"];
    said(&rejoinder(folder, &arguments).output().unwrap())
}

#[test]
fn a_page_is_put_in_its_place_whole() {
    let house = House::new()
        .file("chainlit/frontend/dist/index.html", "new")
        .file("chainlit/frontend/dist/assets/a.js", "a")
        .file("chainlit/frontend/dist/assets/a.js.map", "a map")
        .file("chainlit/copilot/dist/index.js", "copilot")
        .file("chainlit/translations/en-US.json", "{}")
        .file("chainlit/server.py", "code")
        .file("data/frontend/app/index.html", "old")
        .file("data/frontend/app/assets/old.js", "old");
    pack(&house);
    let (code, _, error) = fetch(house.app(), "wheel.whl");
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("4 files in data/frontend"), "{error}");
    let page = house.app().join("data/frontend");
    assert_eq!(std::fs::read_to_string(page.join("app/index.html")).unwrap(), "new");
    for (path, is_there) in [
        ("app/assets/a.js", true),
        ("app/assets/a.js.map", false),
        ("app/assets/old.js", false),
        ("copilot/index.js", true),
        ("translations/en-US.json", true),
    ] {
        assert_eq!(page.join(path).exists(), is_there, "{path}");
    }
    assert_eq!(std::fs::read_dir(house.app().join("data")).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_fetch_that_fails_leaves_what_was_there() {
    let house = House::new()
        .file("chainlit/server.py", "no page")
        .file("nonsense.whl", "nonsense")
        .file("data/frontend/app/index.html", "old");
    pack(&house);
    for (wheel, why) in [
        ("wheel.whl", "wheel.whl: holds no page"),
        ("nonsense.whl", "File is not a zip file"),
        ("none.whl", "none.whl: "),
    ] {
        let (code, _, error) = fetch(house.app(), wheel);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains(why), "{error}");
        let page = house.app().join("data/frontend/app/index.html");
        assert_eq!(std::fs::read_to_string(page).unwrap(), "old");
        assert_eq!(std::fs::read_dir(house.app().join("data")).unwrap().count(), 1);
    }
}

#[test]
fn what_is_missing_is_named() {
    let house = House::new();
    let nothing = rejoinder(house.app(), &["frontend", "fetch"]).env("PATH", house.app()).output().unwrap();
    let (code, _, error) = said(&nothing);
    assert_eq!(code, Some(1));
    assert!(error.contains("python3 is needed to fetch the page"), "{error}");

    let house = house.file("bin/python3", "#!/bin/sh\necho '/usr/bin/python3: No module named pip' >&2\nexit 1\n");
    let python = house.app().join("bin/python3");
    std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let no_pip = rejoinder(house.app(), &["frontend", "fetch"]).env("PATH", house.app().join("bin")).output().unwrap();
    let (code, _, error) = said(&no_pip);
    assert_eq!(code, Some(1));
    assert!(error.contains("apt install python3-pip") && error.contains("--wheel"), "{error}");
}
