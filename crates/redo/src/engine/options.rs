//! What a log is made of and how it is run.

use super::archive::ArchiveMode;
use super::observer::{BatchEvent, LogWrite, Observer};
pub use super::paths::{LogPlace, Paths};
use crate::error::{Error, ShapeError};
use crate::format::{BLOCK_HEADER_BYTES, FILE_HEADER_MIN_BYTES};
use crate::group::{Geometry, MAX_FILE_BYTES, MAX_SEAL_BYTES};
use crate::members::MemberClock;
use crate::planted::Planted;
use crate::recovery::DamageScan;
use crate::setters::setters;
use crate::sync::EngineClock;
use crate::triggers::Triggers;
use crate::turn::{Leadership, Rules};
use crate::writer::{LogFileSync, MAX_DEPTH, Policy};
use device::file::SyncMethod;
use device::{Caps, DeviceError, IoEngine, UringOptions};
use measure::Nanos;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Which thread writes the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogWriter {
    /// A session that commits alone writes for itself, as with [`LogWriter::Inline`]. For several a
    /// dedicated thread writes, as with [`LogWriter::Lgwr`], or one of them does, whatever commits
    /// more under the load that there is.
    #[default]
    Auto,
    /// A committing foreground takes the baton and writes for all (the leader). A fallback log
    /// writer serves commits that nobody waits for.
    Inline,
    /// A dedicated thread writes; foregrounds post it.
    Lgwr,
    /// A dedicated thread decides, and so many workers write, with as many batches in flight: 1 to
    /// [`MAX_DEPTH`]. Where the device's queues do not block (io_uring) there are no workers, only
    /// so many batches in flight.
    Workers(u32),
    /// As [`LogWriter::Lgwr`] or as [`LogWriter::Workers`] with four, whatever publishes more under
    /// the load that there is.
    Adaptive,
}

/// Workers of an adaptive log writer.
const ADAPTIVE_WORKERS: u32 = 4;

impl LogWriter {
    /// Its name in options and results: `auto`, `inline`, `lgwr`, `workers=3`, `adaptive`.
    #[must_use]
    pub fn name(self) -> String {
        self.to_string()
    }

    /// Its workers, if it has any.
    #[must_use]
    pub const fn workers(self) -> Option<u32> {
        match self {
            LogWriter::Auto | LogWriter::Inline | LogWriter::Lgwr => None,
            LogWriter::Workers(count) => Some(count),
            LogWriter::Adaptive => Some(ADAPTIVE_WORKERS),
        }
    }

    /// How foregrounds wait with it unless asked otherwise.
    #[must_use]
    pub const fn usual_log_file_sync(self) -> LogFileSync {
        match self {
            LogWriter::Auto => LogFileSync::Adaptive,
            _ => LogFileSync::PostWait,
        }
    }
}

impl std::fmt::Display for LogWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogWriter::Auto => f.pad("auto"),
            LogWriter::Inline => f.pad("inline"),
            LogWriter::Lgwr => f.pad("lgwr"),
            LogWriter::Workers(count) => f.pad(&format!("workers={count}")),
            LogWriter::Adaptive => f.pad("adaptive"),
        }
    }
}

impl std::str::FromStr for LogWriter {
    type Err = String;

    fn from_str(text: &str) -> Result<LogWriter, String> {
        let most = MAX_DEPTH as u32;
        match (text, text.strip_prefix("workers=")) {
            ("auto", _) => Ok(LogWriter::Auto),
            ("inline", _) => Ok(LogWriter::Inline),
            ("lgwr", _) => Ok(LogWriter::Lgwr),
            ("adaptive", _) => Ok(LogWriter::Adaptive),
            (_, Some(count)) => match count.parse() {
                Ok(count) if (1..=most).contains(&count) => Ok(LogWriter::Workers(count)),
                _ => Err(format!(
                    "`{count}` workers; use workers=1 to workers={most}"
                )),
            },
            (other, None) => Err(format!(
                "unknown log writer `{other}`; use auto, inline, lgwr, workers=N (1 to {most}) or \
                 adaptive"
            )),
        }
    }
}

