//! The kernel's counters of a block device (Documentation/block/stat and iostats of the kernel).
//!
//! 11 fields everywhere, 15 with discards since 4.18, 17 with flushes since 5.5. Three things to
//! know when reading them:
//! - The request that asks for a flush is counted among the *writes*, with no sectors, and the
//!   flush itself in field 16. Requests that ask at the same time share one flush. So data writes
//!   are at least writes minus flush requests, and equal to writes minus flushes only where
//!   flushes were not shared.
//! - Flushes are tracked for whole disks only, never for partitions, device-mapper or RAID
//!   devices: the counters have to be read below them.
//! - A device that declares no volatile cache (`write through`) is sent no flush at all.

use measure::stack::{LayerKind, Stack};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of the sectors that the kernel counts in, whatever the device's are.
pub const SECTOR_BYTES: u64 = 512;
/// Longest counter file that is read.
const STAT_MAX_BYTES: usize = 1024;

/// A block device's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevNo {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl DevNo {
    /// Parses `major:minor`.
    #[must_use]
    pub fn parse(text: &str) -> Option<DevNo> {
        let (major, minor) = text.trim().split_once(':')?;
        let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
        Some(DevNo { major, minor })
    }
}

impl std::fmt::Display for DevNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Counters since the device appeared, or differences of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskStats {
    /// Reads completed.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Writes completed, flush requests among them.
    pub writes: u64,
    /// Writes that were merged into others.
    pub write_merges: u64,
    /// Sectors of 512 bytes written.
    pub write_sectors: u64,
    /// Sum of the times of writes, milliseconds.
    pub write_ms: u64,
    /// Requests in flight: a level, not a counter.
    pub in_flight: u64,
    /// Time with a request in flight, milliseconds.
    pub busy_ms: u64,
    /// Discards completed, where counted.
    pub discards: Option<u64>,
    /// Flushes that the device executed, where counted.
    pub flushes: Option<u64>,
    /// Sum of the times of flushes, milliseconds.
    pub flush_ms: Option<u64>,
}

impl DiskStats {
    /// Parses `/sys/dev/block/M:m/stat` or the numbers of a /proc/diskstats line. More fields
    /// than 17 are a later kernel's and ignored; fewer than 11 are none.
    #[must_use]
    pub fn parse(stat: &str) -> Option<DiskStats> {
        let n: Vec<u64> = stat
            .split_ascii_whitespace()
            .map(|w| w.parse().ok())
            .collect::<Option<_>>()?;
        let at = |i: usize| n.get(i).copied();
        let complete = |fields: usize, i: usize| (n.len() >= fields).then(|| at(i)).flatten();
        complete(11, 10)?;
        Some(DiskStats {
            reads: at(0)?,
            read_sectors: at(2)?,
            writes: at(4)?,
            write_merges: at(5)?,
            write_sectors: at(6)?,
            write_ms: at(7)?,
            in_flight: at(8)?,
            busy_ms: at(9)?,
            discards: complete(15, 11),
            flushes: complete(17, 15),
            flush_ms: complete(17, 16),
        })
    }

    /// Finds a device's line in /proc/diskstats.
    #[must_use]
    pub fn parse_diskstats(text: &str, dev: DevNo) -> Option<DiskStats> {
        text.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let number = DevNo {
                major: words.next()?.parse().ok()?,
                minor: words.next()?.parse().ok()?,
            };
            let _name = words.next()?;
            if number != dev {
                return None;
            }
            DiskStats::parse(&words.collect::<Vec<_>>().join(" "))
        })
    }

    /// What was counted since `earlier`; `in_flight` is the present level.
    #[must_use]
    pub fn since(&self, earlier: &DiskStats) -> DiskStats {
        let optional = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_sub(b?));
        DiskStats {
            reads: self.reads.saturating_sub(earlier.reads),
            read_sectors: self.read_sectors.saturating_sub(earlier.read_sectors),
            writes: self.writes.saturating_sub(earlier.writes),
            write_merges: self.write_merges.saturating_sub(earlier.write_merges),
            write_sectors: self.write_sectors.saturating_sub(earlier.write_sectors),
            write_ms: self.write_ms.saturating_sub(earlier.write_ms),
            in_flight: self.in_flight,
            busy_ms: self.busy_ms.saturating_sub(earlier.busy_ms),
            discards: optional(self.discards, earlier.discards),
            flushes: optional(self.flushes, earlier.flushes),
            flush_ms: optional(self.flush_ms, earlier.flush_ms),
        }
    }

    /// Writes without flush requests: exact where flushes were not shared (a single log writer),
    /// else too high by the requests that shared one. Where the kernel counts no flushes, all
    /// writes.
    #[must_use]
    pub fn data_writes(&self) -> u64 {
        self.writes.saturating_sub(self.flushes.unwrap_or(0))
    }

    /// Bytes written.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.write_sectors.saturating_mul(SECTOR_BYTES)
    }

    /// Share of `elapsed_ns` with a request in flight, percent, at most 100.
    #[must_use]
    pub fn utilisation_pct(&self, elapsed_ns: u64) -> f64 {
        super::pct(self.busy_ms.saturating_mul(1_000_000), elapsed_ns).min(100.0)
    }
}

