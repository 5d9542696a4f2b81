//! Which way of writing is the fastest here: durable writes at queue depth 1, each way in turn, on
//! a file of its own beside the log.
//!
//! What lives here: the measured loop ([`durable_writes`]) and the choice ([`best`]), which longer
//! measurements share; and the short probe before a log is opened ([`probe`]).
//!
//! Invariants: every way that is measured is durable by what the system promises (a flush or a
//! durable write each time); the file is removed at the end, also on failure; no write is begun
//! after the budget. A device that stalls makes it longer by the one write under way.
//!
//! What it must not know: redo blocks beyond their size.

use crate::error::DeviceError;
use crate::file::{Directory, DirectoryEntry, FileSet, SyncMethod};
use crate::file::{create_prewritten_at, lock_exclusive_at};
use crate::queue::{IoFailure, LogDevice, Op, OpKind, Piece, Queue};
use crate::region::Region;
use crate::uring::{UringFiles, UringOptions};
use measure::Histogram;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How operations are handed to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IoEngine {
    /// Calls that block, from the thread that writes.
    Threads,
    /// Rings: many operations at once from one thread.
    IoUring,
    /// What is faster for the log's way of writing.
    #[default]
    Auto,
}

impl IoEngine {
    /// Its name in options and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            IoEngine::Threads => "threads",
            IoEngine::IoUring => "io_uring",
            IoEngine::Auto => "auto",
        }
    }
}

impl std::str::FromStr for IoEngine {
    type Err = String;

    fn from_str(text: &str) -> Result<IoEngine, String> {
        [IoEngine::Threads, IoEngine::IoUring, IoEngine::Auto]
            .into_iter()
            .find(|io| io.name() == text)
            .ok_or_else(|| format!("unknown I/O engine `{text}`; use threads, io_uring or auto"))
    }
}

/// A way of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WriteMethod {
    /// How a write is made durable.
    pub method: SyncMethod,
    /// How it is handed to the system; never [`IoEngine::Auto`].
    pub io: IoEngine,
}

/// Durable writes that were timed.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Nanoseconds of each write with the flush behind it.
    pub total: Histogram,
    /// Nanoseconds of the writes alone, together.
    pub write_ns: u64,
    /// Nanoseconds of the flushes alone, together; zero where writes are durable.
    pub flush_ns: u64,
}

/// Why a durable write could not be timed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The device refused before anything was written.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A write or flush failed.
    #[error("a raw write: {0}")]
    Io(IoFailure),
    /// A write was cut short.
    #[error("a raw write was cut short at {wrote} of {wanted} bytes")]
    Short {
        /// Bytes that the device took.
        wrote: u64,
        /// Bytes that it was given.
        wanted: u64,
    },
}

/// A queue with noise to write, for [`durable_writes`].
pub struct TimedQueue {
    queue: Box<dyn Queue>,
    durable: bool,
    bytes: u64,
    /// Where the space that is written begins and ends.
    first: u64,
    end: u64,
    addr: u64,
    done: Vec<crate::queue::OpCompletion>,
}

impl TimedQueue {
    /// Writes of `bytes` to `device`, from the address `first` to its end.
    ///
    /// # Errors
    /// No memory, or a device that gives no queue.
    pub fn new(device: &dyn LogDevice, bytes: u64, first: u64) -> Result<TimedQueue, DeviceError> {
        let len = usize::try_from(bytes).unwrap_or(usize::MAX);
        let region = Arc::new(Region::holding(&measure::workload::pool(3, len))?);
        Ok(TimedQueue {
            queue: device.queue(region)?,
            durable: device.caps().durable_writes,
            bytes,
            first,
            end: device.bytes(),
            addr: first,
            done: Vec::with_capacity(1),
        })
    }

    /// The space has been written through once more since the last call.
    fn advance(&mut self) -> bool {
        self.addr += self.bytes;
        let wrapped = self.addr + self.bytes > self.end;
        if wrapped {
            self.addr = self.first;
        }
        wrapped
    }

    fn run(&mut self, kind: OpKind, expected: u64) -> Result<(), ProbeError> {
        self.queue.submit(&[Op { id: 1, kind }]);
        self.done.clear();
        while self.done.is_empty() {
            self.queue.poll(&mut self.done, true);
        }
        match self.done[0].result {
            Ok(bytes) if bytes == expected => Ok(()),
            Ok(wrote) => Err(ProbeError::Short {
                wrote,
                wanted: expected,
            }),
            Err(failure) => Err(ProbeError::Io(failure)),
        }
    }
}

