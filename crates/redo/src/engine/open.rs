//! Opening a log: files, headers, control information, recovery, threads.
//!
//! Invariant: the directory is opened once; everything in it is reached through its descriptor.

use super::back_end::{self, BackEnd};
use super::core::Core;
use super::create::{has_lived, unfinished_log};
use super::headers::{expect_control, open_control, open_logs};
use super::host::Host;
use super::options::{LogWriter, Options, Paths};
use super::view::View;
use super::{HeldLog, Log, lgwr, stripe};
use crate::buffer::{LogBuffer, Memory};
use crate::control::{CONTROL_BYTES, ControlFile};
use crate::error::Error;
use crate::format::{LifeId, Summer};
use crate::group::Geometry;
use crate::recovery::{Recovery, recover};
use crate::sync::{EngineClock, Mutex};
use crate::turn::{Leadership, SharedBaton};
use crate::writer::{MAX_DEPTH, Writer};
use device::file::{Directory, FileSet, LockGuard, lock_exclusive_at};
use device::pool::{WorkerStats, Workers};
use device::{Caps, DeviceError, LogDevice, Queue, Region, RegionOptions};
use measure::Clock;
use std::path::Path;
use std::sync::Arc;

impl Log {
    /// Opens the log in `directory` and recovers it.
    pub(super) fn open_at(
        directory: &Directory,
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let path = directory.path();
        let at = directory.entry(Paths::CONTROL)?;
        require_log(directory)?;
        let lock = lock_exclusive_at(&at)?;
        // Its creator may have been killed before the name was durable.
        directory.sync()?;
        let control = open_control(&at)?;
        let block_bytes = control.info().geometry.block_bytes;
        let chosen = back_end::choose(Some(directory), block_bytes, &options);
        let set = open_logs(directory, control.info(), chosen.method)?;
        let (data, back_end) = chosen.device(set.clone(), &options, &lock);
        let (mut log, recovery) = Log::start(data, control, path, options, vec![lock])?;
        log.keep_files(vec![set]);
        log.say_first(back_end);
        Ok((log, recovery))
    }

    /// Its checkpoints look whether these are still there.
    pub(super) fn keep_files(&self, files: Vec<FileSet>) {
        if let Some(held) = self.held.lock().expect("nobody else has it yet").as_mut() {
            held.files = files.into_iter().map(|set| (0, set)).collect();
        }
    }

    /// What the queue and the log buffer say comes behind what was said before they were made.
    pub(super) fn say_first(&mut self, mut before: BackEnd) {
        before.io = self.back_end.io;
        before.fallbacks.append(&mut self.back_end.fallbacks);
        self.back_end = before;
    }

    /// Opens a log on devices.
    pub(super) fn open_devices(
        data: Arc<dyn LogDevice>,
        control: Arc<dyn LogDevice>,
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let path = Path::new("redo.ctl");
        let control = ControlFile::load(control, path)?;
        Log::start(data, control, path, options, Vec::new())
    }

    pub(super) fn start(
        data: Arc<dyn LogDevice>,
        control: ControlFile,
        path: &Path,
        options: Options,
        locks: Vec<LockGuard>,
    ) -> Result<(Log, Recovery), Error> {
        Log::start_life(draw_life(path)?, data, control, path, options, locks)
    }

