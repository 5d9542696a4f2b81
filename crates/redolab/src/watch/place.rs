//! Where log files lie on their device: extents of the file system, and the place of a partition on
//! its disk.

use super::files::LogFile;
use super::join::LogRange;
use crate::observe::tracefs::events::{TracedFile, traced_device};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes of a sector in requests.
const SECTOR_BYTES: u64 = 512;

/// The disk below a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TracedDisk {
    /// Its number in the trace.
    pub(super) dev: u32,
    /// Sectors before the file system begins.
    pub(super) start: u64,
}

/// The disk of a device number of the trace; `None` where requests to it carry other numbers, as
/// below device-mapper and RAID.
pub(super) fn disk_of(dev: u32) -> Option<TracedDisk> {
    let (major, minor) = (dev >> 20, dev & 0xf_ffff);
    let folder = Path::new("/sys/dev/block").join(format!("{major}:{minor}"));
    disk_in(&folder.canonicalize().ok()?, dev)
}

fn disk_in(folder: &Path, dev: u32) -> Option<TracedDisk> {
    if ["dm", "md", "bcache"]
        .iter()
        .any(|kind| folder.join(kind).is_dir())
    {
        return None;
    }
    if !folder.join("partition").exists() {
        return Some(TracedDisk { dev, start: 0 });
    }
    let text = |path: std::path::PathBuf| std::fs::read_to_string(path).ok();
    let start = text(folder.join("start"))?.trim().parse().ok()?;
    let number = text(folder.parent()?.join("dev"))?;
    let (major, minor) = number.trim().split_once(':')?;
    Some(TracedDisk {
        dev: traced_device(major.parse().ok()?, minor.parse().ok()?),
        start,
    })
}

/// Where files lie, by the disk's number; files whose place is not known are left out.
pub(super) fn ranges(files: &BTreeMap<TracedFile, LogFile>) -> BTreeMap<u32, Vec<LogRange>> {
    let mut found: BTreeMap<u32, Vec<LogRange>> = BTreeMap::new();
    for (file, known) in files {
        let Some(disk) = disk_of(file.dev) else {
            continue;
        };
        // It may have been renamed since it was found.
        let open = File::open(&known.here).ok();
        let extents = open.and_then(|open| device::file::mapped_extents(open.as_fd()));
        let Some(extents) = extents else {
            continue;
        };
        let into = found.entry(disk.dev).or_default();
        into.extend(extents.into_iter().map(|extent| {
            let begin = disk.start.saturating_add(extent.physical / SECTOR_BYTES);
            LogRange {
                begin,
                end: begin.saturating_add(extent.length.div_ceil(SECTOR_BYTES)),
                file: *file,
            }
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_lies_on_its_disk_and_a_mapped_device_on_none() {
        let sys = tempfile::tempdir().expect("a folder");
        let disk = sys.path().join("vda");
        let part = disk.join("vda1");
        std::fs::create_dir_all(&part).expect("made");
        std::fs::write(disk.join("dev"), "254:0\n").expect("written");
        std::fs::write(part.join("partition"), "1\n").expect("written");
        std::fs::write(part.join("start"), "2048\n").expect("written");
        let (whole, first) = (traced_device(254, 0), traced_device(254, 1));
        let expected = |dev, start| Some(TracedDisk { dev, start });
        assert_eq!(disk_in(&disk, whole), expected(whole, 0));
        assert_eq!(disk_in(&part, first), expected(whole, 2048));
        let mapped = sys.path().join("dm-0");
        std::fs::create_dir_all(mapped.join("dm")).expect("made");
        assert_eq!(disk_in(&mapped, traced_device(253, 0)), None);
    }
}