/// The shape of a new log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shape {
    /// Redo block size: 512 or 4096; `None` takes the physical sector's, within these.
    pub block_bytes: Option<u32>,
    /// Log groups, 2 to 1024.
    pub groups: u32,
    /// Bytes of each log file, a multiple of 4096.
    pub file_bytes: u64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape::new()
    }
}

setters!(const Shape {
    /// This shape with another redo block size: 512, 4096, or `None` for the device's.
    block_bytes: Option<u32>,
    /// This shape with so many log groups, 2 to 1024.
    groups: u32,
    /// This shape with log files of so many bytes, a multiple of 4096.
    file_bytes: u64,
});

impl Shape {
    /// Three log groups of 256 MiB, with the device's block size.
    #[must_use]
    pub const fn new() -> Shape {
        Shape {
            block_bytes: None,
            groups: 3,
            file_bytes: 256 << 20,
        }
    }

    /// Refuses what no log can be, on whatever device.
    ///
    /// # Errors
    /// What to change.
    pub fn check(&self) -> Result<(), ShapeError> {
        let smallest = self.block_bytes.unwrap_or(512);
        self.lay_out(smallest, 512).map(|_| ())
    }

    /// The geometry of such a log on a device of these capabilities.
    ///
    /// # Errors
    /// [`DeviceError::BlockSize`] when the device's sectors are larger than the block, and
    /// [`ShapeError`] for what no log can be.
    pub fn geometry(&self, caps: &Caps, path: &Path) -> Result<Geometry, Error> {
        let physical = caps.physical_bytes.max(512);
        let block_bytes = self
            .block_bytes
            .unwrap_or(if physical > 512 { 4096 } else { 512 });
        let geometry = self.lay_out(block_bytes, physical)?;
        if block_bytes < caps.logical_bytes {
            return Err(Error::Device(DeviceError::BlockSize {
                path: path.to_owned(),
                block: block_bytes.into(),
                logical: caps.logical_bytes.into(),
                physical: physical.into(),
            }));
        }
        Ok(geometry)
    }

    /// The geometry with such blocks on such physical sectors.
    fn lay_out(&self, block_bytes: u32, physical: u32) -> Result<Geometry, ShapeError> {
        if !matches!(block_bytes, 512 | 4096) {
            return Err(ShapeError::BlockBytes { bytes: block_bytes });
        }
        if !(2..=1024).contains(&self.groups) {
            return Err(ShapeError::Groups {
                groups: self.groups,
            });
        }
        if u64::from(physical) > MAX_SEAL_BYTES {
            return Err(ShapeError::PhysicalSector { bytes: physical });
        }
        let header_bytes = FILE_HEADER_MIN_BYTES.max(physical.into());
        let seal_bytes = block_bytes.max(physical);
        let room = self.file_bytes.saturating_sub(header_bytes);
        let blocks_per_group = room / u64::from(seal_bytes) * u64::from(seal_bytes / block_bytes);
        if !self.file_bytes.is_multiple_of(4096)
            || blocks_per_group < 64
            || self.file_bytes > MAX_FILE_BYTES
        {
            return Err(ShapeError::FileBytes {
                bytes: self.file_bytes,
            });
        }
        Ok(Geometry {
            block_bytes,
            seal_blocks: seal_bytes / block_bytes,
            groups: self.groups,
            blocks_per_group,
            header_bytes,
            file_bytes: self.file_bytes,
        })
    }
}