    /// Begins `life` on `data`, as `control` says.
    pub(super) fn start_life(
        life: LifeId,
        data: Arc<dyn LogDevice>,
        mut control: ControlFile,
        path: &Path,
        mut options: Options,
        locks: Vec<LockGuard>,
    ) -> Result<(Log, Recovery), Error> {
        let geometry = control.info().geometry;
        let ring_blocks = options.ring_blocks(&geometry)?;
        let caps = data.caps();
        let policy = options.writer_policy(&caps)?;
        check_fit(&geometry, &caps, policy.depth, path)?;
        let bytes = (ring_blocks * u64::from(geometry.block_bytes)) as usize;
        let begin = (life, options.damage_scan.at_least(bytes as u64));
        let recovery = recover(&data, &mut control, path, begin, options.planted)?;
        options.archive_mode.apply(&mut control)?;
        let wanted = RegionOptions::default()
            .huge_pages(options.huge_pages)
            .lock(options.lock_memory);
        let region = Arc::new(Region::with(bytes, wanted)?);
        let huge_pages = region.is_huge();
        let clock = *options.clock.get_or_insert_with(EngineClock::default);
        let pipe = Pipe::open(&*data, &region, &options, &caps)?;
        let queue = data.queue(Arc::clone(&region))?;
        let mut back_end = BackEnd::of(&region, &*queue, pipe.queue.as_deref());
        back_end.fallbacks.extend(recovery.notes());
        let info = control.info();
        let (start, reusable) = (info.current().first, info.kept_from().block);
        let archived = info.archived.map(|position| position.block);
        let checkpoint = info.checkpoint.block;
        let writer = Writer::new(geometry, policy, 0, start, reusable, options.planted);
        let depth = pipe.queue.as_ref().map_or(1, |_| policy.depth);
        let (fresh, observer) = (writer.clone(), options.observer.take());
        let log_seq = geometry.log_seq(start);
        let host = Host::new(writer, queue, observer, options.record_history, log_seq);
        let buffer = LogBuffer::new(
            Memory::new(region),
            geometry,
            control.info().current().number,
            Summer::of_life(control.info().log_id, control.info().current().life),
            start,
            0,
            options.planted,
        )
        .for_depth(depth);
        let rules = options.rules(pipe.way(options.log_writer), &policy);
        let turn = SharedBaton::new(buffer, &geometry, host, checkpoint, rules);
        if let Some(archived) = archived {
            turn.begin_archive(archived);
        }
        let core = Arc::new(Core::new(turn, geometry, clock));
        let view = View::new(control.info().clone(), data);
        let held = HeldLog {
            control,
            carriers: Vec::new(),
            view: Arc::clone(&view),
            files: Vec::new(),
            members: None,
            ring: None,
            _locks: locks,
        };
        let held = Arc::new(Mutex::new(Some(held)));
        let thread = lgwr::start(&core, &held, pipe.queue, options.log_writer_cpus)?;
        let log = Log {
            core,
            held,
            view,
            path: path.to_owned(),
            planted: options.planted,
            lgwr: Mutex::new(Some(thread)),
            resilver: Mutex::new(None),
            huge_pages,
            workers: pipe.workers,
            back_end,
            fresh,
        };
        Ok((log, recovery))
    }
}

/// The life of the incarnation that an opening begins.
pub(super) fn draw_life(path: &Path) -> Result<LifeId, DeviceError> {
    LifeId::draw().map_err(|source| DeviceError::Io {
        path: path.to_owned(),
        action: "drawing the life id of a new incarnation",
        source,
    })
}

/// What a pipelined log writer works on, if this log has one.
struct Pipe {
    queue: Option<Box<dyn Queue>>,
    workers: Vec<Arc<WorkerStats>>,
}

impl Pipe {
    fn open(
        data: &dyn LogDevice,
        region: &Arc<Region>,
        options: &Options,
        caps: &Caps,
    ) -> Result<Pipe, Error> {
        let mut pipe = Pipe {
            queue: None,
            workers: Vec::new(),
        };
        let deep = options.log_writer == LogWriter::Lgwr && options.policy.depth > 1;
        match options.log_writer.workers() {
            Some(count) if caps.blocking => {
                let cpus = &options.log_writer_cpus;
                let clock: Arc<dyn Clock> = Arc::new(options.clock.unwrap_or_default());
                let count = count as usize;
                let workers = Workers::start_by(&clock, data, region, count, cpus)?;
                pipe.workers = workers.stats();
                pipe.queue = Some(Box::new(workers));
            }
            // A queue that does not block needs no threads to have several operations at once.
            Some(_) => pipe.queue = Some(data.queue(Arc::clone(region))?),
            None if deep && !caps.blocking => pipe.queue = Some(data.queue(Arc::clone(region))?),
            None => {}
        }
        Ok(pipe)
    }

    fn way(&self, log_writer: LogWriter) -> Leadership {
        match (log_writer, &self.queue) {
            (LogWriter::Auto, _) => Leadership::Either,
            (LogWriter::Inline, _) => Leadership::Inline,
            (_, None) => Leadership::Dedicated,
            (_, Some(_)) => Leadership::Pipelined,
        }
    }
}