/// Reads a device's counters again and again, cheaply: the file stays open.
#[derive(Debug)]
pub struct Counters {
    file: File,
    dev: DevNo,
    declares_cache: Option<bool>,
}

impl Counters {
    /// The counters of the whole disk that holds `dev`, since partitions count no flushes.
    ///
    /// # Errors
    /// The system's; `NotFound` for a number that is not a block device (anonymous and network
    /// file systems).
    pub fn open(dev: DevNo) -> io::Result<Counters> {
        Counters::open_below(Path::new("/sys/dev/block"), dev)
    }

    fn open_below(sys: &Path, dev: DevNo) -> io::Result<Counters> {
        let folder = whole_disk(sys, dev)?;
        let number = std::fs::read_to_string(folder.join("dev"))?;
        let cache = std::fs::read_to_string(folder.join("queue/write_cache")).ok();
        let counters = Counters {
            file: File::open(folder.join("stat"))?,
            dev: DevNo::parse(&number).unwrap_or(dev),
            declares_cache: cache.map(|text| text.trim() == "write back"),
        };
        counters.read()?;
        Ok(counters)
    }

    /// Now.
    ///
    /// # Errors
    /// The system's (a device that was taken away), or text that is no counters.
    pub fn read(&self) -> io::Result<DiskStats> {
        let mut buffer = [0_u8; STAT_MAX_BYTES];
        let length = self.file.read_at(&mut buffer, 0)?;
        let text = buffer.get(..length).unwrap_or_default();
        std::str::from_utf8(text)
            .ok()
            .and_then(DiskStats::parse)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no counters of a device"))
    }

    /// The device that is counted.
    #[must_use]
    pub fn dev(&self) -> DevNo {
        self.dev
    }

    /// The kernel believes that the device has a volatile write cache and so sends it flushes.
    #[must_use]
    pub fn declares_cache(&self) -> Option<bool> {
        self.declares_cache
    }
}

/// The directory of the disk that `dev` is, or is a partition of.
fn whole_disk(sys: &Path, dev: DevNo) -> io::Result<PathBuf> {
    let folder = sys.join(dev.to_string()).canonicalize()?;
    match folder.parent() {
        Some(parent) if folder.join("partition").exists() => Ok(parent.to_owned()),
        _ => Ok(folder),
    }
}

