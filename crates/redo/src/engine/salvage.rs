//! Giving up redo behind damage, wherever the log lies.
//!
//! Invariant: a log in files or on a raw device is locked before it is read and until the new
//! incarnation is durable, so that no write of a living owner, or of one that was killed a moment
//! ago, can still be under way.

use super::builder::{Layout, LogBuilder};
use super::create::hold;
use super::headers::{open_control, open_logs};
use super::member_layout::{MemberLayout, refuse_other_kind};
use super::members::{Places, with_reasons};
use super::open::{draw_life, require_log};
use super::options::{Options, Paths};
use super::{Log, raw, stripe};
use crate::control::ControlFile;
use crate::error::Error;
use crate::members::Assembly;
use crate::planted::Planted;
use crate::rba::Rba;
use crate::recovery::{Salvage, salvage};
use device::file::{Directory, SyncMethod, lock_exclusive_at};
use device::{LogDevice, raw::HeldRawDevice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl<'a> LogBuilder<'a> {
    /// Gives up the redo of a damaged log from the block at `at` on, which must be the position
    /// that [`Error::Corrupt`] names when the log is opened. Records before it are kept, all
    /// behind it are lost for good, also those that can still be read: **acknowledged commits are
    /// lost**. Returns the builder, which can open the log, and what was given up.
    ///
    /// Of a log with members, what one of the members in sync has is kept, and the redo behind the
    /// first block that none of them has is lost on all of them. A member in sync that is missing
    /// may have that block: without
    /// [`MemberLayout::accept_loss`](super::MemberLayout::accept_loss) that is refused.
    ///
    /// Copy the log before, and print what is returned: nobody can find out later.
    ///
    /// # Errors
    /// [`Error::Salvage`] for a log that is not damaged, or not at this position; a log in use;
    /// what recovery refuses for other reasons (control information that is older than the log,
    /// blocks of two copies, records that contradict their blocks); a device that fails.
    pub fn salvage(self, at: Rba) -> Result<(LogBuilder<'a>, Salvage), Error> {
        let given_up = match &self.layout {
            Layout::Directory(path) => in_directory(&hold(path)?, at),
            Layout::OpenDirectory(held) => in_directory(held, at),
            Layout::Stripe { directories, .. } => {
                let (space, _locks) = stripe::open_space(directories)?;
                in_space(&space, directories[0].path(), at)
            }
            Layout::Device(held) => on_device(held, at),
            Layout::Cleared(device) => on_device(device.held(), at),
            Layout::Space { device, path } => in_space(device, path, at),
            Layout::Members(layout) if layout.ring.is_some() => Log::salvage_ring(layout, at),
            Layout::Members(layout) => on_members(layout, at),
            Layout::Devices { data, control } => {
                let path = Path::new(Paths::CONTROL);
                let mut control = ControlFile::load(Arc::clone(control), path)?;
                salvage(data, &mut control, path, at, draw_life(path)?)
            }
        };
        Ok((self, given_up?))
    }
}

fn in_directory(directory: &Directory, at: Rba) -> Result<Salvage, Error> {
    let path = directory.path();
    let entry = directory.entry(Paths::CONTROL)?;
    require_log(directory)?;
    let _lock = lock_exclusive_at(&entry)?;
    directory.sync()?;
    let mut control = open_control(&entry)?;
    let data = open_logs(directory, control.info(), SyncMethod::Buffered)?;
    let data: Arc<dyn LogDevice> = Arc::new(data);
    salvage(&data, &mut control, path, at, draw_life(path)?)
}

/// A raw device is held exclusively as long as `held` is there.
fn on_device(held: &HeldRawDevice, at: Rba) -> Result<Salvage, Error> {
    let space: Arc<dyn LogDevice> = Arc::new(held.space(SyncMethod::Direct)?);
    in_space(&space, held.look().path(), at)
}

fn in_space(space: &Arc<dyn LogDevice>, path: &Path, at: Rba) -> Result<Salvage, Error> {
    let mut control = ControlFile::load(raw::control_window(space, path)?, path)?;
    let data = raw::open_groups(space, control.info(), path)?;
    salvage(&data, &mut control, path, at, draw_life(path)?)
}

/// Redo that no member in sync has.
fn on_members(layout: &MemberLayout, at: Rba) -> Result<Salvage, Error> {
    let table = layout.table()?;
    layout.refuse_shared_disks()?;
    // Every file system takes it.
    let (mut options, method) = (Options::default(), SyncMethod::Buffered);
    let times = (options.member_patience, options.clock_of_members());
    let found = Places::open(layout, method, &times)?;
    let (mut given, mut locks) = (Vec::new(), Vec::new());
    for member in found.opened {
        given.push(member.given);
        locks.extend(member.lock);
    }
    let path = given.first().map_or(PathBuf::new(), |m| m.path.clone());
    let assembly = Assembly::with_lost(given, layout.accept_loss, &[], Planted::none());
    let assembly = assembly.map_err(|error| with_reasons(error, &found.unopened))?;
    refuse_other_kind(layout, table, assembly.info.members.unwrap_or(table))?;
    let given_up = assembly.salvage(at, draw_life(&path)?);
    drop(locks);
    given_up
}
