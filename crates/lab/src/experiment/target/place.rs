//! What a target path names: a directory in which log files are made, or a raw block device; and
//! the questions that are asked of one before anything is written there. Those that concern
//! several are in `identified`.
//!
//! Invariants: nothing is written here before a [`Site`] is made. A raw device has passed every
//! refusal, and its owner has repeated its path, before it becomes a place; it is held when it
//! becomes a site.

use super::site::Site;
use super::storage::Storage;
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

/// A place for a log that was looked at: a directory, several of them, or a raw device.
pub(crate) struct LogPlace {
    pub(super) named: Named,
    /// What is below it, and below its further directories.
    pub(crate) storage: Storage,
    pub(super) room: Room,
    /// Further directories of the same place.
    pub(super) more: Vec<LogPlace>,
}

/// What a target path names.
pub(super) enum Named {
    /// A directory, held open from now on.
    Directory(Directory),
    /// A raw device that may be overwritten.
    Device(Box<raw::RawDevice>, Box<Consent>),
}

impl Named {
    /// Looks at `path`; `destroy` is the path of a raw device that may be overwritten.
    fn at(path: &Path, destroy: Option<&Path>) -> Result<Named, Failure> {
        if raw::is_block_device(path) {
            return device(path, destroy);
        }
        let directory = directory(path)?;
        match destroy {
            None => Directory::open(&directory)
                .map(Named::Directory)
                .map_err(Failure::system(directory.display().to_string())),
            Some(named) => Err(Failure::Unusable(format!(
                "--destroy {}: {} is a directory, in which nothing is destroyed; --destroy repeats \
                 the path of a raw block device",
                named.display(),
                path.display()
            ))),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Named::Directory(held) => held.path(),
            Named::Device(look, _) => look.typed(),
        }
    }

    /// The stack below it.
    ///
    /// # Errors
    /// A file system that is read-only, or that does not answer.
    pub(super) fn stack(&self) -> Result<Stack, Failure> {
        match self {
            Named::Directory(held) => {
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
            Named::Device(look, _) => Ok(look.stack().clone()),
        }
    }

    fn room(&self) -> std::io::Result<Room> {
        match self {
            Named::Directory(held) => VolumeRoom::of(held).map(Room::Volume),
            Named::Device(look, _) => Ok(Room::Device(look.bytes())),
        }
    }
}

impl LogPlace {
    /// Identifies what `path` names and what is below it; `destroy` is the path of a raw device
    /// that may be overwritten.
    ///
    /// # Errors
    /// Whatever makes it no place for a log, with what to do.
    pub(crate) fn at(path: &Path, destroy: Option<&Path>) -> Result<LogPlace, Failure> {
        let named = Named::at(path, destroy)?;
        let storage = Storage::of(named.stack()?);
        let failed = |e| Failure::Unusable(format!("{}: {e}", path.display()));
        Ok(LogPlace {
            room: named.room().map_err(failed)?,
            named,
            storage,
            more: Vec::new(),
        })
    }

    /// The path, for messages and results.
    pub(crate) fn path(&self) -> &Path {
        self.named.path()
    }

    /// The room for a log, now.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn room_now(&self) -> std::io::Result<Room> {
        self.named.room()
    }

    /// The kind of target in results.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.named {
            Named::Directory(_) => "file",
            Named::Device(..) => "raw_device",
        }
    }

    /// Whether it is a raw device.
    pub(crate) fn is_device(&self) -> bool {
        matches!(self.named, Named::Device(..))
    }

    /// What will be lost, to be said before anything else.
    pub(super) fn warning(&self) -> Option<String> {
        match &self.named {
            Named::Directory(_) => None,
            Named::Device(look, _) => {
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
    pub(super) fn site_of_one(&self, console: &dyn Console) -> Result<Site, Failure> {
        match &self.named {
            Named::Directory(held) => Ok(Site::Folders(vec![folder(held, console)?])),
            Named::Device(look, consent) => {
                let cleared = look.hold()?.clear(consent)?;
                Ok(Site::Device(Box::new(cleared)))
            }
        }
    }

    /// Has the file system write what is in its caches, if there is one.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn settle_one(&self, console: &dyn Console) -> Result<(), Failure> {
        match &self.named {
            Named::Directory(held) => settle(held, console),
            Named::Device(..) => Ok(()),
        }
    }

    /// What stays behind on purpose, to be said at the end.
    pub(crate) fn say_what_stays(&self, console: &dyn Console, has_log: bool) {
        if let Named::Device(look, _) = &self.named {
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

fn device(path: &Path, destroy: Option<&Path>) -> Result<Named, Failure> {
    match consented(path, destroy) {
        Ok((look, consent)) => Ok(Named::Device(Box::new(look), Box::new(consent))),
        Err(NoConsent::Refused(why)) => Err(Failure::Unusable(why)),
        Err(NoConsent::Device(error)) => Err(error.into()),
    }
}

/// The directory that a target path names.
///
/// # Errors
/// Missing, no directory, or not writable: each with what to do.
fn directory(path: &Path) -> Result<PathBuf, Failure> {
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
