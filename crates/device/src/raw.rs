//! Raw block devices, and what must hold before one is written.
//!
//! What lives here: the way from a path to a device that may be written, a step each: [`RawDevice`]
//! (read only: what it is, what it carries, who uses it), [`RawDevice::consent`] (its owner has
//! repeated its path), [`RawDevice::hold`] (held exclusively, and still the device that was looked
//! at), [`HeldRawDevice::clear`] (it still carries what its owner was shown). Only
//! [`ClearedRawDevice`] may be overwritten; only [`HeldRawDevice`] may be written at all.
//!
//! Invariants: nothing is written here, not even by a refusal. A device in use is refused whatever
//! its owner says. The hold is the kernel's (`O_EXCL`: no mount, no RAID, no swap, no partition of
//! it in use) and lasts as long as [`HeldRawDevice`] or the guard that was made of it.
//!
//! What it must not know: redo logs, and where on the device they stand.

mod prepare;
mod refusal;
mod signature;
mod table;

pub use crate::file::node::is_block_device;
pub use prepare::{prewrite, wipe};
pub use refusal::RawDeviceRefusal;
pub use signature::{Content, END_BYTES, Signature};
pub use table::SignatureKind;

use crate::error::DeviceError;
use crate::file::{
    FINISHING_MAX, FileSet, LockGuard, Node, Reader, SyncMethod, io_error, is_alive, owner,
};
use crate::identify::{Dev, Place, Probe, Use, User};
use crate::ioctl;
use measure::stack::{LayerKind, Stack};
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A device that was looked at and is not held: what is said of it may be old.
#[derive(Clone, Debug)]
pub struct RawDevice {
    typed: PathBuf,
    path: PathBuf,
    facts: Facts,
    content: Content,
    stack: Stack,
    uses: Vec<Use>,
    /// Somebody has it exclusively, by the kernel's word.
    is_claimed: bool,
}

/// What must not have changed between looking and holding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    dev: Dev,
    bytes: u64,
    logical_bytes: u32,
    physical_bytes: u32,
    alignment_offset: i32,
    is_read_only: bool,
    /// Where a partition begins; `None` of a whole device.
    start: Option<u64>,
    /// `None` before Linux 5.15.
    sequence: Option<u64>,
}

impl Facts {
    fn of(path: &Path, device: &OwnedFd) -> Result<Facts, DeviceError> {
        let failed = |e| io_error(path, "ask the device for its size", e);
        let stat = rustix::fs::fstat(device).map_err(failed)?;
        let (logical_bytes, physical_bytes) = ioctl::sectors(device).map_err(failed)?;
        let dev = Dev::unpack(stat.st_rdev);
        let start = std::fs::read_to_string(format!("/sys/dev/block/{dev}/start"));
        Ok(Facts {
            dev,
            start: start.ok().and_then(|text| text.trim().parse().ok()),
            bytes: ioctl::bytes(device).map_err(failed)?,
            logical_bytes,
            physical_bytes: physical_bytes.max(logical_bytes),
            alignment_offset: ioctl::alignment_offset(device).unwrap_or(0),
            is_read_only: ioctl::is_read_only(device).map_err(failed)?,
            sequence: ioctl::disk_sequence(device).ok(),
        })
    }
}

impl RawDevice {
    /// Looks at the block device that `path` names, itself or through links such as those of
    /// `/dev/disk/by-id`. Only reads.
    ///
    /// # Errors
    /// [`RawDeviceRefusal::NotABlockDevice`], or what the system says.
    pub fn at(path: &Path) -> Result<RawDevice, DeviceError> {
        RawDevice::with(&Probe::live(), path)
    }

