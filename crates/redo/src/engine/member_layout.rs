//! Where the members of a log lie, and which places are no members.
//!
//! Invariant: a place that is given twice is refused, and two members on one disk unless the caller
//! insists, since they protect nothing.

use super::options::Paths;
use crate::control::{MemberTable, RingKind};
use crate::error::Error;
use crate::members::ring::RING_DATA_AT;
use device::LogDevice;
use device::file::Directory;
use device::identify::{Place, device_of};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where a member of a log lies.
#[derive(Clone)]
pub(super) enum MemberPlace {
    /// In files of the directory of this path.
    Directory(PathBuf),
    /// In files of a directory that is held open: its path may change hands.
    OpenDirectory(Directory),
    /// On two devices of models and tests.
    Devices {
        data: Arc<dyn LogDevice>,
        control: Arc<dyn LogDevice>,
    },
}

/// The places of a log that has members: each holds the whole log.
///
/// ```no_run
/// # fn main() -> Result<(), redo::Error> {
/// use redo::{Log, MemberLayout};
/// // Each commit is on both disks when it is acknowledged.
/// let both = MemberLayout::mirror(["/disk1/log", "/disk2/log"]);
/// let (log, recovery) = Log::builder(both).create()?.open()?;
/// # let _ = (log, recovery);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemberLayout {
    pub(super) places: Vec<MemberPlace>,
    /// Members of a cell, where all cells have as many.
    cell: Option<usize>,
    pub(super) accept_loss: bool,
    pub(super) replace_lost: bool,
    force_same_device: bool,
    /// The ring, of which the only place is the disk.
    pub(super) ring: Option<RingLayout>,
}

/// Where a ring lies.
#[derive(Clone)]
pub(super) enum RingPlace {
    /// In a file of the directory of this path.
    Directory(PathBuf),
    /// In a file of a directory that is held open: its path may change hands.
    OpenDirectory(Directory),
    /// On a device of models and tests.
    Device(Arc<dyn LogDevice>),
}

/// The ring of a log.
#[derive(Clone)]
pub(super) struct RingLayout {
    pub(super) place: RingPlace,
    /// Of a ring that is made.
    pub(super) bytes: u64,
    /// With failover, when the disk is late.
    pub(super) delay: Option<Duration>,
}

impl RingLayout {
    pub(super) fn kind(&self) -> RingKind {
        match self.delay {
            Some(_) => RingKind::Failover,
            None => RingKind::Ring,
        }
    }
}

/// The smallest ring, bytes.
pub const RING_MIN_BYTES: u64 = 64 << 10;
/// The longest delay of failover: an ill disk would be waited for as if it were well.
pub const FAILOVER_DELAY_MAX: Duration = Duration::from_secs(1);

/// Bytes of the file of a ring that holds `ring_bytes`.
#[must_use]
pub fn ring_file_bytes(ring_bytes: u64) -> u64 {
    RING_DATA_AT.saturating_add(ring_bytes)
}

impl MemberLayout {
    /// The log is in `directory`; `ring_directory` has a ring of `ring_bytes`, which holds what the
    /// disk does not have yet. A commit takes as long as the faster of the two takes. When the disk
    /// stalls, the ring goes on for as long as it has room; then the log waits for the disk.
    /// What only the ring has is lost with it
    /// ([`RingState::most_lag_bytes`](super::RingState::most_lag_bytes)). An existing ring has the
    /// size that it was made with.
    #[must_use]
    pub fn ring(
        directory: impl AsRef<Path>,
        ring_directory: impl AsRef<Path>,
        ring_bytes: u64,
    ) -> MemberLayout {
        let place = RingPlace::Directory(ring_directory.as_ref().to_owned());
        let disk = MemberPlace::Directory(directory.as_ref().to_owned());
        MemberLayout::of_ring(disk, place, ring_bytes, None)
    }

    /// As [`MemberLayout::ring`]; but nothing is written to the ring while the disk answers within
    /// `delay`, at most a second. When it does not, what it does not have is written there, for at
    /// most 5 % of the log writes (and 64 more).
    #[must_use]
    pub fn failover(
        directory: impl AsRef<Path>,
        ring_directory: impl AsRef<Path>,
        ring_bytes: u64,
        delay: Duration,
    ) -> MemberLayout {
        let place = RingPlace::Directory(ring_directory.as_ref().to_owned());
        let disk = MemberPlace::Directory(directory.as_ref().to_owned());
        MemberLayout::of_ring(disk, place, ring_bytes, Some(delay))
    }

    /// As [`MemberLayout::ring`], or with a delay as [`MemberLayout::failover`], in directories
    /// that are held open.
    #[must_use]
    pub fn ring_in_open_directories(
        disk: Directory,
        ring: Directory,
        ring_bytes: u64,
        delay: Option<Duration>,
    ) -> MemberLayout {
        let (disk, ring) = (
            MemberPlace::OpenDirectory(disk),
            RingPlace::OpenDirectory(ring),
        );
        MemberLayout::of_ring(disk, ring, ring_bytes, delay)
    }