/// Times durable writes one after the other while `go_on` says so; `once` ends at the end of the
/// device's space, which is otherwise written again from its beginning.
///
/// # Errors
/// The first write or flush that fails.
pub fn durable_writes(
    bench: &mut TimedQueue,
    once: bool,
    timing: &mut Timing,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<(), ProbeError> {
    let nanos = |since: Instant| u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
    while go_on(timing.total.count()) {
        let pieces = [
            Piece {
                at: 0,
                len: bench.bytes as usize,
            },
            Piece::default(),
        ];
        let start = Instant::now();
        let (addr, bytes) = (bench.addr, bench.bytes);
        bench.run(OpKind::Write { addr, pieces }, bytes)?;
        let wrote = nanos(start);
        if !bench.durable {
            bench.run(OpKind::Flush, 0)?;
        }
        let total = nanos(start);
        timing.total.record(total);
        timing.write_ns += wrote;
        if !bench.durable {
            timing.flush_ns += total - wrote;
        }
        if bench.advance() && once {
            return Ok(());
        }
    }
    Ok(())
}

/// Bytes of a small log write and of a group commit's: where ways are compared beside the log's
/// own block size.
pub const GROUP_BYTES: u64 = 128 << 10;

/// The way with the least product of its typical times over the sizes, of those that were measured
/// at all sizes: one that is a little faster at one and several times slower at another is no
/// choice for workloads of both kinds. Figures are way, bytes and nanoseconds.
#[must_use]
pub fn best<W: Copy + PartialEq>(figures: &[(W, u64, f64)]) -> Option<W> {
    let of = |way: W, bytes: u64| {
        let is_it = |f: &&(W, u64, f64)| f.0 == way && f.1 == bytes;
        figures.iter().find(is_it).map(|f| f.2)
    };
    let mut sizes: Vec<u64> = figures.iter().map(|f| f.1).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let score = |way: W| -> Option<f64> { sizes.iter().map(|bytes| of(way, *bytes)).product() };
    let scored = figures.iter().filter_map(|f| Some((f.0, score(f.0)?)));
    scored
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(way, _)| way)
}

/// What to probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbePlan {
    /// Bytes of a small write: the log's block.
    pub block_bytes: u32,
    /// Which engines: [`IoEngine::Auto`] measures both.
    pub io: IoEngine,
    /// How rings are made.
    pub uring: UringOptions,
    /// Writes of each way and size at most.
    pub writes: u64,
    /// Nothing is begun after so long.
    pub budget: Duration,
}

impl ProbePlan {
    /// For a log of such blocks: well under a second.
    #[must_use]
    pub fn for_log(block_bytes: u32, io: IoEngine, uring: UringOptions) -> ProbePlan {
        ProbePlan {
            block_bytes,
            io,
            uring,
            writes: 60,
            budget: Duration::from_millis(400),
        }
    }

    fn ways(&self) -> Vec<WriteMethod> {
        let engines: &[IoEngine] = match self.io {
            IoEngine::Auto => &[IoEngine::Threads, IoEngine::IoUring],
            IoEngine::Threads => &[IoEngine::Threads],
            IoEngine::IoUring => &[IoEngine::IoUring],
        };
        let with = |io| SyncMethod::ALL.map(|method| WriteMethod { method, io });
        engines.iter().copied().flat_map(with).collect()
    }
}

/// What was found for one way and size.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbedWay {
    /// The way.
    pub way: WriteMethod,
    /// Bytes of each write.
    pub bytes: u64,
    /// Durable writes that were timed.
    pub writes: u64,
    /// Their median, nanoseconds; `None` where none was timed.
    pub p50_ns: Option<u64>,
    /// Their mean, nanoseconds.
    pub mean_ns: Option<f64>,
    /// Why not, or why not more.
    pub refused: Option<String>,
}

/// Every way and size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeOutcome {
    /// In the order of measuring.
    pub found: Vec<ProbedWay>,
    /// The fastest.
    pub best: Option<WriteMethod>,
}

/// Name of the probe's file in the log's directory.
pub const FILE_NAME: &str = "redo.probe";
const FILE_BYTES: u64 = 4 << 20;
/// What its file begins with, so that one which is left over is known.
const HEAD: &[u8] = b"redolab probe: may be removed\n";
/// Bytes at the beginning that are not written over.
const HEAD_BYTES: u64 = 4096;
/// Writes at a time: the ways take turns in such small steps that a disturbance falls on all.
const STEP: u64 = 3;
/// Rings are chosen where they need at most this share of the time of calls that block: what is
/// nearer is noise, and one more thing that can be refused.
const RING_GAIN: f64 = 0.9;