/// How a log is run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How writes are made durable; with `probe`, only where the probe cannot tell.
    pub sync_method: SyncMethod,
    /// How operations are handed to the system. `Auto` takes rings where a dedicated log writer
    /// overlaps batches, what a probe finds faster where there is one, and threads otherwise.
    pub io: IoEngine,
    /// How rings are made.
    pub uring: UringOptions,
    /// Measure the ways of writing beside the log before it is opened, which takes well under a
    /// second, and take the fastest.
    pub probe: bool,
    /// Which thread writes the log.
    pub log_writer: LogWriter,
    /// Bytes of the log buffer, 1 MiB to 1 GiB.
    pub buffer_bytes: usize,
    /// Put the log buffer in huge pages that were reserved, if any. Without it it has transparent
    /// ones where the system gives them ([`device::RegionOptions`]).
    pub huge_pages: bool,
    /// How foregrounds wait until their redo is durable; `None` for what is usual with the log
    /// writer ([`LogWriter::usual_log_file_sync`]).
    pub log_file_sync: Option<LogFileSync>,
    /// What makes the log writer write.
    pub triggers: Triggers,
    /// Lock the log buffer in memory where the limit of locked memory allows it.
    pub lock_memory: bool,
    /// The writer's parameters; `durable_writes` is set by the device.
    pub policy: Policy,
    /// CPUs that the log writer's threads, workers included, stay on; none in particular when
    /// empty.
    pub log_writer_cpus: Vec<usize>,
    /// How much is read behind the end of the redo when the log is opened.
    pub damage_scan: DamageScan,
    /// A log write of which a member takes longer is an outlier
    /// ([`MemberState::slow`](super::MemberState::slow)); 500 ms as Oracle counts them.
    pub outlier: Duration,
    /// A member that has something to do and completes nothing for so long is given up, if others
    /// have everything that was acknowledged: the longest time for which one member can hold up a
    /// mirror; 30 s. One that is behind by more than a log buffer is given up sooner.
    pub member_patience: Duration,
    /// A member that was given up is copied again while the log is in use, so long after it was
    /// given up; 1 s. After each attempt that fails the pause is doubled, up to 5 minutes. `None`
    /// for members that return only when the log is opened again.
    pub member_retry: Option<Duration>,
    /// Whether log files are reused only when they were archived.
    pub archive_mode: ArchiveMode,
    /// Clock of every time that the log reports; `None` for one that begins when the log is opened.
    /// Logs that share a clock report times that can be compared.
    pub clock: Option<EngineClock>,
    /// The clock by which members are late; `None` for the log's own. For tests.
    pub(crate) member_clock: Option<MemberClock>,
    /// Called for each log write.
    pub observer: Option<Observer>,
    /// Keep the writer's history, to replay it. Grows without bound: for tests.
    pub record_history: bool,
    /// A bug that a test plants.
    #[doc(hidden)]
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sync_method: SyncMethod::Direct,
            io: IoEngine::Auto,
            uring: UringOptions::default(),
            probe: false,
            log_writer: LogWriter::Auto,
            buffer_bytes: 16 << 20,
            huge_pages: false,
            log_file_sync: None,
            triggers: Triggers::default(),
            lock_memory: false,
            policy: Policy::default(),
            log_writer_cpus: Vec::new(),
            damage_scan: DamageScan::default(),
            outlier: Duration::from_millis(500),
            member_patience: Duration::from_secs(30),
            member_retry: Some(Duration::from_secs(1)),
            archive_mode: ArchiveMode::default(),
            clock: None,
            member_clock: None,
            observer: None,
            record_history: false,
            planted: Planted::none(),
        }
    }
}

