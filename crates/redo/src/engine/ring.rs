//! A log with a ring: making its two places, opening them together, giving up redo behind damage.
//!
//! Invariants: the ring is locked as the disk is; it is made before the disk's control file has its
//! name, and removed when that fails; what is removed of an interrupted creation was never used.
//! Control information is written when the disk has everything that was acknowledged before.
//!
//! What it must not know: what of the ring counts (`crate::members::ring`).

use super::back_end::BackEnd;
use super::create::{Progress, hold};
use super::headers::fresh_id;
use super::member_layout::{MemberLayout, MemberPlace, RingPlace};
use super::members::{OpenedMember, is_absence, one_batch_at_a_time, open_member};
use super::open::draw_life;
use super::options::{Options, Paths, Shape};
use super::{HeldLog, Log};
use crate::control::{Carrier, ControlFile, ControlInfo, RingTable};
use crate::error::Error;
use crate::format::{LifeId, LogId};
use crate::members::MemberCarrier;
use crate::members::ring::{
    Announcement, GivenRing, OpenedRing, Patience, RING_DATA_AT, RingAssembly, RingDevice,
    RingState, announce, is_unused,
};
use crate::planted::Planted;
use crate::rba::Rba;
use crate::recovery::{Recovery, Salvage, salvage};
use device::file::{
    CreatedFile, Directory, LockGuard, SyncMethod, create_prewritten_at, lock_exclusive_at,
};
use device::{DeviceError, FileSet, LogDevice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a ring file begins with until it is announced.
const HEAD: &[u8] = b"redolab: a ring in the making\n";

/// The ring of an open log.
pub(super) struct HeldRing {
    device: Arc<RingDevice>,
    /// Its file, where it is one.
    file: Option<FileSet>,
}

impl Log {
    pub(super) fn create_ring(
        layout: &MemberLayout,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let ring = layout.checked_ring()?;
        layout.refuse_shared_disks()?;
        let table = RingTable::new(ring.kind());
        let (place, path) = (&layout.places[0], Path::new(Paths::CONTROL));
        let held = match place {
            MemberPlace::Directory(path) => hold(path)?,
            MemberPlace::OpenDirectory(held) => held.clone(),
            MemberPlace::Devices { data, control } => {
                let geometry = shape.geometry(&data.caps(), path)?;
                let info = ControlInfo::new(fresh_id(path), geometry).with_ring(table);
                if let RingPlace::Device(device) = &ring.place {
                    announce_new(Arc::clone(device), path, info.log_id)?;
                }
                return ControlFile::create(Arc::clone(control), path, info).map(drop);
            }
        };
        let make = |log_id| match &ring.place {
            RingPlace::Directory(path) => {
                make_file(&hold(path)?, ring.bytes, log_id, cancel).map(Some)
            }
            RingPlace::OpenDirectory(held) => make_file(held, ring.bytes, log_id, cancel).map(Some),
            RingPlace::Device(device) => {
                announce_new(Arc::clone(device), path, log_id).map(|()| None)
            }
        };
        Log::create_with_ring_at(&held, table, shape, (progress, cancel), make)
    }

    pub(super) fn open_ring(
        layout: &MemberLayout,
        mut options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let mut notes = one_batch_at_a_time(&mut options);
        let Together {
            life,
            path,
            mut control,
            opened,
            locks,
            files,
            ring_file,
            ring_path,
        } = Together::open(layout, &options)?;
        notes.extend(opened.notes);
        if let Some(ring) = &opened.ring {
            let times = (options.member_patience, options.clock_of_members());
            ring.standing.set_clock(Arc::clone(&times.1));
            ring.standing.set_member_patience(times.0);
            let disk_lock = files.as_ref().and(locks.first()).cloned();
            let carrier = MemberCarrier::start(0, disk_lock, times).map_err(Error::Thread)?;
            carrier.join_ring(&ring.standing);
            let carrier: Arc<dyn Carrier> = Arc::new(carrier);
            control.carried_by(0, &carrier);
            // What proves damage may lie further behind it, by what the ring held.
            let geometry = &control.info().geometry;
            let buffer = options.ring_blocks(geometry)? * u64::from(geometry.block_bytes);
            let bytes = buffer + ring.standing.ring_bytes;
            options.damage_scan = options.damage_scan.at_least(bytes);
        }
        let method = options.sync_method;
        let device = opened.device;
        let started = Log::start_life(life, device, control, &path, options, locks);
        let (mut log, recovery) = started?;
        log.keep_files(files.into_iter().collect());
        if let Some(device) = opened.ring {
            log.view.keep_ring(&device.standing, ring_path);
            let file = ring_file;
            log.keep_ring(HeldRing { device, file });
        }
        log.say_first(BackEnd {
            sync_method: Some(method),
            fallbacks: notes,
            ..BackEnd::default()
        });
        Ok((log, recovery))
    }

    /// Gives up redo behind damage, when the disk has what the ring can give.
    pub(super) fn salvage_ring(layout: &MemberLayout, at: Rba) -> Result<Salvage, Error> {
        let mut both = Together::open(layout, &Options::default())?;
        let (device, path) = (&both.opened.device, &both.path);
        salvage(device, &mut both.control, path, at, both.life)
    }

    fn keep_ring(&self, ring: HeldRing) {
        if let Some(held) = self.held.lock().expect("nobody else has it yet").as_mut() {
            held.ring = Some(ring);
        }
    }

    /// How the ring is; `None` where the log has none, goes on without it, or is closed.
    #[must_use]
    pub fn ring(&self) -> Option<RingState> {
        self.view.ring()
    }
}

impl HeldLog {
    /// Before control information is written: waits until the disk has what was acknowledged. Once
    /// the log is closed a disk that hangs is given up.
    /// Returns whether it may do without its ring from then on: the ring was given up.
    pub(super) fn ring_catches_up(&self) -> Result<bool, Error> {
        let Some(ring) = &self.ring else {
            return Ok(false);
        };
        if ring
            .file
            .as_ref()
            .is_some_and(|set| set.still_there().is_err())
        {
            // What is written there is lost with this process.
            ring.device.standing.condemn();
        }
        let failed = ring.device.standing.has_failed();
        let caught_up = ring.device.catch_up();
        caught_up.map_err(|source| Error::control(self.control.path(), source))?;
        Ok(failed)
    }
}

/// A disk that has what its ring gives it, and the ring, held by their locks: no life has begun.
struct Together {
    /// The life that is to begin; the ring is announced for it.
    life: LifeId,
    path: PathBuf,
    control: ControlFile,
    opened: OpenedRing,
    locks: Vec<LockGuard>,
    files: Option<FileSet>,
    ring_file: Option<FileSet>,
    ring_path: PathBuf,
}

impl Together {
    fn open(layout: &MemberLayout, options: &Options) -> Result<Together, Error> {
        let ring = layout.checked_ring()?;
        layout.refuse_shared_disks()?;
        let OpenedMember { given, files, lock } =
            open_member(&layout.places[0], options.sync_method)?;
        let mut control = given.file;
        let mut locks: Vec<LockGuard> = lock.into_iter().collect();
        let found = give_ring(&ring.place, options, &mut locks)?;
        let (given_ring, ring_file, ring_path) = found;
        let path = given.path;
        let life = draw_life(&path)?;
        let assembly = RingAssembly {
            disk: given.data,
            path: path.clone(),
            ring: given_ring,
            kind: ring.kind(),
            life,
            patience: Patience::Clock(ring.delay.unwrap_or_default()),
            accept_loss: layout.accept_loss,
            planted: options.planted,
        };
        let opened = assembly.open(&mut control)?;
        Ok(Together {
            life,
            path,
            control,
            opened,
            locks,
            files,
            ring_file,
            ring_path,
        })
    }
}

/// The ring of a place, or why it is not there; its file and its path.
type Found = (Result<GivenRing, String>, Option<FileSet>, PathBuf);

fn give_ring(
    place: &RingPlace,
    options: &Options,
    locks: &mut Vec<LockGuard>,
) -> Result<Found, Error> {
    let method = options.sync_method;
    let (path, opened) = match place {
        RingPlace::Device(device) => {
            let path = PathBuf::from(Paths::RING);
            let given = GivenRing {
                path: path.clone(),
                device: Arc::clone(device),
            };
            return Ok((Ok(given), None, path));
        }
        RingPlace::Directory(path) => {
            let held = hold(path);
            (path.clone(), held.and_then(|held| open_file(&held, method)))
        }
        RingPlace::OpenDirectory(held) => (held.path().to_owned(), open_file(held, method)),
    };
    match opened {
        Ok((set, lock)) => {
            locks.push(lock);
            let given = GivenRing {
                path: path.clone(),
                device: Arc::new(set.clone()),
            };
            Ok((Ok(given), Some(set), path))
        }
        Err(error) if is_absence(&error) => Ok((Err(error.to_string()), None, path)),
        Err(error) => Err(error),
    }
}

fn open_file(directory: &Directory, method: SyncMethod) -> Result<(FileSet, LockGuard), Error> {
    let at = directory.entry(Paths::RING)?;
    let lock = lock_exclusive_at(&at)?;
    let bytes = at.file_bytes().map_err(|source| DeviceError::Io {
        path: at.path().to_owned(),
        action: "no ring here",
        source,
    })?;
    let set = FileSet::open_at(directory, &[Paths::RING], bytes.unwrap_or(0), method)?;
    Ok((set.under_lock(&lock), lock))
}

/// Makes the file of a ring, durably.
fn make_file(
    directory: &Directory,
    bytes: u64,
    log_id: LogId,
    cancel: &dyn Fn() -> bool,
) -> Result<CreatedFile, Error> {
    let at = directory.entry(Paths::RING)?;
    if at.exists()? {
        remove_unused(&at)?;
    }
    let seed = u64::from_le_bytes(*log_id.0.first_chunk().expect("sixteen bytes"));
    let all = RING_DATA_AT + bytes;
    let made = create_prewritten_at(&at, all, HEAD, seed, &|_| {}, cancel)?;
    let set = FileSet::open_at(directory, &[Paths::RING], all, SyncMethod::Buffered)?;
    announce_new(Arc::new(set), at.path(), log_id)?;
    directory.sync()?;
    Ok(made)
}

/// Removes a ring that no log has used: its creation was interrupted.
fn remove_unused(at: &device::file::DirectoryEntry) -> Result<(), Error> {
    let lock = lock_exclusive_at(at)?;
    let mut head = vec![0; RING_DATA_AT as usize];
    let in_the_making = lock.is_empty() || lock.begins_with(HEAD);
    let unused = in_the_making || lock.read_head(&mut head) && is_unused(&head);
    if !unused {
        return Err(Error::InTheWay {
            path: at.path().to_owned(),
        });
    }
    Ok(lock.remove(at)?)
}

fn announce_new(device: Arc<dyn LogDevice>, path: &Path, log_id: LogId) -> Result<(), Error> {
    let bytes = device.bytes().saturating_sub(RING_DATA_AT);
    let path = path.to_owned();
    let given = GivenRing { path, device };
    announce(
        &given,
        &Announcement::of_new(log_id, bytes),
        Planted::none(),
    )
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use super::*;
    use device::Region;

    /// Such a queue is left behind with a device that hangs. Members are opened as the disk is.
    #[test]
    fn a_queue_of_a_disk_or_a_ring_keeps_its_lock() {
        let at = std::env::temp_dir().join(format!("redo-locks-{}", std::process::id()));
        let [disk, ring] = ["disk", "ring"].map(|name| at.join(name));
        for directory in [&disk, &ring] {
            std::fs::create_dir_all(directory).expect("a directory");
        }
        let shape = Shape::new().block_bytes(Some(4096)).file_bytes(512 << 10);
        let layout = MemberLayout::ring(&disk, &ring, 1 << 20).force_same_device(true);
        let made = Log::builder(layout).shape(shape).create();
        made.expect("a new log");
        let method = SyncMethod::Buffered;
        let open_disk = || open_member(&MemberPlace::Directory(disk.clone()), method);
        let open_ring = || hold(&ring).and_then(|held| open_file(&held, method));
        let region = || Arc::new(Region::new(4096).expect("memory"));

        let queue = open_disk().expect("a disk").given.data.queue(region());
        assert!(open_disk().is_err() && open_ring().is_ok());
        drop(queue.expect("a queue"));
        assert!(open_disk().is_ok());

        let queue = open_ring().expect("a ring").0.queue(region());
        assert!(open_ring().is_err() && open_disk().is_ok());
        drop(queue.expect("a queue"));
        assert!(open_ring().is_ok());
        std::fs::remove_dir_all(&at).expect("removed");
    }
}
