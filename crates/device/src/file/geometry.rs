//! What a file's medium needs: sector sizes and alignment, from the kernel and sysfs.
//!
//! Invariant: an unknown size is answered on the side of safety (4096), never guessed smaller.

use crate::file::{Node, SyncMethod};
use crate::ioctl;
use crate::queue::Caps;
use rustix::fs::{AtFlags, StatxFlags};
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
        (SyncMethod::Direct, sysfs, Some((_, offset))) => sysfs.unwrap_or(offset).max(offset),
        (_, Some(sysfs), _) => sysfs,
        (_, None, _) => UNKNOWN_BYTES,
    };
    let physical = read("physical_block_size").unwrap_or(UNKNOWN_BYTES);
    Caps {
        logical_bytes: logical,
        physical_bytes: physical.max(logical),
        memory_align: direct.map_or(logical, |(memory, _)| memory.max(1)),
        max_io_bytes: MAX_IO_BYTES,
        durable_writes: method == SyncMethod::Dsync,
        blocking: true,
    }
}

/// Those of a block device, by its own word.
fn block_caps(device: &OwnedFd, method: SyncMethod) -> Caps {
    let (logical, physical) = ioctl::sectors(device).unwrap_or((UNKNOWN_BYTES, UNKNOWN_BYTES));
    let memory = direct_alignment(device).map_or(logical, |(memory, _)| memory.max(1));
    Caps {
        logical_bytes: logical,
        physical_bytes: physical.max(logical),
        memory_align: memory,
        max_io_bytes: MAX_IO_BYTES,
        durable_writes: method == SyncMethod::Dsync,
        blocking: true,
    }
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
            assert_eq!(caps.durable_writes, method == SyncMethod::Dsync);
        }
    }
}