/// Whether the device can keep what the log's shape promises.
pub(super) fn check_fit(
    geometry: &Geometry,
    caps: &Caps,
    depth: u32,
    path: &Path,
) -> Result<(), Error> {
    if !(1..=MAX_DEPTH as u32).contains(&depth) {
        return Err(Error::Depth { depth });
    }
    if geometry.block_bytes < caps.logical_bytes {
        return Err(Error::Device(DeviceError::BlockSize {
            path: path.to_owned(),
            block: geometry.block_bytes.into(),
            logical: caps.logical_bytes.into(),
            physical: caps.physical_bytes.into(),
        }));
    }
    let seal_bytes = u64::from(geometry.seal_blocks) * u64::from(geometry.block_bytes);
    if seal_bytes < caps.physical_bytes.into() {
        return Err(Error::Sectors {
            path: path.to_owned(),
            made_for: seal_bytes,
            found: caps.physical_bytes,
        });
    }
    Ok(())
}

/// Refuses a directory without a log, and what an interrupted creation left, and says what to do.
pub(super) fn require_log(directory: &Directory) -> Result<(), Error> {
    stripe::refuse_alone(directory)?;
    if directory.entry(Paths::CONTROL)?.exists()? {
        return Ok(());
    }
    let at = directory.entry(Paths::UNFINISHED)?;
    if !at.exists()? {
        let path = directory.path().to_owned();
        return Err(Error::NoLog { path });
    }
    let path = at.path().to_owned();
    Err(match unfinished_log(directory, &at) {
        Some(info) if has_lived(&info) => Error::Misnamed { path },
        _ => Error::Unfinished { path },
    })
}

/// The control file, to be read only, and the device that it was read from.
pub(super) fn open_control_read_only(
    directory: &Directory,
) -> Result<(ControlFile, Arc<dyn LogDevice>), Error> {
    let at = directory.entry(Paths::CONTROL)?;
    require_log(directory)?;
    expect_control(&at)?;
    let names = [Paths::CONTROL.to_owned()];
    let device = FileSet::open_read_only_at(directory, &names, CONTROL_BYTES)?;
    let device: Arc<dyn LogDevice> = Arc::new(device);
    Ok((
        ControlFile::load_member(Arc::clone(&device), at.path())?,
        device,
    ))
}

/// Extents of the log's files that the file system holds as unwritten; `None` where it can't tell.
#[must_use]
pub fn unwritten(directory: &Directory, groups: u32) -> Option<u64> {
    let entries = directory.entries(&Paths::log_names(groups)).ok()?;
    entries.iter().map(|at| at.unwritten_extents()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_fits_a_device_whose_sectors_its_blocks_hold() {
        // Block, blocks that are sealed together; logical and physical sector of the device.
        let cases = [
            ((512, 1), (512, 512), true),
            ((4096, 1), (512, 4096), true),
            ((4096, 1), (4096, 4096), true),
            ((512, 8), (512, 4096), true),
            ((512, 8), (512, 512), true),
            // An interrupted write could destroy the block beside it.
            ((512, 7), (512, 4096), false),
            ((512, 1), (512, 4096), false),
            // The device takes no write of a block.
            ((512, 8), (4096, 4096), false),
        ];
        for ((block_bytes, seal_blocks), (logical_bytes, physical_bytes), fits) in cases {
            let geometry = Geometry {
                block_bytes,
                seal_blocks,
                groups: 2,
                blocks_per_group: 56,
                header_bytes: 4096,
                file_bytes: 1 << 20,
            };
            let caps = Caps {
                logical_bytes,
                physical_bytes,
                memory_align: 512,
                max_io_bytes: 1 << 20,
                durable_writes: false,
                blocking: true,
            };
            let found = check_fit(&geometry, &caps, 1, Path::new("x"));
            assert_eq!(found.is_ok(), fits, "{geometry:?} on {caps:?}: {found:?}");
            for depth in [0, MAX_DEPTH as u32 + 1] {
                let refused = check_fit(&geometry, &caps, depth, Path::new("x"));
                assert!(matches!(refused, Err(Error::Depth { .. })), "{refused:?}");
            }
        }
    }
}
