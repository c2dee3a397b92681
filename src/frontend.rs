//! The built page: where it lies, and how it is fetched.

pub mod fetch;

use std::path::{Path, PathBuf};

use crate::config::Config;

/// A part of the built page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The page: index.html and its assets.
    App,
    /// The script that puts a chat into pages of others.
    Copilot,
    /// The texts, one file a language.
    Translations,
}

/// Where the parts are looked for, anew each time: a page that is fetched while the server runs is served at once.
#[derive(Clone, Debug)]
pub struct Frontend {
    folders: Vec<PathBuf>,
}

/// A folder that was named holds no page.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}: no built page here (no index.html, in it or in app/ or frontend/dist/)", folder.display())]
pub struct NoPage {
    folder: PathBuf,
}

impl Frontend {
    /// The folder that was named, else the app's own build, else what `frontend fetch` got. Parts that a named
    /// folder does not have (texts, usually) are taken from what was fetched.
    ///
    /// # Errors
    /// When the folder that was named holds no page.
    pub fn new(config: &Config) -> Result<Self, NoPage> {
        let build = config.ui.custom_build.as_ref().map(|path| config.app_dir.join(path));
        let named = config.frontend.clone().or(build);
        let frontend = Self { folders: named.iter().cloned().chain([fetched(&config.data_dir)]).collect() };
        match named {
            Some(folder) if find(&folder, Part::App).is_none() => Err(NoPage { folder }),
            _ => Ok(frontend),
        }
    }

    /// The folder of a part, if it is there.
    #[must_use]
    pub fn part(&self, part: Part) -> Option<PathBuf> {
        self.folders.iter().find_map(|folder| find(folder, part))
    }
}

/// Where a fetched page is kept.
#[must_use]
pub fn fetched(data_dir: &Path) -> PathBuf {
    data_dir.join("frontend")
}

/// A part in a folder that is a build itself, a fetched page, or the installed package `chainlit`.
fn find(folder: &Path, part: Part) -> Option<PathBuf> {
    let (places, inside): (&[&str], &str) = match part {
        Part::App => (&["", "app", "frontend/dist"], "index.html"),
        Part::Copilot => (&["copilot/dist", "copilot"], "index.js"),
        Part::Translations => (&["translations"], "en-US.json"),
    };
    places.iter().map(|place| folder.join(place)).find(|place| place.join(inside).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(path: PathBuf) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }

    #[test]
    fn a_page_is_found_where_it_usually_lies() {
        for (app, copilot) in [("", "copilot"), ("app", "copilot"), ("frontend/dist", "copilot/dist")] {
            let dir = tempfile::tempdir().unwrap();
            touch(dir.path().join(app).join("index.html"));
            touch(dir.path().join(copilot).join("index.js"));
            let config = Config { frontend: Some(dir.path().to_owned()), ..Config::default() };
            let frontend = Frontend::new(&config).unwrap();
            assert_eq!(frontend.part(Part::App), Some(dir.path().join(app)));
            assert_eq!(frontend.part(Part::Copilot), Some(dir.path().join(copilot)));
        }
    }

    #[test]
    fn a_page_that_comes_later_is_found_later() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config { data_dir: dir.path().to_owned(), ..Config::default() };
        let frontend = Frontend::new(&config).unwrap();
        assert_eq!(frontend.part(Part::App), None);
        touch(dir.path().join("frontend/app/index.html"));
        assert!(frontend.part(Part::App).is_some());
    }

    #[test]
    fn a_named_folder_without_a_page_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config { frontend: Some(dir.path().to_owned()), ..Config::default() };
        assert!(Frontend::new(&config).is_err());
    }
}
