//! Getting the stock page: out of the package `chainlit`, by pip.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that this server is tested with.
pub const VERSION: &str = "2.12.0";

/// What went wrong. The text is for whoever typed the command.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no Python.
    #[error("python3 is needed to fetch the page, and it did not start: {0}")]
    NoPython(io::Error),
    /// There is no pip.
    #[error(
        "pip is needed to fetch the page: install it (on Debian: apt install python3-pip), or name a wheel that you have by --wheel"
    )]
    NoPip,
    /// pip did not get the package; its own words.
    #[error("pip could not download chainlit {version}:\n{said}")]
    Download {
        /// The version.
        version: String,
        /// What pip said.
        said: String,
    },
    /// The wheel is none, or not one of this package.
    #[error("{}: {why}", wheel.display())]
    Wheel {
        /// The file.
        wheel: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What to fetch and where to.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The version of the package.
    pub version: String,
    /// A wheel that is on this machine already.
    pub wheel: Option<PathBuf>,
    /// The folder that the page takes; what was there is replaced when everything is.
    pub into: PathBuf,
}

impl Fetch {
    /// Fetches the page. What `progress` is told is for a terminal. A fetch that fails leaves what was there before.
    ///
    /// # Errors
    /// Without Python or pip, without the package, or when a folder cannot be written.
    pub fn run(&self, mut progress: impl FnMut(&str)) -> Result<(), FetchError> {
        let parent = self.into.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(parent).map_err(at(parent))?;
        // Beside its place, so that it can be moved there in one step; gone when this returns.
        let work = Folder::new(parent.join(format!("frontend.fetching-{}", std::process::id())))?;
        let wheel = match &self.wheel {
            Some(wheel) => wheel.clone(),
            None => {
                progress(&format!("downloading chainlit {} (11 MB)", self.version));
                self.download(&work.0)?
            }
        };
        progress("unpacking");
        let unpacked = work.0.join("unpacked");
        unpack(&wheel, &unpacked)?;
        let package = unpacked.join("chainlit");
        let new = work.0.join("new");
        let copied = copy(&package.join("frontend/dist"), &new.join("app"))?
            + copy(&package.join("copilot/dist"), &new.join("copilot"))?
            + copy(&package.join("translations"), &new.join("translations"))?;
        if !new.join("app/index.html").is_file() {
            return Err(FetchError::Wheel { wheel, why: "holds no page (chainlit/frontend/dist)".to_owned() });
        }
        self.replace(&new, &work.0.join("old"))?;
        progress(&format!("{copied} files in {}", self.into.display()));
        Ok(())
    }

    fn download(&self, work: &Path) -> Result<PathBuf, FetchError> {
        let into = work.join("wheel");
        let package = format!("chainlit=={}", self.version);
        // It is only unpacked, so it need not fit this Python.
        let output = python(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"])
            .args(["--disable-pip-version-check", "--quiet", "--dest"])
            .arg(&into)
            .arg(package)
            .output()
            .map_err(FetchError::NoPython)?;
        let said = shortened(&String::from_utf8_lossy(&output.stderr));
        if said.contains("No module named pip") {
            return Err(FetchError::NoPip);
        }
        let is_wheel = |path: &PathBuf| path.extension() == Some(OsStr::new("whl"));
        let wheel =
            std::fs::read_dir(&into).ok().and_then(|entries| entries.flatten().map(|e| e.path()).find(is_wheel));
        match wheel {
            Some(wheel) if output.status.success() => Ok(wheel),
            _ => Err(FetchError::Download { version: self.version.clone(), said }),
        }
    }

    /// Puts the new folder in the old one's place.
    fn replace(&self, new: &Path, old: &Path) -> Result<(), FetchError> {
        match std::fs::rename(&self.into, old) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(FetchError::File { path: self.into.clone(), source });
            }
        }
        std::fs::rename(new, &self.into).map_err(at(&self.into)).inspect_err(|_| {
            let _ = std::fs::rename(old, &self.into);
        })
    }
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(path: PathBuf) -> Result<Self, FetchError> {
        std::fs::create_dir_all(&path).map_err(at(&path))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn python<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new("python3");
    command.args(arguments);
    command
}

/// What pip said, without the tails of its longest lines: it lists every version there ever was.
fn shortened(said: &str) -> String {
    let line = |line: &str| match line.char_indices().nth(160) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    said.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Python's own unzip: it refuses paths that lead out of the folder.
fn unpack(wheel: &Path, into: &Path) -> Result<(), FetchError> {
    let output = python(["-m", "zipfile", "-e"]).arg(wheel).arg(into).output().map_err(FetchError::NoPython)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.trim().lines().last().unwrap_or("cannot be unpacked").to_owned();
    Err(FetchError::Wheel { wheel: wheel.to_owned(), why })
}

/// Copies a folder without source maps, which are two thirds of it. A folder that is not there is empty.
fn copy(from: &Path, to: &Path) -> Result<usize, FetchError> {
    let entries = match std::fs::read_dir(from) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(source) => {
            return Err(FetchError::File { path: from.to_owned(), source });
        }
    };
    std::fs::create_dir_all(to).map_err(at(to))?;
    let mut copied = 0;
    for entry in entries {
        let path = entry.map_err(at(from))?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.is_dir() {
            copied += copy(&path, &to.join(name))?;
        } else if path.extension() != Some(OsStr::new("map")) {
            std::fs::copy(&path, to.join(name)).map_err(at(&path))?;
            copied += 1;
        }
    }
    Ok(copied)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    let path = path.to_owned();
    move |source| FetchError::File { path, source }
}