    /// On devices of models and tests: the disk's redo and control information, and the ring, with
    /// failover when the disk does not answer within `delay`.
    #[must_use]
    pub fn ring_on_devices(
        (data, control): (Arc<dyn LogDevice>, Arc<dyn LogDevice>),
        ring: Arc<dyn LogDevice>,
        delay: Option<Duration>,
    ) -> MemberLayout {
        let bytes = ring.bytes().saturating_sub(RING_DATA_AT);
        let disk = MemberPlace::Devices { data, control };
        MemberLayout::of_ring(disk, RingPlace::Device(ring), bytes, delay)
    }

    fn of_ring(
        disk: MemberPlace,
        place: RingPlace,
        bytes: u64,
        delay: Option<Duration>,
    ) -> MemberLayout {
        MemberLayout {
            ring: Some(RingLayout {
                place,
                // Whole pages, which every device takes.
                bytes: bytes - bytes % 4096,
                delay,
            }),
            ..MemberLayout::of_places(vec![disk], 1)
        }
    }

    /// The ring, if there can be such a one.
    pub(super) fn checked_ring(&self) -> Result<&RingLayout, Error> {
        let ring = self.ring.as_ref().expect("a layout with a ring");
        let what = match ring.delay {
            Some(delay) if delay.is_zero() || delay > FAILOVER_DELAY_MAX => {
                format!("a delay of {delay:?}: failover takes up to {FAILOVER_DELAY_MAX:?}")
            }
            _ if ring.bytes < RING_MIN_BYTES => {
                format!("a ring of {} bytes: at least {RING_MIN_BYTES}", ring.bytes)
            }
            _ => return Ok(ring),
        };
        Err(refuse(self.first_path(), what))
    }

    /// Each of these directories has everything that was acknowledged: any of them suffices. A
    /// commit takes as long as the slowest takes.
    #[must_use]
    pub fn mirror<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> MemberLayout {
        MemberLayout::of(directories, 1)
    }

    /// A commit takes as long as the fastest of these directories takes. It hides stalls. It does
    /// not survive the loss of the one that was first: what the others have not made durable by
    /// then is lost ([`MemberState::window_bytes`](super::MemberState::window_bytes)).
    #[must_use]
    pub fn race<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> MemberLayout {
        let mut layout = MemberLayout::of(directories, 1);
        layout.cell = Some(layout.places.len());
        layout
    }

    /// Cells that mirror each other; the directories of a cell race. All cells have as many.
    #[must_use]
    pub fn mirror_of_races<P: AsRef<Path>>(
        cells: impl IntoIterator<Item = impl IntoIterator<Item = P>>,
    ) -> MemberLayout {
        let cells = cells
            .into_iter()
            .map(|cell| MemberLayout::of(cell, 1).places);
        let cells: Vec<Vec<MemberPlace>> = cells.collect();
        let size = cells.first().map_or(0, Vec::len);
        let alike = cells.iter().all(|cell| cell.len() == size);
        MemberLayout {
            cell: alike.then_some(size),
            ..MemberLayout::of_places(cells.concat(), 1)
        }
    }

    /// In directories that are held open, in cells of `cell`: 1 for a mirror, all for a race.
    #[must_use]
    pub fn open_directories(
        directories: impl IntoIterator<Item = Directory>,
        cell: usize,
    ) -> MemberLayout {
        let places = directories.into_iter().map(MemberPlace::OpenDirectory);
        MemberLayout::of_places(places.collect(), cell)
    }

    /// On devices of models and tests: the redo of each member and its control information, in
    /// cells of `cell`.
    #[must_use]
    pub fn devices(
        members: impl IntoIterator<Item = (Arc<dyn LogDevice>, Arc<dyn LogDevice>)>,
        cell: usize,
    ) -> MemberLayout {
        let place = |(data, control)| MemberPlace::Devices { data, control };
        MemberLayout::of_places(members.into_iter().map(place).collect(), cell)
    }

