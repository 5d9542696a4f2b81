//! What a file's medium needs: sector sizes and alignment, from the kernel and sysfs.
//!
//! Invariant: an unknown size is answered on the side of safety (4096), never guessed smaller.

use crate::error::DeviceError;
use crate::file::{Node, SyncMethod};
use crate::ioctl;
use crate::queue::Caps;
use crate::region::Region;
use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// More in one transfer brings no bandwidth, and a shorter one is divided by nobody.
const MAX_IO_BYTES: u32 = 8 << 20;
const UNKNOWN_BYTES: u32 = 4096;

/// Capabilities of an open file under a sync method.
pub(super) fn caps(file: &OwnedFd, method: SyncMethod, node: Node) -> Caps {
    if node == Node::Block {
        return block_caps(file, method);
    }
    let medium = rustix::fs::fstat(file)
        .ok()
        .and_then(|stat| block_queue(stat.st_dev));
    let read = |name| medium.as_deref().and_then(|queue| number(queue, name));
    let sysfs_logical = read("logical_block_size");
    let direct = direct_alignment(file);
    let logical = match (method, sysfs_logical, direct) {
        (method, sysfs, Some((_, offset))) if method.is_direct() => {
            sysfs.unwrap_or(offset).max(offset)
        }
        (_, Some(sysfs), _) => sysfs,
        (_, None, _) => UNKNOWN_BYTES,
    };
    let physical = read("physical_block_size").unwrap_or(UNKNOWN_BYTES);
    Caps {
        logical_bytes: logical,
        physical_bytes: physical.max(logical),
        memory_align: direct.map_or(logical, |(memory, _)| memory.max(1)),
        max_io_bytes: MAX_IO_BYTES,
        durable_writes: method.durable_writes(),
        blocking: true,
    }
}

/// Those of a block device, as it reports them.
fn block_caps(device: &OwnedFd, method: SyncMethod) -> Caps {
    let (logical, physical) = ioctl::sectors(device).unwrap_or((UNKNOWN_BYTES, UNKNOWN_BYTES));
    let memory = direct_alignment(device).map_or(logical, |(memory, _)| memory.max(1));
    Caps {
        logical_bytes: logical,
        physical_bytes: physical.max(logical),
        memory_align: memory,
        max_io_bytes: MAX_IO_BYTES,
        durable_writes: method.durable_writes(),
        blocking: true,
    }
}

/// A device that takes no direct transfer of the sectors that it states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misstated {
    /// The logical sector that it states, bytes.
    pub stated: u32,
    /// The smallest transfer that it takes, bytes.
    pub accepted: u32,
}

impl Misstated {
    /// The refusal of a log of such blocks.
    #[must_use]
    pub fn refuses(self, path: PathBuf, block: u32) -> DeviceError {
        DeviceError::Misstated {
            path,
            block: block.into(),
            stated: self.stated.into(),
            accepted: self.accepted.into(),
        }
    }
}

impl std::fmt::Display for Misstated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the device states sectors of {} bytes and takes no direct transfer of less than {}: \
             sectors of {} bytes are assumed",
            self.stated, self.accepted, self.accepted
        )
    }
}

/// Whether a file that was opened with `O_DIRECT` can be read in the units that its device states;
/// if not, in which. Reading asks what writing will be answered, and changes nothing.
///
/// # Errors
/// When there is no memory to read into.
pub(super) fn misstated(
    file: &OwnedFd,
    caps: Caps,
    file_bytes: u64,
) -> Result<Option<Misstated>, DeviceError> {
    let most = LARGEST_SECTOR.max(caps.logical_bytes);
    let mut region = Region::new(most as usize)?;
    let memory = region.bytes_mut();
    let read = |bytes: u32| {
        // The end of a short file would be a shorter read, which is no refusal.
        rustix::io::pread(file, &mut memory[..bytes as usize], 0).map(drop)
    };
    let largest = u32::try_from(file_bytes).map_or(most, |bytes| bytes.min(most));
    Ok(accepted(caps.logical_bytes, largest, read))
}

