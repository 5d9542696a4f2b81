//! Where logs are made: three folders in a folder of the program's own, which is removed at the
//! end.

use crate::AnyError;
use std::path::{Path, PathBuf};

/// A folder for each log of the program.
pub struct Folders {
    all: PathBuf,
    /// Log of the earlier engine.
    pub old: PathBuf,
    /// Log of the present engine.
    pub new: PathBuf,
    /// A second log of the present engine, to compare it with itself.
    pub twin: PathBuf,
}

impl Folders {
    /// Makes the folders and their logs in `parent`.
    pub fn new(parent: &Path) -> Result<Folders, AnyError> {
        let all = parent.join("engine-versions");
        std::fs::create_dir(&all).map_err(|e| format!("{}: {e}", all.display()))?;
        let [old, new, twin] = ["old", "new", "twin"].map(|name| all.join(name));
        let folders = Folders {
            all,
            old,
            new,
            twin,
        };
        for folder in [&folders.old, &folders.new, &folders.twin] {
            std::fs::create_dir(folder)?;
        }
        crate::old::create(&folders.old)?;
        crate::new::create(&folders.new)?;
        crate::new::create(&folders.twin)?;
        Ok(folders)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.all) {
            eprintln!("{}: {error}", self.all.display());
        }
    }
}