    fn with(probe: &Probe, typed: &Path) -> Result<RawDevice, DeviceError> {
        let path = resolve(typed)?;
        let device = Node::Block.open(&path, OFlags::RDONLY)?;
        let facts = Facts::of(&path, &device)?;
        let stack = probe.stack_at(&Place::block(&path, facts.dev));
        let uses = lasting_uses(probe, facts.dev);
        // Opened only to be read, and closed at once: nobody hears of it.
        let patience = if uses.is_empty() {
            FINISHING_MAX
        } else {
            Duration::ZERO
        };
        let claim = claim(&path, facts.dev, OFlags::RDONLY, patience);
        Ok(RawDevice {
            typed: typed.to_owned(),
            content: content(&path, facts.bytes)?,
            uses,
            is_claimed: claim.is_err_and(|e| is_busy(&e)),
            path,
            facts,
            stack,
        })
    }

    /// The path as it was typed.
    #[must_use]
    pub fn typed(&self) -> &Path {
        &self.typed
    }

    /// The device's own path, links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.facts.bytes
    }

    /// Logical and physical sector in bytes.
    #[must_use]
    pub fn sectors(&self) -> (u32, u32) {
        (self.facts.logical_bytes, self.facts.physical_bytes)
    }

    /// What it carries.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// What it stands on.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// What its maker calls it, or what stands behind it.
    #[must_use]
    pub fn model(&self) -> String {
        let layers = || self.stack.layers.iter();
        let words = layers().find_map(|layer| {
            let model = layer.model.as_deref()?;
            let vendor = layer.vendor.as_deref().filter(|v| !model.starts_with(v));
            Some(vendor.map_or_else(|| model.to_owned(), |vendor| format!("{vendor} {model}")))
        });
        let first = layers().next();
        let behind = first.and_then(|layer| match (layer.kind, &layer.backing) {
            (LayerKind::Loop, Some(file)) => Some(format!("loop device on {file}")),
            (LayerKind::Loop, None) => Some("loop device".to_owned()),
            _ => layer.detail.clone(),
        });
        let behind =
            || behind.unwrap_or_else(|| "a device that does not report its model".to_owned());
        words.unwrap_or_else(behind)
    }

    /// What would be lost, in words: size, model, signatures.
    #[must_use]
    pub fn inventory(&self) -> String {
        self.content.inventory(self.facts.bytes, &self.model())
    }

    /// Refuses a device that is in use, or that cannot take a log safely, whatever its owner says.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), RawDeviceRefusal> {
        let path = || self.typed.clone();
        if let Some(used) = self.uses.first() {
            let (path, used) = (path(), used.clone());
            return Err(RawDeviceRefusal::InUse { path, used });
        }
        if self.is_claimed {
            return Err(RawDeviceRefusal::Claimed { path: path() });
        }
        if self.facts.is_read_only {
            return Err(RawDeviceRefusal::ReadOnly { path: path() });
        }
        if self.facts.alignment_offset != 0 {
            return Err(RawDeviceRefusal::Misaligned {
                path: path(),
                physical: self.facts.physical_bytes,
            });
        }
        Ok(())
    }

    /// The owner's word that what stands on the device may be lost: `repeated` is its path once
    /// more, letter by letter as it was typed.
    ///
    /// # Errors
    /// [`RawDeviceRefusal::Unconfirmed`] or [`RawDeviceRefusal::OtherPath`], which say
    /// what would be lost and what to type.
    pub fn consent(&self, repeated: Option<&Path>) -> Result<Consent, RawDeviceRefusal> {
        let (path, inventory) = (self.typed.clone(), self.inventory());
        match repeated {
            None => Err(RawDeviceRefusal::Unconfirmed { path, inventory }),
            // Paths that compare equal may be written in different ways.
            Some(repeated) if repeated.as_os_str() != self.typed.as_os_str() => {
                Err(RawDeviceRefusal::OtherPath {
                    path,
                    repeated: repeated.to_owned(),
                    inventory,
                })
            }
            Some(_) => Ok(Consent {
                facts: self.facts,
                content: self.content.clone(),
            }),
        }
    }

    /// Holds the device: nobody else can mount it, or put it or a partition of it to use.
    ///
    /// # Errors
    /// As [`RawDevice::check`]; [`RawDeviceRefusal::Replaced`] when it is not the device
    /// any more that was looked at.
    pub fn hold(&self) -> Result<HeldRawDevice, DeviceError> {
        self.check()?;
        let device = self.open_exclusively()?;
        lock(&self.typed, &device)?;
        // What was looked at may have gone, and another may have come under its path or number.
        let now = self.typed.canonicalize().ok();
        let facts = Facts::of(&self.path, &device)?;
        if now.as_ref() != Some(&self.path) || facts != self.facts {
            let path = self.typed.clone();
            return Err(RawDeviceRefusal::Replaced { path }.into());
        }
        if let Some(used) = lasting_uses(&Probe::live(), facts.dev).into_iter().next() {
            let path = self.typed.clone();
            return Err(RawDeviceRefusal::InUse { path, used }.into());
        }
        Ok(HeldRawDevice {
            look: self.clone(),
            device,
        })
    }

    fn open_exclusively(&self) -> Result<OwnedFd, DeviceError> {
        claim(&self.path, self.facts.dev, OFlags::RDWR, FINISHING_MAX).map_err(|error| {
            let path = self.typed.clone();
            match error {
                busy if is_busy(&busy) => RawDeviceRefusal::Claimed { path }.into(),
                DeviceError::Unsuitable { .. } => RawDeviceRefusal::Replaced { path }.into(),
                other => other,
            }
        })
    }
}

