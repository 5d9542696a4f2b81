//! A log in several folders as one target: each of them holds all of it, or the second one a ring.

use super::{LoadTarget, Observers, Setup, asked_of, options, place_of};
use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use crate::experiment::plan::{MembersPlan, RingPlan};
use drivers::embedded::AskedOfRing;
use redo::engine::Paths;
use redo::{Log, MemberLayout};
use std::time::Duration;

/// Makes the files of a log with members in `folders` and opens them.
///
/// # Errors
/// Of making and opening; `cancel` gives [`Failure::Interrupted`].
pub(super) fn in_folders(
    folders: &[WorkFolder],
    members: MembersPlan,
    setup: Setup,
    progress: &dyn Fn(u64, u64),
    cancel: &dyn Fn() -> bool,
) -> Result<LoadTarget, Failure> {
    let mut asked = asked_of(&setup);
    let mut log_names = Paths::log_names(setup.log.shape.groups);
    log_names.extend([Paths::CONTROL, Paths::UNFINISHED].map(str::to_owned));
    let register = |folder: &WorkFolder, names: &[String]| {
        let registered = folder.register_all(names);
        registered.map_err(Failure::system("registering the log's files"))
    };
    let make: Box<dyn Fn() -> MemberLayout + '_> = match (members.ring, folders) {
        (None, _) => {
            asked.members = folders.iter().map(place_of).collect();
            folders
                .iter()
                .try_for_each(|folder| register(folder, &log_names))?;
            Box::new(move || {
                let directories = folders.iter().map(|folder| folder.directory().clone());
                MemberLayout::open_directories(directories, members.cell as usize)
            })
        }
        (Some(ring), [disk, beside]) => {
            asked.ring = Some(asked_of_ring(ring, disk, beside));
            register(disk, &log_names)?;
            register(beside, &[Paths::RING.to_owned()])?;
            Box::new(move || ring_layout(ring, disk, beside))
        }
        (Some(_), _) => {
            let what = "a log with a ring has two directories: one of the disk, one of the ring";
            return Err(Failure::Unusable(what.to_owned()));
        }
    };
    // Whether they are on one device was asked before anything was made.
    let layout = || make().force_same_device(true);
    let builder = Log::builder(layout()).shape(setup.log.shape);
    match builder.progress(progress).cancel(cancel).create() {
        Err(_) if cancel() => return Err(Failure::Interrupted),
        made => drop(made?),
    }
    let observers = Observers::new(&setup);
    let is_ring = members.ring.is_some();
    observers.meter.set_copies(setup.log.copies(), is_ring);
    let ways = options(&setup, &observers);
    let outlier = Duration::from_nanos(setup.log.log_write_warning.0);
    let (log, _) = Log::builder(layout())
        .options(ways.outlier(outlier))
        .open()?;
    drop(make);
    if is_ring && log.ring().is_none() {
        // What is measured would be the disk alone.
        let why = log.back_end().fallbacks.join("; ");
        return Err(Failure::Unusable(format!(
            "--members: {why}; name a directory that the ring can be in, or a --sync-method that \
             both file systems accept (buffered)"
        )));
    }
    LoadTarget::start(log, observers, asked, &setup)
}

fn asked_of_ring(ring: RingPlan, disk: &WorkFolder, beside: &WorkFolder) -> AskedOfRing {
    AskedOfRing {
        disk_directory: place_of(disk),
        directory: place_of(beside),
        delay: ring.failover_delay,
        ring_bytes: ring.bytes,
    }
}

fn ring_layout(ring: RingPlan, disk: &WorkFolder, beside: &WorkFolder) -> MemberLayout {
    let delay = ring.failover_delay;
    let delay = delay.map(|delay| Duration::from_nanos(delay.0));
    let (disk, beside) = (disk.directory().clone(), beside.directory().clone());
    MemberLayout::ring_in_open_directories(disk, beside, ring.bytes, delay)
}
