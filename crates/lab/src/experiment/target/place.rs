//! What a target path names: a directory in which log files are made, or a raw block device; and
//! the questions that are asked of each before anything is written there.
//!
//! Invariants: nothing is written here before [`TargetPlace::site`]. A raw device has passed every
//! refusal, and its owner has repeated its path, before it becomes a place; it is held when it
//! becomes a site.

use super::site::Site;
use crate::cleanup::{self, WorkFolder};
use crate::experiment::Failure;
use crate::experiment::console::{Console, ConsolePhase};
use crate::raw_consent::{NoConsent, consented};
use crate::safety::{Room, VolumeRoom};
use device::file::Directory;
use device::raw::{self, Consent};
use measure::stack::Stack;
use measure::words::sanitize;
use std::path::{Path, PathBuf};

/// What a target path names.
pub(crate) enum TargetPlace {
    /// A directory, held open from now on.
    Directory(Directory),
    /// A raw device that may be overwritten.
    Device(Box<raw::RawDevice>, Box<Consent>),
}

impl TargetPlace {
    /// Looks at `path`; `destroy` is the path of a raw device that may be overwritten.
    ///
    /// # Errors
    /// Whatever makes it no place for a log, with what to do.
    pub(crate) fn at(path: &Path, destroy: Option<&Path>) -> Result<TargetPlace, Failure> {
        if raw::is_block_device(path) {
            return device(path, destroy);
        }
        let directory = directory(path)?;
        match destroy {
            None => Directory::open(&directory)
                .map(TargetPlace::Directory)
                .map_err(Failure::system(directory.display().to_string())),
            Some(named) => Err(Failure::Unusable(format!(
                "--destroy {}: {} is a directory, in which nothing is destroyed; --destroy repeats \
                 the path of a raw block device",
                named.display(),
                path.display()
            ))),
        }
    }

    /// The path, for messages and results.
    pub(crate) fn path(&self) -> &Path {
        match self {
            TargetPlace::Directory(held) => held.path(),
            TargetPlace::Device(look, _) => look.typed(),
        }
    }

    /// The kind of target in results.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            TargetPlace::Directory(_) => "file",
            TargetPlace::Device(..) => "raw_device",
        }
    }

    /// Whether it is a raw device.
    pub(crate) fn is_device(&self) -> bool {
        matches!(self, TargetPlace::Device(..))
    }

    /// The stack below it.
    ///
    /// # Errors
    /// A file system that is read-only, or that does not answer.
    pub(crate) fn stack(&self) -> Result<Stack, Failure> {
        match self {
            TargetPlace::Directory(held) => {
                let path = held.path();
                if device::identify::volume(path)?.read_only {
                    return Err(Failure::Unusable(format!(
                        "{}: the file system is mounted read-only; a redo log cannot be written \
                         here",
                        path.display()
                    )));
                }
                Ok(device::identify::stack_of(path)?)
            }
            TargetPlace::Device(look, _) => Ok(look.stack().clone()),
        }
    }

    /// The room for a log, now.
    pub(crate) fn room(&self) -> std::io::Result<Room> {
        match self {
            TargetPlace::Directory(held) => VolumeRoom::of(held).map(Room::Volume),
            TargetPlace::Device(look, _) => Ok(Room::Device(look.bytes())),
        }
    }

    /// What will be lost, to be said before anything else.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            TargetPlace::Directory(_) => None,
            TargetPlace::Device(look, _) => {
                let resolved = if look.path() == look.typed() {
                    String::new()
                } else {
                    format!(" ({})", look.path().display())
                };
                Some(sanitize::line(&format!(
                    "Will overwrite the raw device {}{resolved}, as --destroy confirms: {}.",
                    look.typed().display(),
                    look.inventory()
                )))
            }
        }
    }

    /// The place to write to: a folder of redolab's own (folders that killed processes left are
    /// removed), or the device, held from now on.
    ///
    /// # Errors
    /// No folder can be made, or the device is not what it was.
    pub(crate) fn site(&self, console: &dyn Console) -> Result<Site, Failure> {
        match self {
            TargetPlace::Directory(held) => Ok(Site::Folder(folder(held, console)?)),
            TargetPlace::Device(look, consent) => {
                let cleared = look.hold()?.clear(consent)?;
                Ok(Site::Device(Box::new(cleared)))
            }
        }
    }

    /// Has the file system write what is in its caches, if there is one.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn settle(&self, console: &dyn Console) -> Result<(), Failure> {
        match self {
            TargetPlace::Directory(held) => settle(held, console),
            TargetPlace::Device(..) => Ok(()),
        }
    }

    /// What stays behind on purpose, to be said at the end.
    pub(crate) fn say_what_stays(&self, console: &dyn Console, has_log: bool) {
        if let TargetPlace::Device(look, _) = self {
            let path = sanitize::line(&look.typed().display().to_string());
            console.say(&if has_log {
                format!(
                    "The redo log stays on {path} (redolab inspect {path}); another run there needs \
                     --destroy again."
                )
            } else {
                format!(
                    "The old content of {path} is gone, and there is no log on it; another run there \
                     needs --destroy again."
                )
            });
        }
    }
}

fn device(path: &Path, destroy: Option<&Path>) -> Result<TargetPlace, Failure> {
    match consented(path, destroy) {
        Ok((look, consent)) => Ok(TargetPlace::Device(Box::new(look), Box::new(consent))),
        Err(NoConsent::Refused(why)) => Err(Failure::Unusable(why)),
        Err(NoConsent::Device(error)) => Err(error.into()),
    }
}

/// The directory that a target path names.
///
/// # Errors
/// Missing, no directory, or not writable: each with what to do.
pub(crate) fn directory(path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let found = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => Failure::Unusable(format!(
            "{shown}: does not exist; name an existing directory or raw block device"
        )),
        _ => Failure::Unusable(format!("{shown}: {e}")),
    })?;
    if !found.is_dir() {
        return Err(Failure::Unusable(format!(
            "{shown}: is not a directory, and no block device; name the directory in which log \
             files may be made"
        )));
    }
    path.canonicalize()
        .map_err(|e| Failure::Unusable(format!("{shown}: {e}")))
}

fn folder(directory: &Directory, console: &dyn Console) -> Result<WorkFolder, Failure> {
    let path = directory.path().display();
    match cleanup::sweep_in(directory) {
        Ok(swept) if !swept.is_empty() => {
            let folders = match swept.len() {
                1 => "1 folder that a killed run had left".to_owned(),
                n => format!("{n} folders that killed runs had left"),
            };
            console.say(&format!("Removed {folders}."));
        }
        Ok(_) => {}
        Err(e) => console.say(&format!("{path}: {e}")),
    }
    settle(directory, console)?;
    WorkFolder::create_in(directory).map_err(Failure::system(format!(
        "{path}: no directory can be made here"
    )))
}

/// Has the file system write what earlier work left in its caches (a build, a copy), so that it is
/// not written while something is measured.
fn settle(directory: &Directory, console: &dyn Console) -> Result<(), Failure> {
    let phase = ConsolePhase::begin(console, "writing back what earlier work left", 0);
    let what = format!(
        "{}: writing back what earlier work left",
        directory.path().display()
    );
    rustix::fs::syncfs(directory).map_err(|e| Failure::system(what)(e.into()))?;
    phase.done("done");
    Ok(())
}