/// Measures every way of `plan` on a file of its own in `directory`, whose log the caller has
/// locked. Ways that the system refuses are named with the reason.
///
/// # Errors
/// When the file cannot be made; nothing is left behind.
pub fn probe(directory: &Directory, plan: ProbePlan) -> Result<ProbeOutcome, DeviceError> {
    let at = directory.entry(FILE_NAME)?;
    remove_left_over(&at)?;
    // Removed at the end, also when a way of writing fails.
    let _scratch = create_prewritten_at(&at, FILE_BYTES, HEAD, 7, &|_| {}, &|| false)?;
    let small = u64::from(plan.block_bytes);
    let mut points = Vec::new();
    for way in plan.ways() {
        let device = open(directory, way, plan.uring);
        for bytes in [small, GROUP_BYTES.max(small)] {
            points.push(Point::new(way, bytes, &device));
        }
    }
    let (begun, mut aim) = (Instant::now(), 0);
    while aim < plan.writes && begun.elapsed() < plan.budget {
        aim = (aim + STEP).min(plan.writes);
        for point in &mut points {
            point.visit(aim, begun + plan.budget);
        }
    }
    let found: Vec<ProbedWay> = points.into_iter().map(Point::end).collect();
    Ok(ProbeOutcome {
        best: choose(&found),
        found,
    })
}

/// The best way; threads where rings are hardly better.
fn choose(found: &[ProbedWay]) -> Option<WriteMethod> {
    let figures = |f: &ProbedWay| {
        let gain = match f.way.io {
            IoEngine::IoUring => RING_GAIN,
            IoEngine::Threads | IoEngine::Auto => 1.0,
        };
        Some((f.way, f.bytes, f.p50_ns? as f64 / gain))
    };
    best(&found.iter().filter_map(figures).collect::<Vec<_>>())
}

fn open(
    directory: &Directory,
    way: WriteMethod,
    uring: UringOptions,
) -> Result<Arc<dyn LogDevice>, DeviceError> {
    let set = FileSet::open_at(directory, &[FILE_NAME.to_owned()], FILE_BYTES, way.method)?;
    if way.io == IoEngine::IoUring {
        uring.check()?;
        return Ok(Arc::new(UringFiles::new(set, uring)));
    }
    Ok(Arc::new(set))
}

/// One way and size being measured.
struct Point {
    way: WriteMethod,
    bytes: u64,
    bench: Option<TimedQueue>,
    timing: Timing,
    refused: Option<String>,
}

impl Point {
    fn new(
        way: WriteMethod,
        bytes: u64,
        device: &Result<Arc<dyn LogDevice>, DeviceError>,
    ) -> Point {
        let made = match device {
            Ok(device) => {
                let first = HEAD_BYTES.next_multiple_of(bytes);
                TimedQueue::new(&**device, bytes, first).map_err(|e| e.to_string())
            }
            Err(refused) => Err(refused.to_string()),
        };
        let (bench, refused) = match made {
            Ok(bench) => (Some(bench), None),
            Err(refused) => (None, Some(refused)),
        };
        Point {
            way,
            bytes,
            bench,
            timing: Timing::default(),
            refused,
        }
    }

    /// Writes on, up to `aim` in all, and begins none after `end`.
    fn visit(&mut self, aim: u64, end: Instant) {
        let Some(bench) = &mut self.bench else {
            return;
        };
        let mut go_on = |writes| writes < aim && Instant::now() < end;
        if let Err(error) = durable_writes(bench, false, &mut self.timing, &mut go_on) {
            // A way that fails once is no way, however fast it was before.
            (self.bench, self.timing) = (None, Timing::default());
            self.refused = Some(error.to_string());
        }
    }

    fn end(self) -> ProbedWay {
        let count = self.timing.total.count();
        let measured = count > 0;
        ProbedWay {
            way: self.way,
            bytes: self.bytes,
            writes: count,
            p50_ns: measured.then(|| self.timing.total.quantile_raw(0.5)),
            mean_ns: measured.then(|| self.timing.total.mean()),
            refused: self.refused.or_else(|| {
                let none = "no time was left for it".to_owned();
                (!measured).then_some(none)
            }),
        }
    }
}

/// Removes what a killed probe left; anything else of that name stays, and is reported.
fn remove_left_over(at: &DirectoryEntry) -> Result<(), DeviceError> {
    if !at.exists()? {
        return Ok(());
    }
    // The lock is advisory: it keeps this file alone, until it is gone.
    if matches!(at.file_bytes(), Ok(Some(bytes)) if bytes <= FILE_BYTES) {
        let held = lock_exclusive_at(at)?;
        if held.begins_with(HEAD) {
            return held.remove(at);
        }
    }
    Err(DeviceError::Unsuitable {
        path: at.path().to_owned(),
        what: "is in the way of the probe and is not a probe's; move it away, or name a sync \
               method"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests;