/// A block device as one space that is only read, beside its owner too.
///
/// # Errors
/// [`RawDeviceRefusal::NotABlockDevice`], or what the system says.
pub fn read_only(path: &Path) -> Result<FileSet, DeviceError> {
    let resolved = resolve(path)?;
    let device = Node::Block.open(&resolved, OFlags::RDONLY)?;
    let bytes = ioctl::bytes(&device).map_err(|e| io_error(path, "ask for the size of", e))?;
    FileSet::open_block_read_only(&resolved, bytes)
}

/// The path of the block device that `typed` leads to.
fn resolve(typed: &Path) -> Result<PathBuf, DeviceError> {
    let path = typed.canonicalize().map_err(|source| DeviceError::Io {
        path: typed.to_owned(),
        action: "look up the device",
        source,
    })?;
    if is_block_device(&path) {
        return Ok(path);
    }
    let path = typed.to_owned();
    Err(RawDeviceRefusal::NotABlockDevice { path }.into())
}

/// Who uses a device. Tools that look for a device, or at all of them, open each for a moment:
/// only a process that stays is a user.
fn lasting_uses(probe: &Probe, dev: Dev) -> Vec<Use> {
    const LOOKS: u32 = 50;
    let mut uses = probe.uses(dev);
    for _ in 1..LOOKS {
        let may_pass = |used: &Use| matches!(used.by, User::Process { .. });
        if uses.is_empty() || !uses.iter().all(may_pass) {
            break;
        }
        std::thread::sleep(PAUSE);
        uses = probe.uses(dev);
    }
    uses
}

fn is_busy(error: &DeviceError) -> bool {
    let busy = Errno::BUSY.raw_os_error();
    matches!(error, DeviceError::Io { source, .. } if source.raw_os_error() == Some(busy))
}

/// How long a device is tried that a living owner of a log claims: another look, or a tool, claims
/// one for a moment.
const MOMENT: Duration = Duration::from_millis(500);

