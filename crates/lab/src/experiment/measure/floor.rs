//! The floor: raw durable writes at queue depth 1, by sync method, size and whether the file had
//! been written before. Nothing of the log is in the way.

use crate::budget::{Budget, pages};
use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use crate::experiment::guard::meter::FOLIO_BYTES;
use crate::experiment::target::site::{Site, prewrite};
use crate::signals::Interrupt;
use device::file::{CreatedFile, DirectoryEntry, create_fallocated_at, create_prewritten_at};
use device::probe::{GROUP_BYTES, ProbeError, TimedQueue, Timing, durable_writes};
use device::raw::{ClearedRawDevice, END_BYTES};
use device::{DeviceWindow, FileSet, SyncMethod};
use measure::run::FloorRow;
use measure::{Clock, Nanos, RealClock};
use std::sync::Arc;

/// Bytes of the file that is written.
pub const FILE_BYTES: u64 = 64 << 20;

/// One point of the floor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// How writes are made durable.
    pub method: SyncMethod,
    /// Bytes of each write, at most [`FILE_BYTES`].
    pub bytes: u64,
    /// On a file written before; otherwise on blocks that are only allocated.
    pub pre_written: bool,
}

/// The points of `probe`.
#[must_use]
pub fn full() -> Vec<Point> {
    let mut points = Vec::new();
    for method in SyncMethod::ALL {
        for bytes in [4, 8, 16, 32, 64, 128, 256, 1024].map(|k| k << 10) {
            points.push(Point {
                method,
                bytes,
                pre_written: true,
            });
        }
        points.push(Point {
            method,
            bytes: 4096,
            pre_written: false,
        });
    }
    points.extend(large());
    points
}

/// As much as a flush ever has to make durable here, from the page cache and from the device's own
/// cache: whether a flush takes longer with more to flush.
fn large() -> [Point; 2] {
    [SyncMethod::Buffered, SyncMethod::Direct].map(|method| Point {
        method,
        bytes: FILE_BYTES,
        pre_written: true,
    })
}

/// The points that `check` needs: every method small and at the size of a group commit, what
/// pre-writing is worth, and whether a flush takes longer with more to flush.
#[must_use]
pub fn short() -> Vec<Point> {
    let mut points = Vec::new();
    for method in SyncMethod::ALL {
        for bytes in [4096, GROUP_BYTES] {
            points.push(Point {
                method,
                bytes,
                pre_written: true,
            });
        }
    }
    points.push(Point {
        method: SyncMethod::Direct,
        bytes: 1 << 20,
        pre_written: true,
    });
    points.push(Point {
        method: SyncMethod::Direct,
        bytes: 4096,
        pre_written: false,
    });
    points.extend(large());
    points
}

/// What the floor may write.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    /// The budget.
    pub budget: &'a Budget,
    /// The floor ends when so much of it is used.
    pub ends_at: u64,
}

impl Allowed<'_> {
    /// Bytes that each of `points` points may still write.
    pub(crate) fn share(&self, points: usize) -> u64 {
        let left = self.ends_at.saturating_sub(self.budget.used());
        left.min(self.budget.left()) / points.max(1) as u64
    }
}

/// A point is left out that could make fewer writes.
const LEAST_WRITES: u64 = 4;
/// Registering and making a file, beside its bytes.
const FILE_COST_BYTES: u64 = 64 << 10;

/// [`FILE_BYTES`] of a site that were all written before, for the floor's writes.
pub(crate) enum FloorGround<'a> {
    /// A file in a folder.
    File(&'a WorkFolder, DirectoryEntry),
    /// The beginning of a raw device.
    Device(&'a ClearedRawDevice),
}

impl FloorGround<'_> {
    /// Writes the place, which takes its bytes from `budget`.
    pub(crate) fn make<'a>(
        site: &'a Site,
        budget: &Budget,
        interrupt: &Interrupt,
    ) -> Result<FloorGround<'a>, Failure> {
        budget.take(FILE_BYTES + FILE_COST_BYTES)?;
        let cancel = || interrupt.requested();
        match site {
            Site::Folders(folders) => {
                let folder = &folders[0];
                let written = register(folder, "probe.dat")?;
                match create_prewritten_at(&written, FILE_BYTES, &[], 1, &|_| {}, &cancel) {
                    Err(_) if cancel() => return Err(Failure::Interrupted),
                    made => made?.keep(),
                }
                Ok(FloorGround::File(folder, written))
            }
            Site::Device(device) => {
                prewrite(device, FILE_BYTES, &cancel)?;
                Ok(FloorGround::Device(device))
            }
        }
    }

    /// A queue that writes `point` there.
    pub(crate) fn queue(&self, point: Point) -> Result<TimedQueue, Failure> {
        match self {
            FloorGround::File(_, at) => file_queue(at, point),
            FloorGround::Device(device) => {
                let space = Arc::new(device.held().space(point.method)?);
                let path = device.held().look().path();
                let window = DeviceWindow::new(space, END_BYTES, FILE_BYTES, path)?;
                Ok(TimedQueue::new(&window, point.bytes, 0)?)
            }
        }
    }
}