setters!(Options {
    /// Sets how writes become durable: with a flush, or with each write. Default: `Direct`.
    sync_method: SyncMethod,
    /// Sets how reads, writes and flushes are given to the system: calls that block, or io_uring.
    io: IoEngine,
    /// Sets how rings of io_uring are made.
    uring: UringOptions,
    /// Sets whether opening measures the sync methods and I/O engines first, and takes the fastest.
    /// Default: no.
    probe: bool,
    /// Sets which thread writes the log. Default: `Auto`.
    log_writer: LogWriter,
    /// Sets the size of the log buffer in bytes. Default: 16 MiB.
    buffer_bytes: usize,
    /// Sets whether the log buffer takes huge pages that were reserved. Default: no.
    huge_pages: bool,
    /// Sets what makes the log writer write. Default: all triggers.
    triggers: Triggers,
    /// Sets whether the log buffer is locked in memory. Default: no.
    lock_memory: bool,
    /// Sets the parameters of the log writer.
    policy: Policy,
    /// Sets the CPUs of the log writer's threads. Default: empty, which means any CPU.
    log_writer_cpus: Vec<usize>,
    /// Sets how far opening searches for damage behind the end of the redo.
    damage_scan: DamageScan,
    /// Sets the time above which a log write of a member counts as an outlier. Default: 500 ms.
    outlier: Duration,
    /// Sets how long a member that has something to do may complete nothing before it is given up.
    /// Default: 30 s.
    member_patience: Duration,
    /// Sets the pause before a member that was given up is copied again. Default: 1 s; `None`: only
    /// the next opening copies it.
    member_retry: Option<Duration>,
    /// Sets whether a log file is reused only after it was archived.
    archive_mode: ArchiveMode,
    /// Sets whether the log writer's history is kept, which grows without bound: for tests.
    record_history: bool,
    /// Plants a bug: for tests.
    #[doc(hidden)]
    planted: Planted,
});

impl Options {
    /// Sets how foregrounds wait until their redo is durable.
    #[must_use]
    pub fn log_file_sync(mut self, log_file_sync: LogFileSync) -> Options {
        self.log_file_sync = Some(log_file_sync);
        self
    }

    /// Sets the clock of every time that the log reports, so that logs can share one.
    #[must_use]
    pub fn clock(mut self, clock: EngineClock) -> Options {
        self.clock = Some(clock);
        self
    }

    /// Sets the clock by which members are late: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn member_clock(mut self, clock: Arc<dyn measure::Clock>) -> Options {
        self.member_clock = Some(MemberClock(clock));
        self
    }

    /// The clock by which members are late.
    pub(super) fn clock_of_members(&mut self) -> Arc<dyn measure::Clock> {
        let own = *self.clock.get_or_insert_with(EngineClock::default);
        let given = self.member_clock.as_ref();
        given.map_or_else(|| Arc::new(own) as _, |given| Arc::clone(&given.0))
    }

    /// How turns are taken with these.
    pub(super) fn rules(&self, way: Leadership, policy: &Policy) -> Rules {
        Rules {
            way,
            triggers: self.triggers,
            log_file_sync: self
                .log_file_sync
                .unwrap_or(self.log_writer.usual_log_file_sync()),
            may_poll: device::cpus::several(),
            defers: policy.defer_bytes > 0 && !policy.durable_writes,
            planted: self.planted,
        }
    }

    /// The writer's parameters on a device of these capabilities.
    ///
    /// # Errors
    /// A number of workers that is not accepted.
    pub(super) fn writer_policy(&self, caps: &Caps) -> Result<Policy, Error> {
        let mut policy = Policy {
            durable_writes: caps.durable_writes,
            defer_time: self.triggers.period.map_or(Nanos(u64::MAX), |period| {
                Nanos(u64::try_from(period.as_nanos()).unwrap_or(u64::MAX))
            }),
            ..self.policy
        };
        if let Some(count) = self.log_writer.workers() {
            if !(1..=MAX_DEPTH as u32).contains(&count) {
                return Err(Error::Workers { count });
            }
            policy.depth = count;
        }
        policy.adaptive = match self.log_writer {
            LogWriter::Adaptive => Some(self.policy.adaptive.unwrap_or_default()),
            _ => None,
        };
        Ok(policy)
    }

    /// Blocks of the log buffer for such a log: what fits, no more than one log holds, so that
    /// a batch lies in two logs at most.
    ///
    /// # Errors
    /// A log buffer of a size that is not accepted.
    pub fn ring_blocks(&self, geometry: &Geometry) -> Result<u64, Error> {
        if !(1 << 20..=1 << 30).contains(&self.buffer_bytes) {
            return Err(Error::Buffer {
                bytes: self.buffer_bytes,
            });
        }
        let blocks = self.buffer_bytes as u64 / u64::from(geometry.block_bytes);
        let most = geometry.blocks_per_group;
        let seal = u64::from(geometry.seal_blocks);
        Ok((blocks.min(most) / seal * seal).max(seal))
    }
}

