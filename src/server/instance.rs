//! Which process this is, and which one was here before it. Whoever has the lock of the data folder knows that the
//! process that had it before is dead: the lock is the operating system's and goes with its process.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use tracing::debug;

/// The file in the data folder that holds the name of the last process, and is locked by it.
const FILE: &str = "instance";

/// A name is no longer than this; whatever else the file holds is none.
const LONGEST: u64 = 100;

/// This process.
#[derive(Debug)]
pub(super) struct Instance {
    /// Its name: runs that it starts carry it.
    pub(super) id: String,
    /// The one before it in this data folder, which is dead.
    pub(super) former: Option<String>,
    /// The lock. None when another process has it: then there is nobody before this one.
    file: Option<File>,
}

impl Instance {
    /// A new name, and the name before it.
    pub(super) fn of(data_dir: &Path) -> io::Result<Self> {
        let id = uuid::Uuid::new_v4().to_string();
        let path = data_dir.join(FILE);
        let mut file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                debug!("another process has this data folder as well");
                return Ok(Self { id, former: None, file: None });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut former = String::new();
        // What is no text is no name.
        let is_text = (&mut file).take(LONGEST).read_to_string(&mut former).is_ok();
        let former = Some(former).filter(|name| is_text && !name.is_empty());
        Ok(Self { id, former, file: Some(file) })
    }

    /// What the former process left is settled: the next one has this one before it.
    pub(super) fn succeed(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(self.id.as_bytes())?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red when the lock is not asked for: then the second one takes the first for dead.
    #[test]
    fn a_process_knows_the_one_before_it_and_nobody_that_lives() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Instance::of(folder.path()).unwrap();
        assert_eq!(first.former, None);
        first.succeed().unwrap();
        let mut beside = Instance::of(folder.path()).unwrap();
        assert_eq!(beside.former, None, "the first one lives");
        beside.succeed().unwrap();
        let id = first.id.clone();
        drop(first);
        let second = Instance::of(folder.path()).unwrap();
        assert_eq!(second.former.as_ref(), Some(&id));
        // It died before it had settled anything.
        drop(second);
        assert_eq!(Instance::of(folder.path()).unwrap().former, Some(id));
    }
}
