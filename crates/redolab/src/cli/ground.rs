//! What a target path names: a directory in which log files are made, or a raw block device; and
//! the questions that are asked of each before anything is written there.
//!
//! Invariants: nothing is written here. A raw device has passed every refusal, and its owner has
//! repeated its path, before it becomes a ground; it is held when it becomes a site.

use super::CommandError;
use super::common::{OutputArgs, SafetyArgs, directory};
use crate::cleanup::{self, WorkFolder};
use crate::experiment::Failure;
use crate::experiment::site::Site;
use crate::output::sanitize;
use crate::safety::{Room, Volume};
use device::DeviceError;
use device::file::Directory;
use device::raw::{self, Consent};
use measure::stack::Stack;
use std::path::Path;

/// What a target path names.
pub(crate) enum Ground {
    /// A directory, held open from now on.
    Directory(Directory),
    /// A raw device that may be overwritten.
    Device(Box<raw::Look>, Box<Consent>),
}

impl Ground {
    /// Looks at `path`.
    pub(crate) fn at(path: &Path, safety: &SafetyArgs) -> Result<Ground, CommandError> {
        if raw::is_block_device(path) {
            return device(path, safety.destroy.as_deref());
        }
        let directory = directory(path)?;
        match &safety.destroy {
            None => Directory::open(&directory)
                .map(Ground::Directory)
                .map_err(|e| CommandError::failed(format!("{}: {e}", directory.display()))),
            Some(named) => Err(CommandError::usage(format!(
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
            Ground::Directory(held) => held.path(),
            Ground::Device(look, _) => look.typed(),
        }
    }

    /// The kind of target in results.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Ground::Directory(_) => "file",
            Ground::Device(..) => "raw_device",
        }
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self, Ground::Device(..))
    }

    /// The stack below it, and refusals that follow from it.
    pub(crate) fn stack(&self) -> Result<Stack, CommandError> {
        let failed = |e: DeviceError| CommandError::failed(e.to_string());
        match self {
            Ground::Directory(held) => {
                let path = held.path();
                if device::identify::volume(path).map_err(failed)?.read_only {
                    return Err(CommandError::usage(format!(
                        "{}: the file system is mounted read-only; a redo log cannot be written \
                         here",
                        path.display()
                    )));
                }
                device::identify::stack_of(path).map_err(failed)
            }
            Ground::Device(look, _) => Ok(look.stack().clone()),
        }
    }

    /// The room for a log, now.
    pub(crate) fn room(&self) -> std::io::Result<Room> {
        match self {
            Ground::Directory(held) => Volume::of(held).map(Room::Volume),
            Ground::Device(look, _) => Ok(Room::Device(look.bytes())),
        }
    }

    /// What will be lost, to be said before anything else.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            Ground::Directory(_) => None,
            Ground::Device(look, _) => {
                let resolved = if look.path() == look.typed() {
                    String::new()
                } else {
                    format!(" ({})", look.path().display())
                };
                Some(sanitize::line(&format!(
                    "Will overwrite the raw device {}{resolved}, as --destroy says: {}.",
                    look.typed().display(),
                    look.inventory()
                )))
            }
        }
    }

    /// The place to write to: a folder of redolab's own (folders that killed processes left are
    /// removed), or the device, held from now on.
    pub(crate) fn site(&self, output: &OutputArgs) -> Result<Site, Failure> {
        match self {
            Ground::Directory(held) => Ok(Site::Folder(folder(held, output)?)),
            Ground::Device(look, consent) => {
                let cleared = look.hold()?.clear(consent)?;
                Ok(Site::Device(Box::new(cleared)))
            }
        }
    }

    /// What stays behind on purpose, to be said at the end.
    pub(crate) fn say_what_stays(&self, output: &OutputArgs, has_log: bool) {
        if let Ground::Device(look, _) = self {
            let path = sanitize::line(&look.typed().display().to_string());
            output.say(&if has_log {
                format!(
                    "The redo log stays on {path} (redolab inspect {path}); another run there needs \
                     --destroy again."
                )
            } else {
                format!(
                    "What stood on {path} is gone, and no log stands there; another run there needs \
                     --destroy again."
                )
            });
        }
    }
}

fn device(path: &Path, destroy: Option<&Path>) -> Result<Ground, CommandError> {
    let look = raw::Look::at(path).map_err(|e| match e {
        DeviceError::Refused(_) => CommandError::usage(e.to_string()),
        other => CommandError::failed(other.to_string()),
    })?;
    // In use comes first: no repetition of a path helps there.
    let consent = look.check().and_then(|()| look.consent(destroy));
    let consent = consent.map_err(|refused| CommandError::usage(refused.to_string()))?;
    Ok(Ground::Device(Box::new(look), Box::new(consent)))
}

fn folder(directory: &Directory, output: &OutputArgs) -> Result<WorkFolder, Failure> {
    let path = directory.path().display();
    match cleanup::sweep_in(directory) {
        Ok(swept) if !swept.is_empty() => {
            let folders = match swept.len() {
                1 => "1 folder that a killed run had left".to_owned(),
                n => format!("{n} folders that killed runs had left"),
            };
            output.say(&format!("Removed {folders}."));
        }
        Ok(_) => {}
        Err(e) => output.say(&format!("{path}: {e}")),
    }
    settle(directory, output)?;
    WorkFolder::create_in(directory).map_err(Failure::system(format!(
        "{path}: no directory can be made here"
    )))
}

/// Has the file system write what earlier work left in its caches (a build, a copy), so that it is
/// not written while something is measured.
fn settle(directory: &Directory, output: &OutputArgs) -> Result<(), Failure> {
    let phase = output
        .progress()
        .phase("writing back what earlier work left", 0);
    let what = format!(
        "{}: writing back what earlier work left",
        directory.path().display()
    );
    rustix::fs::syncfs(directory).map_err(|e| Failure::system(what)(e.into()))?;
    phase.done("done");
    Ok(())
}