impl Options {
    /// Sets an observer, which the holder of the baton calls for each log write. It must
    /// be quick and must not call the log. Logs that are opened with clones of these options share
    /// it, and take a lock for each call.
    #[must_use]
    pub fn observer(self, mut observe: impl FnMut(&LogWrite) + Send + 'static) -> Options {
        self.observe_batches(move |event| {
            if let BatchEvent::Durable(write) = event {
                observe(write);
            }
        })
    }

    /// As [`Options::observer`], and calls it also when a batch is written: redo that nobody waits
    /// for may be durable much later.
    #[must_use]
    pub fn observe_batches(
        mut self,
        observe: impl FnMut(BatchEvent<'_>) + Send + 'static,
    ) -> Options {
        self.observer = Some(Observer::new(observe));
        self
    }
}

const _: () = assert!(
    BLOCK_HEADER_BYTES < 512,
    "the smallest block holds its header"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_log_can_be_is_refused_by_name() {
        let good = Shape::default();
        let block = |bytes| Shape {
            block_bytes: Some(bytes),
            ..good
        };
        let groups = |groups| Shape { groups, ..good };
        let file = |file_bytes| Shape { file_bytes, ..good };
        for shape in [good, block(512), block(4096), groups(2), groups(1024)] {
            assert_eq!(shape.check(), Ok(()), "{shape:?}");
        }
        for shape in [file(512 << 10), file(1 << 40)] {
            assert_eq!(shape.check(), Ok(()), "{shape:?}");
        }
        for bytes in [0, 256, 1024, 8192] {
            let refused = Err(ShapeError::BlockBytes { bytes });
            assert_eq!(block(bytes).check(), refused);
        }
        for count in [0, 1, 1025] {
            let refused = Err(ShapeError::Groups { groups: count });
            assert_eq!(groups(count).check(), refused);
        }
        for bytes in [0, 4096, (512 << 10) + 512, (1 << 40) + 4096] {
            let refused = Err(ShapeError::FileBytes { bytes });
            assert_eq!(file(bytes).check(), refused);
        }
    }

    /// The smallest file has its header and 64 blocks, on sectors of any size; the largest sector
    /// is what a batch is padded to at most.
    #[test]
    fn the_smallest_file_and_the_largest_sector() {
        for (block, sector, header) in [
            (512, 512, 4096),
            (512, 4096, 4096),
            (4096, 4096, 4096),
            (4096, 65_536, 65_536),
        ] {
            let file_bytes = header + 64 * u64::from(block);
            let shape = Shape::new().file_bytes(file_bytes);
            let made = shape.lay_out(block, sector).expect("as small as can be");
            assert_eq!((made.blocks_per_group, made.header_bytes), (64, header));
            assert_eq!(made.seal_blocks, sector / block);
            let bytes = file_bytes - 4096;
            let smaller = shape.file_bytes(bytes).lay_out(block, sector);
            assert_eq!(
                smaller,
                Err(ShapeError::FileBytes { bytes }),
                "{block} {sector}"
            );
        }
        let most = MAX_SEAL_BYTES as u32;
        assert!(Shape::new().lay_out(4096, most).is_ok());
        let bytes = 2 * most;
        let refused = Err(ShapeError::PhysicalSector { bytes });
        assert_eq!(Shape::new().lay_out(4096, bytes), refused);
    }
}