/// Called before each point with how many are done, and with the figures of the last one.
pub(crate) type FloorProgress<'a> = dyn Fn(usize, Option<&FloorRow>) -> Result<(), Failure> + 'a;

/// Measures `points`, each for `time`, on `ground`. A point whose method the file system refuses
/// is left out and named in the second value, as is one that `allowed` has no room for. A raw
/// device has no blocks that are allocated and not written: those points are left out there.
///
/// # Errors
/// An interrupt, a device that fails, or what `progress` says before each point, which it is given
/// with the last one's figures.
pub(crate) fn measure(
    ground: &FloorGround<'_>,
    points: &[Point],
    time: Nanos,
    allowed: Allowed<'_>,
    interrupt: &Interrupt,
    progress: &FloorProgress<'_>,
) -> Result<(Vec<FloorRow>, Vec<String>), Failure> {
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for (done, point) in points.iter().enumerate() {
        progress(done, rows.last())?;
        if interrupt.requested() {
            return Err(Failure::Interrupted);
        }
        // A share is kept for the comparison of processors, which follows.
        let share = allowed.share(points.len() + 1 - done);
        let mut meter = PointMeter::new(allowed.budget, share, *point);
        if !meter.fits() {
            refused.push(format!(
                "{} writes of {}: --max-write leaves no room",
                point.method,
                measure::words::size(point.bytes)
            ));
            continue;
        }
        let queue = match (point.pre_written, ground) {
            (true, _) => ground.queue(*point),
            (false, FloorGround::Device(_)) => continue,
            (false, FloorGround::File(folder, _)) => {
                allowed.budget.take(FILE_COST_BYTES)?;
                let fresh = register(folder, &format!("probe-{done}.dat"))?;
                create_fallocated_at(&fresh, FILE_BYTES)
                    .map(CreatedFile::keep)
                    .map_err(Failure::from)
                    .and_then(|()| file_queue(&fresh, *point))
            }
        };
        let outcome = queue.and_then(|queue| one(queue, *point, time, &mut meter, interrupt));
        match outcome {
            Ok(row) => rows.push(row),
            Err(Failure::Device(error)) => refused.push(format!("{}: {error}", point.method)),
            Err(other) => return Err(other),
        }
    }
    refused.dedup();
    Ok((rows, refused))
}

/// A point in short: `4 KiB direct: 0.110 ms`, the median where it is known.
pub(crate) fn in_words(row: &FloorRow) -> String {
    let typical = row
        .latency
        .p50_ns
        .map_or(row.latency.mean_ns, |ns| ns as f64);
    format!(
        "durable write of {} in {} ({})",
        measure::words::size(row.write_bytes),
        measure::words::latency(typical),
        measure::words::sanitize::line(&row.sync_method),
    )
}

/// Asks for each write of a point before it is made.
pub(crate) struct PointMeter<'a> {
    budget: &'a Budget,
    /// The point ends when so much of the budget is used.
    ends_at: u64,
    /// What a write costs, and what the kernel may charge for it.
    cost: u64,
    worst: u64,
    share: u64,
    cached: bool,
    taken: bool,
}

impl<'a> PointMeter<'a> {
    pub(crate) fn new(budget: &'a Budget, share: u64, point: Point) -> PointMeter<'a> {
        let cached = matches!(point.method, SyncMethod::Buffered | SyncMethod::Dsync);
        let cost = if cached {
            pages(point.bytes)
        } else {
            point.bytes.max(4096)
        };
        // The page cache charges whole folios, which larger writes before may have left.
        let worst = if cached { cost + 2 * FOLIO_BYTES } else { cost };
        PointMeter {
            budget,
            ends_at: budget.used().saturating_add(share),
            cost,
            worst,
            share,
            cached,
            taken: false,
        }
    }

    pub(crate) fn fits(&self) -> bool {
        self.budget.limit().is_none() || self.share / LEAST_WRITES >= self.worst
    }

    /// Whether a further write may be made; it is charged. Called between writes, so that nothing
    /// of it is in what is timed.
    pub(crate) fn next(&mut self) -> bool {
        if self.budget.limit().is_none() {
            return true;
        }
        if std::mem::take(&mut self.taken) {
            self.budget.give_back(self.worst - self.cost);
            if self.cached {
                self.budget.compare();
            }
        }
        let fits = self.budget.used().saturating_add(self.worst) <= self.ends_at;
        self.taken = fits && self.budget.take(self.worst).is_ok();
        self.taken
    }
}

impl Drop for PointMeter<'_> {
    fn drop(&mut self) {
        if self.taken {
            self.budget.give_back(self.worst - self.cost);
        }
        self.budget.compare();
    }
}