/// Opens a device exclusively.
///
/// As with files ([`crate::file::lock_exclusive`]), a living owner is not waited for. The claim of
/// a process that was killed lasts until the device has ended its last writes: where nobody who
/// can be seen owns the device, it is tried for `patience`.
fn claim(
    path: &Path,
    dev: Dev,
    access: OFlags,
    patience: Duration,
) -> Result<OwnedFd, DeviceError> {
    let begun = Instant::now();
    loop {
        let error = match Node::Block.open(path, access | OFlags::EXCL) {
            Err(error) if is_busy(&error) => error,
            result => return result,
        };
        let waited = begun.elapsed();
        if waited >= patience || waited >= MOMENT && has_living_owner(path, dev) {
            return Err(error);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether a living process, which may be this one, has a log on the device, on the disk that it
/// is a part of, or on a partition of it.
fn has_living_owner(path: &Path, dev: Dev) -> bool {
    let relatives = Probe::live().relatives(dev);
    let paths = relatives.iter().map(|name| Path::new("/dev").join(name));
    let mut owners = paths.chain([path.to_owned()]).map(|path| owner(&path));
    owners.any(|owner| owner.ok().flatten().is_some_and(is_alive))
}

fn content(path: &Path, bytes: u64) -> Result<Content, DeviceError> {
    let reader = Reader::open(path, Node::Block)?;
    signature::scan(bytes, &|at, out| reader.read(path, at, out))
}

/// How often, and how long, a lock of the system's own prober is waited for.
const LOCK_TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Takes the lock by which the system's prober is kept away while a device is written
/// (<https://systemd.io/BLOCK_DEVICE_LOCKING>), and by which others see who has the log.
fn lock(path: &Path, device: &OwnedFd) -> Result<(), DeviceError> {
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(device, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(PAUSE),
            result => return result.map_err(|e| io_error(path, "lock", e)),
        }
    }
    let process = owner(path).unwrap_or_default();
    let path = path.to_owned();
    Err(DeviceError::InUse { path, process })
}

/// The owner's word for one device with one content.
#[derive(Clone, Debug)]
pub struct Consent {
    facts: Facts,
    content: Content,
}

/// A device that is held: a log that stands on it may be opened.
#[derive(Debug)]
pub struct HeldRawDevice {
    look: RawDevice,
    device: OwnedFd,
}

impl HeldRawDevice {
    /// What it was when it was looked at.
    #[must_use]
    pub fn look(&self) -> &RawDevice {
        &self.look
    }

    /// The whole device as one space.
    ///
    /// # Errors
    /// As opening.
    pub fn space(&self, method: SyncMethod) -> Result<FileSet, DeviceError> {
        FileSet::open_block(&self.look.path, self.look.facts.bytes, method)
    }

    /// The device may be overwritten: it still carries what its owner was shown.
    ///
    /// # Errors
    /// [`RawDeviceRefusal::Replaced`] when it carries something else by now.
    pub fn clear(self, consent: &Consent) -> Result<ClearedRawDevice, DeviceError> {
        let now = content(&self.look.path, self.look.facts.bytes)?;
        if consent.facts != self.look.facts || consent.content != now {
            let path = self.look.typed.clone();
            return Err(RawDeviceRefusal::Replaced { path }.into());
        }
        Ok(ClearedRawDevice { held: self })
    }

    /// The hold once more, for what is written beside a log: nobody else can claim the device
    /// until both are gone. The advisory lock, by which others see an owner that lives, ends with
    /// the first.
    ///
    /// # Errors
    /// The system's.
    pub fn hold_once_more(&self) -> std::io::Result<OwnedFd> {
        self.device.try_clone()
    }

    /// Keeps the hold alone.
    #[must_use]
    pub fn into_guard(self) -> LockGuard {
        LockGuard::of(self.device)
    }
}

/// A device that is held and may be overwritten.
#[derive(Debug)]
pub struct ClearedRawDevice {
    held: HeldRawDevice,
}

impl ClearedRawDevice {
    /// The hold, for what is written from now on.
    #[must_use]
    pub fn held(&self) -> &HeldRawDevice {
        &self.held
    }

    /// The hold, when what stands on the device must not be overwritten any more.
    #[must_use]
    pub fn into_held(self) -> HeldRawDevice {
        self.held
    }
}

#[cfg(test)]
mod tests;
