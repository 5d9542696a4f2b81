//! Whether the devices below a path are there, were away meanwhile, or lost their power: mounts,
//! sequence numbers of disks, the drives' own counters, and whether a device still answers.
//!
//! Invariants: facts only; what cannot be read is `None`. Nothing is written; [`DeviceContact`]
//! asks for a flush, which changes no data.

use crate::ioctl;
use measure::power_test::{DiskState, MountState};
use measure::stack::{Layer, LayerKind, Stack};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// `STATX_MNT_ID_UNIQUE` of include/uapi/linux/stat.h: a number that is not used again (Linux 6.8).
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// A device that answers later than this does not answer.
const PATIENCE: Duration = Duration::from_secs(5);
const BLOCK: usize = 4096;

/// The mount that a path is on; `None` where the kernel does not report it.
#[must_use]
pub fn mount_state(path: &Path) -> Option<MountState> {
    let statx = rustix::fs::statx(CWD, path, AtFlags::empty(), UNIQUE_MOUNT).ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/mnt").ok()?;
    let is_known = statx.stx_mask & UNIQUE_MOUNT.bits() != 0;
    is_known.then(|| MountState {
        id: statx.stx_mnt_id,
        namespace: namespace.display().to_string(),
    })
}

/// The disks and loop devices of a stack as they are now.
#[must_use]
pub fn disk_states(stack: &Stack) -> Vec<DiskState> {
    let layers = stack.layers.iter();
    let disks = layers.filter(|l| matches!(l.kind, LayerKind::Disk | LayerKind::Loop));
    disks.map(disk_state).collect()
}

fn disk_state(layer: &Layer) -> DiskState {
    let read = |dev: &String| std::fs::read_to_string(format!("/sys/dev/block/{dev}/diskseq"));
    let sequence = layer.dev.as_ref().and_then(|dev| read(dev).ok());
    let health = match layer.name.starts_with("nvme") {
        true => nvme_health(&layer.name),
        false => None,
    };
    DiskState {
        name: layer.name.clone(),
        is_loop: layer.kind == LayerKind::Loop,
        sequence: sequence.and_then(|text| text.trim().parse().ok()),
        power_cycles: health.map(|counts| counts.0),
        unsafe_shutdowns: health.map(|counts| counts.1),
    }
}

/// Power cycles and unsafe shutdowns of an NVMe drive; root alone may ask for them.
fn nvme_health(name: &str) -> Option<(u64, u64)> {
    let device = open(Path::new("/dev").join(name).as_path(), OFlags::empty())?;
    let log = ioctl::nvme_health_log(&device).ok()?;
    counts_of(&log)
}

/// Both counts in the SMART / health information log (NVM Express Base Specification, log page
/// 02h): 16 bytes each, little-endian. A drive that keeps no count reports zeros.
fn counts_of(log: &[u8; ioctl::HEALTH_LOG_BYTES]) -> Option<(u64, u64)> {
    let count = |at: usize| {
        let bytes = log.get(at..at + 16)?.first_chunk::<16>()?;
        u64::try_from(u128::from_le_bytes(*bytes)).ok()
    };
    let (cycles, shutdowns) = (count(112)?, count(144)?);
    (cycles > 0).then_some((cycles, shutdowns))
}

fn open(path: &Path, more: OFlags) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | more;
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

/// The topmost block device below a path, open, to ask it whether it still answers.
#[derive(Debug)]
pub struct DeviceContact {
    device: OwnedFd,
}

impl DeviceContact {
    /// The device below the file system of a stack, or the raw device at its top; `None` where
    /// there is none, or it may not be opened.
    #[must_use]
    pub fn of(stack: &Stack) -> Option<DeviceContact> {
        use LayerKind as K;
        let is_block = |layer: &&Layer| {
            let kinds = [
                K::Luks,
                K::DeviceMapper,
                K::Md,
                K::Loop,
                K::Partition,
                K::Disk,
            ];
            kinds.contains(&layer.kind)
        };
        let top = stack.layers.iter().find(is_block)?;
        let path = Path::new("/dev").join(&top.name);
        let device = open(&path, OFlags::DIRECT)?;
        let node = rustix::fs::fstat(&device).ok()?.st_rdev;
        let (major, minor) = (rustix::fs::major(node), rustix::fs::minor(node));
        // Nothing but the name leads there: it has to be the device that was meant.
        let is_same = top.dev.as_deref() == Some(format!("{major}:{minor}").as_str());
        is_same.then_some(DeviceContact { device })
    }

    /// Whether the device carries out a read that no cache answers, and a flush; `None` where it
    /// does neither within five seconds.
    #[must_use]
    pub fn answers(self) -> Option<bool> {
        let (tell, heard) = sync_channel(1);
        let ask = move || {
            let mut memory = vec![0; 2 * BLOCK];
            let from = memory.as_ptr().align_offset(BLOCK).min(BLOCK);
            let block = &mut memory[from..from + BLOCK];
            let read = rustix::io::pread(&self.device, block, 0);
            let is_read = read.is_ok_and(|bytes| bytes > 0);
            let answered = is_read && rustix::fs::fsync(&self.device).is_ok();
            // Nobody waits any more after the patience.
            let _ = tell.send(answered);
        };
        let asked = std::thread::Builder::new().spawn(ask);
        asked.ok()?;
        heard.recv_timeout(PATIENCE).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_where_the_specification_places_them() {
        let mut log = [0xFF; ioctl::HEALTH_LOG_BYTES];
        log[112..128].copy_from_slice(&57_u128.to_le_bytes());
        log[128..144].copy_from_slice(&9_999_u128.to_le_bytes());
        log[144..160].copy_from_slice(&12_u128.to_le_bytes());
        assert_eq!(counts_of(&log), Some((57, 12)));
        assert_eq!(counts_of(&[0; ioctl::HEALTH_LOG_BYTES]), None, "no counts");
    }

    #[test]
    fn a_mount_keeps_its_number_and_disks_are_listed_without_guesses() {
        let here = mount_state(Path::new("/"));
        assert_eq!(here, mount_state(Path::new("/")));
        assert_eq!(mount_state(Path::new("/no/such/path")), None);
        let stack = Stack {
            layers: vec![
                Layer::new(LayerKind::FileSystem, "ext4"),
                Layer::new(LayerKind::Loop, "loop-of-no-system"),
                Layer::new(LayerKind::Disk, "nvme99n9"),
            ],
            depths: vec![0, 1, 2],
            ..Stack::default()
        };
        let states = disk_states(&stack);
        assert_eq!(states.len(), 2);
        assert!(states[0].is_loop && states[0].sequence.is_none());
        assert_eq!(states[1].power_cycles, None);
        assert!(DeviceContact::of(&stack).is_none());
    }
}
