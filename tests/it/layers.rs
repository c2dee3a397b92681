//! The walls of the house (ARCHITECTURE.md): who may import whom, held against the code. One package has no crate
//! walls; this test is the wall.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// From the ground up. A module may use what stands on a lower floor, never its own floor or a higher one.
const FLOORS: [&[&str]; 15] = [
    &["id", "metrics"],
    &["protocol"],
    &["clock", "config", "error", "record", "screen"],
    &["chat", "store"],
    &["file", "hook", "journal"],
    &["app"],
    &["conversation"],
    &["session"],
    &["line"],
    &["socket", "frontend"],
    &["auth"],
    &["http"],
    &["server"],
    &["fixture"],
    &["cli", "demo"],
];

/// Libraries that only some modules know.
const LIBRARIES: [(&str, &[&str]); 5] = [
    ("prometheus_client", &["metrics"]),
    ("object_store", &["file"]),
    ("socketioxide", &["socket"]),
    ("axum", &["line", "socket", "auth", "http", "server"]),
    ("sqlx", &["store"]),
];

/// Red when a module imports upwards (chat and hook did, before `error` was split off), or when a module has no floor.
#[test]
fn arrows_point_down() {
    let floor_of: BTreeMap<&str, usize> = FLOORS
        .iter()
        .enumerate()
        .flat_map(|(floor, modules)| modules.iter().map(move |module| (*module, floor)))
        .collect();
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let Some(floor) = floor_of.get(module.as_str()) else {
            wrong.push(format!("{}: module {module} has no floor", path.display()));
            continue;
        };
        for used in imports(&text) {
            match floor_of.get(used.as_str()) {
                _ if used == module => {}
                Some(lower) if lower < floor => {}
                Some(_) => wrong.push(format!("{}: {module} must not use {used}", path.display())),
                None => {}
            }
        }
        for (library, known_by) in LIBRARIES {
            if text.contains(&format!("{library}::")) && !known_by.contains(&module.as_str()) {
                wrong.push(format!("{}: {module} must not know {library}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every file below src/, with the module it belongs to and its text up to its tests.
fn sources() -> Vec<(String, PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
            let first = inside.iter().next().unwrap().to_str().unwrap();
            let module = first.strip_suffix(".rs").unwrap_or(first).to_owned();
            if module == "lib" || module == "main" || path.extension().is_none_or(|kind| kind != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            found.push((module, inside.to_owned(), code));
        }
    }
    assert!(found.len() > 100, "the sources were found");
    found
}

/// The first name after every `crate::`, also inside braces; comments do not count.
fn imports(text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = Vec::new();
    for (place, _) in code.match_indices("crate::") {
        let rest = &code[place + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                names.extend(list.split('}').next().unwrap_or_default().split(',').map(|part| name(part.trim())))
            }
            None => names.push(name(rest)),
        }
    }
    names
}