/// Sectors above this size are not looked for.
const LARGEST_SECTOR: u32 = 64 << 10;

/// The smallest power of two from `stated` on that `read` takes, if that is not `stated` itself.
/// A refusal of every size says nothing about sizes, nor does any other failure.
fn accepted(
    stated: u32,
    largest: u32,
    mut read: impl FnMut(u32) -> Result<(), Errno>,
) -> Option<Misstated> {
    if read(stated) != Err(Errno::INVAL) {
        return None;
    }
    let mut bytes = stated.saturating_mul(2);
    while bytes <= largest {
        match read(bytes) {
            Ok(()) => {
                return Some(Misstated {
                    stated,
                    accepted: bytes,
                });
            }
            Err(Errno::INVAL) => bytes = bytes.saturating_mul(2),
            Err(_) => return None,
        }
    }
    None
}

/// Alignment of memory and of file offsets that `O_DIRECT` needs on this file, where the file
/// system says so (Linux 6.1).
fn direct_alignment(file: &OwnedFd) -> Option<(u32, u32)> {
    let statx = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = statx.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && statx.stx_dio_offset_align > 0;
    known.then_some((statx.stx_dio_mem_align, statx.stx_dio_offset_align))
}

/// The sysfs directory of the request queue below a file system's device number; a partition's
/// queue is its disk's.
fn block_queue(dev: u64) -> Option<PathBuf> {
    let (major, minor) = (rustix::fs::major(dev), rustix::fs::minor(dev));
    let device = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    [Some(device.as_path()), device.parent()]
        .into_iter()
        .flatten()
        .map(|dir| dir.join("queue"))
        .find(|queue| queue.is_dir())
}

fn number(queue: &Path, name: &str) -> Option<u32> {
    let text = std::fs::read_to_string(queue.join(name)).ok()?;
    text.trim()
        .parse()
        .ok()
        .filter(|n: &u32| n.is_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::Scratch;
    use rustix::fs::OFlags;

    #[test]
    fn a_device_is_believed_until_it_refuses_what_it_states() {
        let takes = |least: u32| {
            move |bytes: u32| match bytes {
                n if n >= least => Ok(()),
                _ => Err(Errno::INVAL),
            }
        };
        let misstated = |stated, accepted| Some(Misstated { stated, accepted });
        assert_eq!(accepted(512, 65_536, takes(512)), None);
        assert_eq!(accepted(512, 65_536, takes(4096)), misstated(512, 4096));
        assert_eq!(accepted(4096, 65_536, takes(8192)), misstated(4096, 8192));
        assert_eq!(accepted(512, 2048, takes(4096)), None, "too short to tell");
        assert_eq!(accepted(512, 65_536, |_| Err(Errno::INVAL)), None);
        assert_eq!(accepted(512, 65_536, |_| Err(Errno::IO)), None);
        let found = misstated(512, 4096).expect("just made");
        let refusal = found.refuses(PathBuf::from("d"), 512).to_string();
        for word in ["512", "4096", "block size"] {
            assert!(refusal.contains(word), "{refusal}");
        }
    }

    #[test]
    fn sectors_are_plausible_powers_of_two() {
        let scratch = Scratch::new();
        let path = scratch.file("log", 8192);
        let file = crate::file::open_regular(&path, OFlags::RDWR).expect("opens");
        for method in SyncMethod::ALL {
            let caps = caps(&file, method, Node::File);
            for bytes in [caps.logical_bytes, caps.physical_bytes] {
                assert!(
                    bytes.is_power_of_two() && (512..=65536).contains(&bytes),
                    "{caps:?}"
                );
            }
            assert!(caps.physical_bytes >= caps.logical_bytes);
            assert_eq!(caps.durable_writes, method.durable_writes());
        }
    }
}