/// The whole disks under a block device: itself, the disk of a partition, or what device-mapper
/// and RAID are made of. Empty for what is no block device.
#[must_use]
pub fn disks_under(dev: DevNo) -> Vec<DevNo> {
    let mut found = Vec::new();
    collect_disks(Path::new("/sys/dev/block"), dev, MAPPER_DEPTH, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Deepest nesting of mapped devices that is followed.
const MAPPER_DEPTH: u32 = 16;

fn collect_disks(sys: &Path, dev: DevNo, depth: u32, found: &mut Vec<DevNo>) {
    let Ok(folder) = whole_disk(sys, dev) else {
        return;
    };
    let number = |path: PathBuf| DevNo::parse(&std::fs::read_to_string(path.join("dev")).ok()?);
    let members: Vec<DevNo> = std::fs::read_dir(folder.join("slaves"))
        .into_iter()
        .flatten()
        .filter_map(|entry| number(entry.ok()?.path()))
        .collect();
    if members.is_empty() || depth == 0 {
        found.extend(number(folder));
    }
    for member in members {
        if depth > 0 {
            collect_disks(sys, member, depth - 1, found);
        }
    }
}

/// The devices of a stack whose own counters tell of flushes: going down from the path, the first
/// disk or loop device on each branch. Empty for anonymous and network file systems, several for
/// RAID.
#[must_use]
pub fn counted_devices(stack: &Stack) -> Vec<DevNo> {
    let mut found: Vec<DevNo> = Vec::new();
    let mut below: Option<usize> = None;
    for (i, layer) in stack.layers.iter().enumerate() {
        let depth = stack.depths.get(i).copied().unwrap_or(i);
        if below.is_some_and(|taken| depth > taken) {
            continue;
        }
        below = None;
        let counts = matches!(layer.kind, LayerKind::Disk | LayerKind::Loop);
        let dev = layer.dev.as_deref().and_then(DevNo::parse);
        if let (true, Some(dev)) = (counts, dev) {
            below = Some(depth);
            if !found.contains(&dev) {
                found.push(dev);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::stack::Layer;

    const K4: &str = "   10  1  80  5  28422  22071  2737288  6564  4  11440  24885\n";
    const K4_18: &str = "10 1 80 5 28422 22071 2737288 6564 4 11440 24885 19 0 714096 497";
    const K5_5: &str = "10 1 80 5 28422 22071 2737288 6564 4 11440 24885 19 0 714096 497 3722 127";

    #[test]
    fn every_generation_of_counters() {
        for (text, discards, flushes) in [
            (K4, None, None),
            (K4_18, Some(19), None),
            (K5_5, Some(19), Some(3722)),
            (&format!("{K5_5} 1 2"), Some(19), Some(3722)),
        ] {
            let s = DiskStats::parse(text).expect("parses");
            assert_eq!(
                (s.reads, s.writes, s.busy_ms, s.in_flight),
                (10, 28422, 11440, 4)
            );
            assert_eq!(s.written_bytes(), 2_737_288 * 512);
            assert_eq!((s.discards, s.flushes), (discards, flushes), "{text}");
            assert_eq!(s.data_writes(), 28422 - flushes.unwrap_or(0));
        }
        for bad in [
            "",
            "1 2 3",
            "1 2 3 4 5 6 7 8 9 10",
            "a b c d e f g h i j k",
            "-1 1 1",
        ] {
            assert_eq!(DiskStats::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_right_line_of_proc_diskstats() {
        let text =
            format!("   7  0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254  0 vda {K5_5}\n 8 16 sdb 1\n");
        let dev = |text| DevNo::parse(text).expect("a number");
        let vda = DiskStats::parse_diskstats(&text, dev("254:0")).expect("found");
        assert_eq!(Some(vda), DiskStats::parse(K5_5));
        assert_eq!(DiskStats::parse_diskstats(&text, dev("8:16")), None);
        assert_eq!(DiskStats::parse_diskstats(&text, dev("9:9")), None);
        assert_eq!(DevNo::parse("0:x"), None);
    }

    #[test]
    fn differences_never_wrap() {
        let old = DiskStats::parse(K5_5).expect("parses");
        let mut new = old;
        new.writes += 1000;
        new.flushes = Some(4222);
        new.busy_ms += 500;
        new.write_ms = 0;
        let d = new.since(&old);
        assert_eq!((d.writes, d.flushes, d.write_ms), (1000, Some(500), 0));
        assert_eq!(d.data_writes(), 500);
        assert_eq!(d.utilisation_pct(1_000_000_000), 50.0);
        assert_eq!(d.utilisation_pct(100), 100.0);
        let without = DiskStats::parse(K4).expect("parses");
        assert_eq!(new.since(&without).flushes, None);
    }

    #[test]
    fn a_partition_is_counted_on_its_disk() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let disk = dir.path().join("devices/vda");
        std::fs::create_dir_all(disk.join("vda1")).expect("creates");
        std::fs::create_dir_all(disk.join("queue")).expect("creates");
        std::fs::create_dir_all(dir.path().join("block")).expect("creates");
        for (file, text) in [
            ("stat", K5_5),
            ("dev", "254:0\n"),
            ("queue/write_cache", "write back\n"),
            ("vda1/stat", K4),
            ("vda1/dev", "254:1\n"),
            ("vda1/partition", "1\n"),
        ] {
            std::fs::write(disk.join(file), text).expect("writes");
        }
        std::os::unix::fs::symlink(disk.join("vda1"), dir.path().join("block/254:1"))
            .expect("links");
        let one = DevNo {
            major: 254,
            minor: 1,
        };
        let counters = Counters::open_below(&dir.path().join("block"), one).expect("opens");
        assert_eq!(counters.dev().to_string(), "254:0");
        assert_eq!(counters.declares_cache(), Some(true));
        assert_eq!(counters.read().expect("reads").flushes, Some(3722));
        let other = DevNo { major: 0, minor: 9 };
        assert!(Counters::open_below(&dir.path().join("block"), other).is_err());
    }

    #[test]
    fn mapped_devices_lead_to_their_disks() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let block = dir.path().join("block");
        std::fs::create_dir_all(&block).expect("creates");
        let make = |path: &str, dev: &str| {
            let folder = dir.path().join(path);
            std::fs::create_dir_all(folder.join("slaves")).expect("creates");
            std::fs::write(folder.join("dev"), dev).expect("writes");
            std::os::unix::fs::symlink(&folder, block.join(dev)).expect("links");
            folder
        };
        let (sda, sdb) = (make("sda", "8:0"), make("sdb", "8:16"));
        let part = make("sda/sda1", "8:1");
        std::fs::write(part.join("partition"), "1").expect("writes");
        let (md, dm) = (make("md0", "9:0"), make("dm-0", "253:0"));
        for (above, below, name) in [(&md, &part, "sda1"), (&md, &sdb, "sdb"), (&dm, &md, "md0")] {
            std::os::unix::fs::symlink(below, above.join("slaves").join(name)).expect("links");
        }
        // A loop that no kernel makes must end all the same.
        std::os::unix::fs::symlink(&sda, sda.join("slaves/self")).expect("links");
        for (dev, want) in [
            ("8:16", vec!["8:16"]),
            ("253:0", vec!["8:0", "8:16"]),
            ("1:1", vec![]),
        ] {
            let mut found = Vec::new();
            collect_disks(&block, DevNo::parse(dev).expect("a number"), 16, &mut found);
            found.sort_unstable();
            found.dedup();
            let got: Vec<String> = found.iter().map(DevNo::to_string).collect();
            assert_eq!(got, want, "{dev}");
        }
    }

    #[test]
    fn flushes_are_counted_below_mappers_and_above_backing_disks() {
        let layer = |kind, dev: &str| Layer {
            dev: Some(dev.to_owned()),
            ..Layer::new(kind, "x")
        };
        use LayerKind::{DeviceMapper, Disk, FileSystem, Loop, Md, NetworkFileSystem, Partition};
        for (what, layers, depths, want) in [
            (
                "plain",
                vec![(FileSystem, "254:1"), (Partition, "254:1"), (Disk, "254:0")],
                vec![0, 1, 2],
                vec!["254:0"],
            ),
            (
                "loop",
                vec![(Loop, "7:0"), (FileSystem, "254:0"), (Disk, "254:0")],
                vec![0, 1, 2],
                vec!["7:0"],
            ),
            (
                "raid",
                vec![
                    (Md, "9:0"),
                    (Partition, "8:1"),
                    (Disk, "8:0"),
                    (Disk, "8:16"),
                ],
                vec![0, 1, 2, 1],
                vec!["8:0", "8:16"],
            ),
            (
                "lvm",
                vec![(DeviceMapper, "253:0"), (Disk, "8:0")],
                vec![0, 1],
                vec!["8:0"],
            ),
            ("nfs", vec![(NetworkFileSystem, "0:50")], vec![0], vec![]),
        ] {
            let stack = Stack {
                layers: layers.into_iter().map(|(k, d)| layer(k, d)).collect(),
                depths,
                ..Stack::default()
            };
            let got: Vec<String> = counted_devices(&stack)
                .iter()
                .map(DevNo::to_string)
                .collect();
            assert_eq!(got, want, "{what}");
        }
    }
}
