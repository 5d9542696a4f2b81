//! The directory into which files are collected.
//!
//! Invariant: a file that exists is never replaced.

use crate::output::file::{self, Audience, Inputs, OutputError, OutputFile};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a new file in `folder`, which is made where it is missing; its path.
///
/// # Errors
/// A place that is refused, a file that exists, or the system's errors.
pub fn write(
    folder: &Path,
    name: &str,
    text: &str,
    audience: Audience,
) -> Result<PathBuf, OutputError> {
    let path = folder.join(name);
    let folder = file::make_folders(folder, Path::new(""))?;
    let mut output = OutputFile::begin_in(&folder, name, audience)?;
    output
        .write_all(text.as_bytes())
        .map_err(|source| OutputError::System {
            path: path.clone(),
            action: "writing what was collected",
            source,
        })?;
    output.finish()?;
    Ok(path)
}

/// Makes a folder, and refuses one in which one of these files exists or none can be written,
/// before anything is read for it.
///
/// # Errors
/// The first file that exists or cannot be written.
pub fn check(folder: &Path, names: &[&str]) -> Result<(), OutputError> {
    let paths = names.iter().map(|name| folder.join(name));
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    let mut existing = paths.filter(exists);
    if let Some(path) = existing.next() {
        return Err(OutputError::Exists { path });
    }
    file::make_folders(folder, Path::new(""))?;
    let mut paths = names.iter().map(|name| folder.join(name));
    paths.try_for_each(|path| file::check_with_room(&path, &Inputs::default()))
}

/// Makes a folder for a collection, before anything is read for it.
///
/// # Errors
/// A folder that has files already, something else, or the system's errors.
pub fn make_empty(folder: &Path) -> Result<(), OutputError> {
    file::make_folders(folder, Path::new(""))?;
    let failed = |source| OutputError::System {
        path: folder.to_owned(),
        action: "listing the directory",
        source,
    };
    let mut entries = std::fs::read_dir(folder).map_err(failed)?;
    match entries.next() {
        Some(_) => Err(OutputError::Refused {
            path: folder.to_owned(),
            why: "this directory has files already: name another one with -o".to_owned(),
        }),
        None => file::check_with_room(&folder.join("begin.txt"), &Inputs::default()),
    }
}
