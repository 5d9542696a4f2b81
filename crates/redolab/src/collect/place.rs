//! The directory into which files are collected.
//!
//! Invariants: a file that exists is never replaced; files of which a killed process wrote some and
//! not others are named by a file beside them, and the next collection into the directory removes
//! them.

use crate::output::file::{self, Audience, Inputs, OutputError, OutputFile};
use crate::output::temporary;
use device::file::Directory;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Names the files of a collection, one per line below [`WHAT`], until all of them are written.
const UNFINISHED: &str = "unfinished.txt";
/// What that file says before the names.
const WHAT: &str = "redolab has not finished writing these files. If it was ended meanwhile, the \
                    next redolab collect into this directory removes them.\n\n";
/// Bytes of such a file that are read.
const UNFINISHED_MAX: u64 = 64 << 10;

/// Writes new files, names and texts, in `folder`, which is made where it is missing; their paths.
///
/// # Errors
/// A place that is refused, a file that exists, or the system's errors; what was written until then
/// is removed.
pub fn write_all(
    folder: &Path,
    files: &[(&str, &str)],
    audience: Audience,
) -> Result<Vec<PathBuf>, OutputError> {
    let at = file::make_folders(folder, Path::new(""))?;
    let write_one = |name: &str, text: &str| write(&at, folder.join(name), name, text, audience);
    if let [(name, text)] = files {
        return Ok(vec![write_one(name, text)?]);
    }
    let names: String = files.iter().map(|(name, _)| format!("{name}\n")).collect();
    write_one(UNFINISHED, &format!("{WHAT}{names}"))?;
    let mut written = Vec::new();
    let outcome = files.iter().try_for_each(|(name, text)| {
        written.push(write_one(name, text)?);
        Ok(())
    });
    if outcome.is_err() {
        // The failure is what counts, and the next collection removes what cannot be removed now.
        let names = written.iter().filter_map(|path| path.file_name());
        names.for_each(|name| drop(at.remove_file(name)));
    }
    let removed = at.remove_file(UNFINISHED);
    outcome.and_then(|()| removed.map_err(|e| system(folder.join(UNFINISHED), "removing", e)))?;
    Ok(written)
}

fn write(
    folder: &Directory,
    path: PathBuf,
    name: &str,
    text: &str,
    audience: Audience,
) -> Result<PathBuf, OutputError> {
    let mut output = OutputFile::begin_in(folder, name, audience)?;
    let written = output.write_all(text.as_bytes());
    written.map_err(|e| system(path.clone(), "writing what was collected", e))?;
    output.finish()?;
    Ok(path)
}

fn system(path: PathBuf, action: &'static str, source: std::io::Error) -> OutputError {
    OutputError::System {
        path,
        action,
        source,
    }
}

/// Makes a folder, and removes what a killed collection left in it.
fn prepare(folder: &Path) -> Result<Directory, OutputError> {
    let at = file::make_folders(folder, Path::new(""))?;
    let mut text = String::new();
    let Ok(unfinished) = at.open_file(UNFINISHED) else {
        return Ok(at);
    };
    // A file of somebody else that has this name names no files.
    if unfinished
        .take(UNFINISHED_MAX)
        .read_to_string(&mut text)
        .is_err()
    {
        return Ok(at);
    }
    let Some(names) = text.strip_prefix(WHAT) else {
        return Ok(at);
    };
    let all = at.names();
    let all = all.map_err(|e| system(folder.to_owned(), "listing the directory", e))?;
    // What was being written has a name of its own until it is whole.
    let of_one = |name: &OsString| names.lines().any(|of| temporary::is_of(name, of));
    let begun: Vec<OsString> = all.into_iter().filter(of_one).collect();
    let begun = begun.iter().filter_map(|name| name.to_str());
    for name in names.lines().chain(begun).chain([UNFINISHED]) {
        match at.remove_file(name) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                let action = "removing what an unfinished collection left";
                return Err(system(folder.join(name), action, e));
            }
            _ => {}
        }
    }
    Ok(at)
}

/// Makes a folder, and refuses one in which one of these files exists or none can be written,
/// before anything is read for it.
///
/// # Errors
/// The first file that exists or cannot be written.
pub fn check(folder: &Path, names: &[&str]) -> Result<(), OutputError> {
    prepare(folder)?;
    let paths = names.iter().map(|name| folder.join(name));
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
    let mut existing = paths.filter(exists);
    if let Some(path) = existing.next() {
        return Err(OutputError::Exists { path });
    }
    let mut paths = names.iter().map(|name| folder.join(name));
    paths.try_for_each(|path| file::check_with_room(&path, &Inputs::default()))
}

/// Makes a folder for a collection, before anything is read for it.
///
/// # Errors
/// A folder that has files already, something else, or the system's errors.
pub fn make_empty(folder: &Path) -> Result<(), OutputError> {
    let names = prepare(folder)?.names();
    let names = names.map_err(|e| system(folder.to_owned(), "listing the directory", e))?;
    match names.is_empty() {
        false => Err(OutputError::Refused {
            path: folder.to_owned(),
            why: "this directory has files already: name another one with -o".to_owned(),
        }),
        true => file::check_with_room(&folder.join("begin.txt"), &Inputs::default()),
    }
}
