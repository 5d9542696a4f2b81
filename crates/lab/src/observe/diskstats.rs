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

use super::topology::{DevNo, whole_disk};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of the sectors that the kernel counts in, whatever the device's are.
pub const SECTOR_BYTES: u64 = 512;
/// Longest counter file that is read.
const STAT_MAX_BYTES: usize = 1024;

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
    /// Parses `/sys/dev/block/M:m/stat`. More fields than 17 are a later kernel's and ignored;
    /// fewer than 11 are none.
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

    /// Requests completed, of every kind that is counted.
    #[must_use]
    pub fn completed(&self) -> u64 {
        let optional = self.discards.unwrap_or(0) + self.flushes.unwrap_or(0);
        self.reads + self.writes + optional
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