fn register(folder: &WorkFolder, name: &str) -> Result<DirectoryEntry, Failure> {
    folder
        .register(name)
        .map_err(Failure::system("registering a file"))
}

fn file_queue(at: &DirectoryEntry, point: Point) -> Result<TimedQueue, Failure> {
    let names = [at.name()];
    let file = FileSet::open_at(at.directory(), &names, FILE_BYTES, point.method)?;
    Ok(TimedQueue::new(&file, point.bytes, 0)?)
}

fn one(
    mut bench: TimedQueue,
    point: Point,
    time: Nanos,
    meter: &mut PointMeter<'_>,
    interrupt: &Interrupt,
) -> Result<FloorRow, Failure> {
    let mut timing = Timing::default();
    let clock = RealClock::new();
    let end = clock.now().plus(time);
    let mut go_on = |_| clock.now() < end && !interrupt.requested() && meter.next();
    // Allocated blocks lose their state with the first write: the file is gone through once.
    let once = !point.pre_written;
    durable_writes(&mut bench, once, &mut timing, &mut go_on).map_err(|e| failure(&e))?;
    let count = timing.total.count().max(1) as f64;
    Ok(FloorRow {
        sync_method: point.method.name().to_owned(),
        pre_written: point.pre_written,
        write_bytes: point.bytes,
        writes_per_s: 1e9 / timing.total.mean().max(1.0),
        latency: timing.total.stats(),
        write_mean_ns: timing.write_ns as f64 / count,
        flush_mean_ns: timing.flush_ns as f64 / count,
    })
}

pub(crate) fn failure(error: &ProbeError) -> Failure {
    let kind = match error {
        ProbeError::Io(failure) => std::io::Error::from_raw_os_error(failure.errno),
        ProbeError::Short { .. } => std::io::Error::from(std::io::ErrorKind::WriteZero),
        ProbeError::Device(_) => std::io::Error::other("refused"),
    };
    let what = match error {
        ProbeError::Io(_) => "a raw write".to_owned(),
        other => other.to_string(),
    };
    Failure::System { what, source: kind }
}

/// The method for a log, by the same rule as the probe when a log is opened: see
/// [`device::probe::best`].
#[must_use]
pub fn best(rows: &[FloorRow]) -> Option<SyncMethod> {
    let typical = |r: &FloorRow| r.latency.p50_ns.map_or(r.latency.mean_ns, |p50| p50 as f64);
    let compared = |r: &&FloorRow| r.pre_written && matches!(r.write_bytes, 4096 | GROUP_BYTES);
    let figures: Vec<(SyncMethod, u64, f64)> = rows
        .iter()
        .filter(compared)
        .filter_map(|r| Some((r.sync_method.parse().ok()?, r.write_bytes, typical(r))))
        .collect();
    device::probe::best(&figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::WaitStats;

    #[test]
    fn the_method_is_good_at_small_and_at_grouped_writes() {
        let row = |method: SyncMethod, write_bytes, p50| FloorRow {
            sync_method: method.name().to_owned(),
            pre_written: true,
            write_bytes,
            writes_per_s: 1.0,
            latency: WaitStats {
                count: 100,
                p50_ns: Some(p50),
                ..WaitStats::default()
            },
            write_mean_ns: 1.0,
            flush_mean_ns: 1.0,
        };
        let rows = [
            row(SyncMethod::Buffered, 4096, 196_000),
            row(SyncMethod::Buffered, 131_072, 275_000),
            row(SyncMethod::Dsync, 4096, 180_000),
            row(SyncMethod::Dsync, 131_072, 1_278_000),
        ];
        assert_eq!(best(&rows), Some(SyncMethod::Buffered));
        assert_eq!(best(&rows[2..]), Some(SyncMethod::Dsync));
        assert_eq!(best(&[]), None);
    }
}
