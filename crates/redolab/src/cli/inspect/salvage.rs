//! Giving up the redo behind damage, for those who accept the loss.
//!
//! Invariants: only [`give_up`] changes a log, and it needs the RBA of the damage. A user who has
//! not looked at the damage does not know the RBA, and a log that is damaged elsewhere is refused.
//! What was given up is printed at once, before anything else can fail.

use crate::cli::{CommandError, FAILED, USAGE};
use crate::inspection::{InspectedLog, InspectedMembers};
use crate::output::lines::tell;
use device::DeviceError;
use device::raw::{RawDevice, is_block_device};
use measure::words::sanitize;
use redo::engine::{Inspection, MembersInspection};
use redo::{Error, Layout, Log, Rba, Salvage};
use std::path::{Path, PathBuf};

/// What giving up would keep and lose. Changes nothing.
pub(super) fn foresee(directory: &Path, found: &InspectedLog) -> Result<Salvage, CommandError> {
    let path = directory.display().to_string();
    refuse_open(&path, found.open_by_pid)?;
    let damage = Inspection::open(directory).and_then(|log| log.damage());
    damaged(&path, damage)
}

/// The same of a log with members, or with a ring, in these directories.
pub(super) fn foresee_members(
    directories: &[PathBuf],
    found: &InspectedMembers,
    accept_loss: bool,
) -> Result<Salvage, CommandError> {
    for member in &found.members {
        refuse_open(&member.path, member.open_by_pid)?;
    }
    let path = found.members.first().map_or("", |member| &member.path);
    let damage = match (&found.ring, found.damage, &found.refused) {
        (Some(_), None, Some(refused)) => return Err(CommandError::failed(refused.clone())),
        (Some(_), damage, _) => Ok(damage),
        (None, ..) => MembersInspection::damage(directories, accept_loss),
    };
    damaged(path, damage)
}

fn refuse_open(path: &str, open_by_pid: Option<u32>) -> Result<(), CommandError> {
    open_by_pid.map_or(Ok(()), |pid| {
        Err(CommandError::usage(format!(
            "{path}: in use by process {pid}: what looks like damage may be a write that is under \
             way; nothing was changed"
        )))
    })
}

fn damaged(path: &str, damage: Result<Option<Salvage>, Error>) -> Result<Salvage, CommandError> {
    damage.map_err(refused)?.ok_or_else(|| {
        CommandError::usage(format!(
            "{path}: the log is not damaged where recovery needs it: opening it loses nothing that \
             was acknowledged, so there is nothing to give up; nothing was changed"
        ))
    })
}

/// Gives up the redo from the damage at `at` on, and prints what was kept and lost.
pub(super) fn give_up(directory: &Path, at: Rba) -> Result<Salvage, CommandError> {
    let layout = if is_block_device(directory) {
        let held = RawDevice::at(directory).and_then(|look| look.hold());
        Layout::from(held.map_err(|e| refused(Error::Device(e)))?)
    } else {
        Layout::directory(directory)
    };
    give_up_in(layout, directory, at)
}

/// The same of the log in `layout`, of which `path` is a part.
pub(super) fn give_up_in(
    layout: impl Into<Layout>,
    path: &Path,
    at: Rba,
) -> Result<Salvage, CommandError> {
    let (_, given_up) = Log::builder(layout).salvage(at).map_err(refused)?;
    let path = path.display().to_string();
    tell(&format!("redolab: {}: {given_up}", sanitize::line(&path)));
    Ok(given_up)
}

/// The command's end where nothing is given up.
fn refused(error: Error) -> CommandError {
    let usage = matches!(
        error,
        Error::Salvage { .. }
            | Error::Device(
                DeviceError::InUse { .. } | DeviceError::Finishing { .. } | DeviceError::Refused(_)
            )
    );
    CommandError {
        code: if usage { USAGE } else { FAILED },
        message: error.to_string(),
    }
}
