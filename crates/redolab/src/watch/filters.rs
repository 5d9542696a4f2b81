//! Which events of the kernel are needed to follow a log, each with a filter that the kernel
//! applies, so that writes of others cost little.
//!
//! Events of system calls are needed only where nothing else shows the end of a write or of a
//! flush: for writes into the page cache, and for flushes of XFS.

use super::files::{LogFiles, TracedFileSystem};
use super::join::LogRange;
use super::subject::OpenedAs;
use crate::observe::tracefs::events::{RING_FSYNC, SystemCall, TraceEventKind, TracedFile};
use std::collections::{BTreeMap, BTreeSet};

/// `IOMAP_WRITE` and `IOMAP_DIRECT` of the kernel (include/linux/iomap.h).
const IOMAP_WRITE: u32 = 0x1;
const IOMAP_DIRECT: u32 = 0x10;
/// A filter names so many inodes and ranges at most: the kernel takes a page of text.
const INODES_MAX: usize = 64;
const RANGES_MAX: usize = 32;

/// Events with their filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedEvents(pub(super) BTreeMap<TraceEventKind, String>);

impl WantedEvents {
    /// Those that show the writes of `files`, which lie in `ranges` of their disks.
    pub(super) fn of(
        files: &LogFiles,
        opened: &OpenedAs,
        ranges: &BTreeMap<u32, Vec<LogRange>>,
    ) -> WantedEvents {
        let known = files.known();
        // A file that is not known yet is written before it could be named in a filter.
        let by_file = file_filter(known.keys().copied(), !files.change());
        let systems: BTreeSet<TracedFileSystem> = known.values().map(|f| f.file_system).collect();
        let mut wanted = BTreeMap::new();
        if opened.direct {
            // The event comes again for each extent and once at the end of a write; its length is
            // that of the mapping before: 0 at all of these, and at the first where a file begins.
            let writes = format!(
                "({by_file}) && (length > 0 || pos == 0) && flags & {IOMAP_WRITE} && flags & \
                 {IOMAP_DIRECT}"
            );
            wanted.insert(TraceEventKind::DirectBegin, writes);
            wanted.insert(TraceEventKind::DirectQueued, by_file.clone());
            wanted.insert(TraceEventKind::DirectEnd, by_file.clone());
        }
        if opened.buffered {
            for call in SystemCall::WRITES {
                wanted.insert(TraceEventKind::CallEnd(call), String::new());
            }
        }
        for system in systems {
            let events: &[TraceEventKind] = match (system, opened.buffered) {
                (TracedFileSystem::Ext4, true) => &[
                    TraceEventKind::Ext4Buffered,
                    TraceEventKind::Ext4BufferedAtOnce,
                ],
                (TracedFileSystem::Xfs, true) => &[TraceEventKind::XfsBuffered],
                (_, false) => &[],
            };
            let flushes: &[TraceEventKind] = match system {
                TracedFileSystem::Ext4 => {
                    &[TraceEventKind::Ext4SyncBegin, TraceEventKind::Ext4SyncEnd]
                }
                TracedFileSystem::Xfs => &[TraceEventKind::XfsSyncBegin],
            };
            for event in events.iter().chain(flushes) {
                wanted.insert(*event, by_file.clone());
            }
            if system == TracedFileSystem::Xfs {
                wanted.extend(ends_of_xfs_flushes(opened.ring));
            }
        }
        if let Some(filter) = block_filter(ranges) {
            wanted.insert(TraceEventKind::BlockIssue, filter.clone());
            wanted.insert(TraceEventKind::BlockDone, filter);
        }
        WantedEvents(wanted)
    }

    /// Whether events of system calls are among them.
    pub(super) fn traces_system_calls(&self) -> bool {
        self.0
            .keys()
            .any(|event| matches!(event, TraceEventKind::CallEnd(_)))
    }
}

/// What shows the end of a flush of XFS, which has no event of its own.
fn ends_of_xfs_flushes(ring: bool) -> Vec<(TraceEventKind, String)> {
    let calls = SystemCall::SYNCS.map(|call| (TraceEventKind::CallEnd(call), String::new()));
    let mut ends = calls.to_vec();
    if ring {
        ends.push((
            TraceEventKind::RingQueued,
            format!("opcode == {RING_FSYNC}"),
        ));
        // Writes return their bytes.
        ends.push((TraceEventKind::RingDone, "res <= 0".to_owned()));
    }
    ends
}

/// The events of some files, or of all on their devices.
fn file_filter(files: impl Iterator<Item = TracedFile>, by_inode: bool) -> String {
    let mut inodes: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for file in files {
        inodes.entry(file.dev).or_default().push(file.ino);
    }
    let devices = inodes.iter().map(|(dev, inodes)| {
        if !by_inode || inodes.len() > INODES_MAX {
            return format!("dev == {dev}");
        }
        let each: Vec<String> = inodes.iter().map(|ino| format!("ino == {ino}")).collect();
        format!("(dev == {dev} && ({}))", each.join(" || "))
    });
    devices.collect::<Vec<_>>().join(" || ")
}

/// Writes to the files' ranges, and flushes of their disks; `None` where there are no ranges.
fn block_filter(ranges: &BTreeMap<u32, Vec<LogRange>>) -> Option<String> {
    let disks = ranges.iter().map(|(dev, ranges)| {
        let mut merged: Vec<(u64, u64)> = Vec::new();
        let mut sorted: Vec<&LogRange> = ranges.iter().collect();
        sorted.sort_unstable();
        for range in sorted {
            match merged.last_mut().filter(|last| range.begin <= last.1) {
                Some(last) => last.1 = last.1.max(range.end),
                None => merged.push((range.begin, range.end)),
            }
        }
        if merged.is_empty() || merged.len() > RANGES_MAX {
            return format!("(dev == {dev} && rwbs ~ \"*[WF]*\")");
        }
        let each: Vec<String> = merged
            .iter()
            .map(|(begin, end)| format!("(sector >= {begin} && sector < {end})"))
            .collect();
        format!(
            "(dev == {dev} && (nr_sector == 0 || {}))",
            each.join(" || ")
        )
    });
    let disks: Vec<String> = disks.collect();
    (!disks.is_empty()).then(|| disks.join(" || "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(ino: u64) -> TracedFile {
        TracedFile { dev: 5, ino }
    }

    #[test]
    fn files_that_do_not_change_are_named_in_the_filter() {
        let two = || [file(1), file(2)].into_iter();
        assert_eq!(
            file_filter(two(), true),
            "(dev == 5 && (ino == 1 || ino == 2))"
        );
        assert_eq!(file_filter(two(), false), "dev == 5");
        let many = (0..65).map(file);
        assert_eq!(file_filter(many, true), "dev == 5");
    }

    #[test]
    fn requests_are_those_to_the_files_and_flushes() {
        let range = |begin, end| LogRange {
            begin,
            end,
            file: file(1),
        };
        let of = |ranges: Vec<LogRange>| block_filter(&[(5, ranges)].into());
        assert_eq!(block_filter(&BTreeMap::new()), None);
        let joined = of(vec![range(64, 80), range(0, 8), range(8, 16)]).expect("a filter");
        let expected = "(dev == 5 && (nr_sector == 0 || (sector >= 0 && sector < 16) || \
            (sector >= 64 && sector < 80)))";
        assert_eq!(joined, expected);
        let scattered = (0..40).map(|n| range(n * 16, n * 16 + 8)).collect();
        assert_eq!(
            of(scattered).as_deref(),
            Some("(dev == 5 && rwbs ~ \"*[WF]*\")")
        );
    }
}
