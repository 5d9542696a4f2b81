//! Requests to devices, joined to log files by where these lie.
//!
//! Invariants: a device that no range was given for is not followed, and its times are `None`; what
//! is kept of requests that are complete is bounded.

use super::{JoinCounts, JoinOutput, TracedFile};
use crate::observe::tracefs::events::BlockRequest;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Bytes of a sector in requests.
const SECTOR_BYTES: u64 = 512;
/// Requests that are complete and kept, at most.
const DONE_MAX: usize = 16_384;
/// Requests in flight, at most.
const OPEN_MAX: usize = 65_536;

/// A part of a log file on a device, in sectors of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogRange {
    /// Its first sector.
    pub begin: u64,
    /// The sector behind its last one.
    pub end: u64,
    /// The file.
    pub file: TracedFile,
}

/// What of the time of a log write the device took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTimes {
    /// Time for which the device was writing the log file.
    pub write_ns: u64,
    /// Time for which it was flushing its cache.
    pub flush_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct DoneRequest {
    begin_ns: u64,
    end_ns: u64,
    dev: u32,
    /// The file that it wrote; `None` of a flush.
    file: Option<TracedFile>,
}

/// The devices of the log files.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// Where the log files lie, sorted, by device.
    ranges: BTreeMap<u32, Vec<LogRange>>,
    /// Which device a file lies on.
    of_file: BTreeMap<TracedFile, u32>,
    /// When requests were issued, by device and first sector, and whether they flush.
    open: HashMap<(u32, u64, bool), u64>,
    done: VecDeque<DoneRequest>,
}

impl Devices {
    pub(super) fn place(&mut self, dev: u32, mut ranges: Vec<LogRange>) {
        ranges.sort_unstable();
        for range in &ranges {
            self.of_file.insert(range.file, dev);
        }
        self.ranges.insert(dev, ranges);
    }

    /// The log file that a request writes, and how many of its bytes: a file system may list what
    /// lies together as several extents.
    fn hit(&self, request: &BlockRequest) -> Option<(TracedFile, u64)> {
        let ranges = self.ranges.get(&request.dev)?;
        let end = request.sector.saturating_add(u64::from(request.sectors));
        let from = ranges.partition_point(|range| range.end <= request.sector);
        let hit = ranges
            .get(from..)?
            .iter()
            .take_while(|range| range.begin < end);
        let file = hit.clone().next()?.file;
        let sectors = hit
            .filter(|range| range.file == file)
            .map(|range| range.end.min(end) - range.begin.max(request.sector))
            .fold(0, u64::saturating_add);
        Some((file, sectors.saturating_mul(SECTOR_BYTES)))
    }

    fn is_followed(&self, request: &BlockRequest) -> bool {
        match request.is_flush {
            true => self.ranges.contains_key(&request.dev),
            false => request.is_write && self.hit(request).is_some(),
        }
    }

    pub(super) fn issued(&mut self, at: u64, request: &BlockRequest) {
        if self.is_followed(request) {
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            let key = (request.dev, request.sector, request.is_flush);
            self.open.insert(key, at);
        }
    }

    pub(super) fn done(
        &mut self,
        at: u64,
        request: &BlockRequest,
        counts: &mut JoinCounts,
        out: &mut JoinOutput,
    ) {
        let key = (request.dev, request.sector, request.is_flush);
        let Some(begin_ns) = self.open.remove(&key) else {
            return;
        };
        let hit = if request.is_flush {
            None
        } else {
            self.hit(request)
        };
        let took = at.saturating_sub(begin_ns);
        match hit {
            Some((_, bytes)) => {
                counts.device_writes += 1;
                counts.device_bytes = counts.device_bytes.saturating_add(bytes);
                out.device_writes_ns.push(took);
            }
            None if request.is_flush => out.device_flushes_ns.push(took),
            // Its range is another file's by now.
            None => return,
        }
        if self.done.len() >= DONE_MAX {
            self.done.pop_front();
        }
        self.done.push_back(DoneRequest {
            begin_ns,
            end_ns: at,
            dev: request.dev,
            file: hit.map(|(file, _)| file),
        });
    }

    /// What the device of `file` did for it within windows of time.
    pub(super) fn times(
        &self,
        file: TracedFile,
        windows: &mut [(u64, u64)],
    ) -> Option<DeviceTimes> {
        let dev = *self.of_file.get(&file)?;
        let first = windows.iter().map(|(begin, _)| *begin).min()?;
        let (mut writes, mut flushes) = (Vec::new(), Vec::new());
        for request in self.done.iter().rev() {
            if request.end_ns < first {
                break;
            }
            let into = match request.file {
                Some(of) if of == file => &mut writes,
                None if request.dev == dev => &mut flushes,
                _ => continue,
            };
            for (begin, end) in &*windows {
                let (begin, end) = (request.begin_ns.max(*begin), request.end_ns.min(*end));
                if begin < end {
                    into.push((begin, end));
                }
            }
        }
        Some(DeviceTimes {
            write_ns: union_ns(&mut writes),
            flush_ns: union_ns(&mut flushes),
        })
    }
}

/// Length of the union of stretches of time.
pub(super) fn union_ns(stretches: &mut [(u64, u64)]) -> u64 {
    stretches.sort_unstable();
    let (mut sum, mut until) = (0_u64, 0_u64);
    for (begin, end) in stretches.iter() {
        sum = sum.saturating_add(end.saturating_sub((*begin).max(until)));
        until = until.max(*end);
    }
    sum
}