    fn of<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>, cell: usize) -> MemberLayout {
        let directories = directories.into_iter();
        let places = directories.map(|d| MemberPlace::Directory(d.as_ref().to_owned()));
        MemberLayout::of_places(places.collect(), cell)
    }

    fn of_places(places: Vec<MemberPlace>, cell: usize) -> MemberLayout {
        MemberLayout {
            places,
            cell: Some(cell),
            accept_loss: false,
            replace_lost: false,
            force_same_device: false,
            ring: None,
        }
    }

    /// Open also where a member that is not known to be stale is missing. What it alone has is lost
    /// then: what was committed while it was used without the others, which may have been given up
    /// while the log was in use, and in a race what it acknowledged before the others had it.
    #[must_use]
    pub fn accept_loss(mut self, accept: bool) -> MemberLayout {
        self.accept_loss = accept;
        self
    }

    /// Make a member that is lost anew in the empty directory that is given in its place: it gets
    /// a whole copy of the others, and is in sync when the log is open. The directory may contain
    /// `lost+found`, or what a member in the making left that was interrupted. The lost member is
    /// refused should it return.
    ///
    /// Where the others may lack what was acknowledged (the leader of a race is lost),
    /// [`accept_loss`](MemberLayout::accept_loss) is needed too. A member that cannot be made, for
    /// want of room for example, stays stale, and [`BackEnd::fallbacks`](super::BackEnd::fallbacks)
    /// contains why.
    #[must_use]
    pub fn replace_lost(mut self, replace: bool) -> MemberLayout {
        self.replace_lost = replace;
        self
    }

    /// Accept members on one disk, which protects nothing.
    #[must_use]
    pub fn force_same_device(mut self, force: bool) -> MemberLayout {
        self.force_same_device = force;
        self
    }

    pub(super) fn table(&self) -> Result<MemberTable, Error> {
        let count = self.places.len();
        let table = self.cell.and_then(|cell| MemberTable::new(count, cell));
        table.ok_or_else(|| {
            let what = match self.cell {
                Some(_) => format!("{count} members: a log has 2 to 16"),
                None => String::from("the cells of a mirror of races have different sizes"),
            };
            refuse(self.first_path(), what)
        })
    }

    pub(super) fn first_path(&self) -> &Path {
        self.places.first().map_or(Path::new(""), MemberPlace::path)
    }

    /// Refuses a directory that is given twice, and members of which one disk's loss takes two.
    pub(super) fn refuse_shared_disks(&self) -> Result<(), Error> {
        let ring = match self.ring.as_ref().map(|ring| &ring.place) {
            Some(RingPlace::Directory(path)) => Some(&**path),
            Some(RingPlace::OpenDirectory(held)) => Some(held.path()),
            Some(RingPlace::Device(_)) | None => None,
        };
        let directories = self.places.iter().filter_map(MemberPlace::directory);
        let directories = directories.chain(ring);
        let paths: Vec<&Path> = directories.collect();
        for (at, path) in paths.iter().enumerate() {
            let same = |other: &&&Path| match (path.canonicalize(), other.canonicalize()) {
                (Ok(path), Ok(other)) => path == other,
                _ => path == *other,
            };
            if let Some(other) = paths[..at].iter().find(same) {
                let what = format!("it is {}: give each member once", other.display());
                return Err(refuse(path, what));
            }
        }
        if self.force_same_device {
            return Ok(());
        }
        for (at, path) in paths.iter().enumerate() {
            for other in &paths[..at] {
                if let Some(shared) = shared_disk(path, other) {
                    let what = format!(
                        "it is on {shared}, as {} is: together they protect nothing; put them on \
                         different disks, or insist (--force-same-device)",
                        other.display()
                    );
                    return Err(refuse(path, what));
                }
            }
        }
        Ok(())
    }
}

impl MemberPlace {
    /// What errors name.
    pub(super) fn path(&self) -> &Path {
        self.directory().unwrap_or(Path::new(Paths::CONTROL))
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        match self {
            MemberPlace::Directory(path) => Some(path),
            MemberPlace::OpenDirectory(held) => Some(held.path()),
            MemberPlace::Devices { .. } => None,
        }
    }
}

/// What two directories are both on, where they are; unknown is not shared.
fn shared_disk(a: &Path, b: &Path) -> Option<String> {
    let disks = |path: &Path| device_of(path).ok().flatten().map(|found| found.disks);
    if let (Some(a), Some(b)) = (disks(a), disks(b)) {
        let shared = a.iter().find(|disk| b.contains(disk));
        return shared.map(|disk| format!("disk {}", disk.name));
    }
    let dev = |path: &Path| Place::of(path).ok()?.dev;
    (dev(a).is_some() && dev(a) == dev(b)).then(|| String::from("the same file system"))
}

/// The members form other cells than those that they are opened as.
pub(super) fn refuse_other_kind(
    layout: &MemberLayout,
    asked: MemberTable,
    found: MemberTable,
) -> Result<(), Error> {
    if found.cell == asked.cell || asked.count != found.count {
        return Ok(());
    }
    let kind = |table: MemberTable| match (table.cell, table.count) {
        (1, count) => format!("a mirror of {count} members"),
        (cell, count) if cell == count => format!("a race of {count} members"),
        (cell, count) => format!("a mirror of {} races of {cell} members", count / cell),
    };
    let what = format!(
        "it is a member of {}, not of {}: open it as what it was made",
        kind(found),
        kind(asked)
    );
    Err(refuse(layout.first_path(), what))
}

fn refuse(path: &Path, what: impl Into<String>) -> Error {
    Error::Members {
        path: path.to_owned(),
        what: what.into(),
    }
}
