//! Creating and opening a log: files, headers, control information, recovery, threads.

use super::back_end::{self, BackEnd};
use super::core::Core;
use super::host::Host;
use super::options::{LogWriter, Options, Paths, Shape};
use super::{Log, lgwr};
use crate::buffer::{LogBuffer, Memory};
use crate::control::{CONTROL_BYTES, ControlFile, ControlInfo};
use crate::error::Error;
use crate::format::{FILE_HEADER_BYTES, FileHeader, HeaderProblem, LifeId, LogId, Summer};
use crate::group::Geometry;
use crate::recovery::{Recovery, recover};
use crate::sync::{EngineClock, Mutex};
use crate::turn::{Turn, Way};
use crate::writer::{MAX_DEPTH, Writer};
use device::file::{FileSet, LockGuard, SyncMethod, create_prewritten, lock_exclusive};
use device::file::{sync_directory, unwritten_extents};
use device::pool::{WorkerStats, Workers};
use device::{Caps, DeviceError, LogDevice, Queue, Region, RegionOptions};
use measure::workload::split_mix;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Told while log files are written: bytes done, bytes in all.
pub type Progress<'a> = &'a dyn Fn(u64, u64);

impl Log {
    /// Creates the files of a log in `directory`, which must exist: log files pre-written with
    /// pseudo-random bytes, then the control file. Nothing that exists is overwritten; what was
    /// begun is removed when it fails or `cancel` says so.
    ///
    /// # Errors
    /// Impossible shapes, block sizes that the device does not allow, no room, existing files.
    pub fn create(
        directory: &Path,
        shape: Shape,
        progress: Progress<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let paths = Paths::new(directory);
        let mut made = Made::default();
        let log_id = fresh_id(directory);
        let control_path = paths.control();
        let seed = u64::from_le_bytes(*log_id.0.first_chunk().expect("sixteen bytes"));
        create_prewritten(&control_path, CONTROL_BYTES, &[], seed, &|_| {}, cancel)?;
        made.add(&control_path);
        let control = FileSet::open(
            std::slice::from_ref(&control_path),
            CONTROL_BYTES,
            SyncMethod::Buffered,
        )?;
        let geometry = shape.geometry(&caps_for(shape, &control, &control_path), directory)?;
        let logs = paths.logs(shape.groups);
        let total = shape.file_bytes * logs.len() as u64;
        for (group, path) in (0_u32..).zip(&logs) {
            let header = FileHeader {
                log_id,
                group,
                groups: shape.groups,
                block_bytes: geometry.block_bytes,
                header_bytes: geometry.header_bytes as u32,
                file_bytes: geometry.file_bytes,
            };
            let before = shape.file_bytes * u64::from(group);
            let report = |done: u64| progress(before + done, total);
            let head = header.encode();
            create_prewritten(
                path,
                shape.file_bytes,
                &head,
                seed ^ before,
                &report,
                cancel,
            )?;
            made.add(path);
        }
        let info = ControlInfo::new(log_id, geometry);
        ControlFile::create(Arc::new(control), &control_path, info)?;
        sync_directory(directory)?;
        made.keep();
        Ok(())
    }

    /// Opens the log in `directory` and recovers it.
    ///
    /// # Errors
    /// No log, another version, another log's file, a log in use, damage, a device that fails.
    /// Nothing was changed then, unless the device failed while a new incarnation was recorded.
    pub fn open(directory: &Path, options: Options) -> Result<(Log, Recovery), Error> {
        let paths = Paths::new(directory);
        let control_path = paths.control();
        let lock = lock_exclusive(&control_path)?;
        let control = open_control(&control_path)?;
        let block_bytes = control.info().geometry.block_bytes;
        let chosen = back_end::choose(Some(directory), block_bytes, &options);
        let data = open_logs(&paths, control.info(), chosen.method)?;
        let (data, back_end) = chosen.device(data, &options);
        let (mut log, recovery) = Log::start(data, control, directory, options, Some(lock))?;
        log.say_first(back_end);
        Ok((log, recovery))
    }

    /// What the queue and the log buffer say comes behind what was said before they were made.
    pub(super) fn say_first(&mut self, mut before: BackEnd) {
        before.io = self.back_end.io;
        before.fallbacks.append(&mut self.back_end.fallbacks);
        self.back_end = before;
    }

    /// Makes a log of `geometry` on devices that hold nothing: for models and tests. `data` spans
    /// all groups, `control` at least [`CONTROL_BYTES`].
    ///
    /// # Errors
    /// When a device fails.
    pub fn format_devices(
        control: Arc<dyn LogDevice>,
        geometry: crate::group::Geometry,
        log_id: LogId,
    ) -> Result<(), Error> {
        let info = ControlInfo::new(log_id, geometry);
        ControlFile::create(control, Path::new("redo.ctl"), info).map(|_| ())
    }

    /// Opens a log on devices.
    ///
    /// # Errors
    /// As [`Log::open`].
    pub fn open_devices(
        data: Arc<dyn LogDevice>,
        control: Arc<dyn LogDevice>,
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        let path = Path::new("redo.ctl");
        let control = ControlFile::load(control, path)?;
        Log::start(data, control, path, options, None)
    }

    pub(super) fn start(
        data: Arc<dyn LogDevice>,
        mut control: ControlFile,
        path: &Path,
        mut options: Options,
        lock: Option<LockGuard>,
    ) -> Result<(Log, Recovery), Error> {
        let geometry = control.info().geometry;
        let ring_blocks = options.ring_blocks(&geometry)?;
        let caps = data.caps();
        let policy = options.writer_policy(&caps)?;
        check_fit(&geometry, &caps, policy.depth, path)?;
        let life = LifeId::draw().map_err(|source| DeviceError::Io {
            path: path.to_owned(),
            action: "drawing the life id of a new incarnation",
            source,
        })?;
        let recovery = recover(&data, &mut control, path, life, options.planted)?;
        let bytes = (ring_blocks * u64::from(geometry.block_bytes)) as usize;
        let wanted = RegionOptions {
            huge_pages: options.huge_pages,
            lock: options.lock_memory,
        };
        let region = Arc::new(Region::with(bytes, wanted)?);
        let huge_pages = region.is_huge();
        let pipe = Pipe::open(&*data, &region, &options, &caps)?;
        let queue = data.queue(Arc::clone(&region))?;
        let back_end = BackEnd::of(&region, &*queue, pipe.queue.as_deref());
        let (start, checkpoint) = (
            control.info().current().first,
            control.info().checkpoint.block,
        );
        let writer = Writer::new(geometry, policy, 0, start, checkpoint, options.planted);
        let fresh = writer.clone();
        let observer = options.observer.take();
        let log_seq = geometry.log_seq(start);
        #[cfg_attr(not(feature = "experiment"), allow(unused_mut))]
        let mut host = Host::new(writer, queue, observer, options.record_history, log_seq);
        #[cfg(feature = "experiment")]
        {
            host.fused = options.fused.then(Default::default);
        }
        let buffer = LogBuffer::new(
            Memory::new(region),
            geometry,
            control.info().current().number,
            Summer::of_life(control.info().log_id, control.info().current().life),
            start,
            0,
            options.planted,
        );
        let rules = options.rules(pipe.way(options.log_writer));
        let clock = EngineClock::new();
        let turn = Turn::new(buffer, &geometry, host, checkpoint, rules);
        let core = Arc::new(Core::new(turn, geometry, clock));
        let thread = lgwr::start(&core, pipe.queue, options.log_writer_cpus)?;
        let log = Log {
            core,
            control: Mutex::new(control),
            path: path.to_owned(),
            lgwr: Some(thread),
            huge_pages,
            workers: pipe.workers,
            back_end,
            fresh,
            _lock: lock,
        };
        Ok((log, recovery))
    }
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
                let workers = Workers::start(data, region, count as usize, cpus)?;
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

    fn way(&self, log_writer: LogWriter) -> Way {
        match (log_writer, &self.queue) {
            (LogWriter::Inline, _) => Way::Inline,
            (_, None) => Way::Dedicated,
            (_, Some(_)) => Way::Pipelined,
        }
    }
}

/// What the shape of a new log is made for: where it names no block size, one that every sync
/// method can write, also on a device that refuses what it states.
fn caps_for(shape: Shape, control: &FileSet, path: &Path) -> Caps {
    if shape.block_bytes.is_some() {
        return control.caps();
    }
    let direct = FileSet::open(&[path.to_owned()], CONTROL_BYTES, SyncMethod::Direct);
    direct.map_or(control.caps(), |set| set.caps())
}

/// Whether the device can keep what the log's shape promises.
fn check_fit(geometry: &Geometry, caps: &Caps, depth: u32, path: &Path) -> Result<(), Error> {
    if !(1..=MAX_DEPTH as u32).contains(&depth) {
        return Err(Error::Options(format!(
            "{depth} batches in flight: use 1 to {MAX_DEPTH}"
        )));
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
        return Err(Error::Options(format!(
            "{}: this log was made for physical sectors of {seal_bytes} bytes, here they have {}: \
             an interrupted write could destroy acknowledged redo; move the log back, or its \
             records to a new one",
            path.display(),
            caps.physical_bytes
        )));
    }
    Ok(())
}

/// Files made so far; removed unless they are kept.
#[derive(Default)]
struct Made {
    files: Vec<PathBuf>,
}

impl Made {
    fn add(&mut self, path: &Path) {
        self.files.push(path.to_owned());
    }

    fn keep(mut self) {
        self.files.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.files {
            // Best effort on a path that already failed: the caller is told of the first error.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn open_control(path: &Path) -> Result<ControlFile, Error> {
    expect_control(path)?;
    let device = FileSet::open(&[path.to_owned()], CONTROL_BYTES, SyncMethod::Buffered)?;
    ControlFile::load(Arc::new(device), path)
}

/// The control file, to be read only, and the device that it was read from.
pub(super) fn open_control_read_only(
    path: &Path,
) -> Result<(ControlFile, Arc<dyn LogDevice>), Error> {
    expect_control(path)?;
    let device = FileSet::open_read_only(&[path.to_owned()], CONTROL_BYTES)?;
    let device: Arc<dyn LogDevice> = Arc::new(device);
    Ok((ControlFile::load(Arc::clone(&device), path)?, device))
}

fn expect_control(path: &Path) -> Result<(), Error> {
    let found = std::fs::symlink_metadata(path).map_err(|source| {
        Error::Device(DeviceError::Io {
            path: path.to_owned(),
            action: "no redo log here",
            source,
        })
    })?;
    if found.is_file() && found.len() != CONTROL_BYTES {
        return Err(Error::NotALog {
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn open_logs(paths: &Paths, info: &ControlInfo, method: SyncMethod) -> Result<FileSet, Error> {
    let geometry = &info.geometry;
    let files = paths.logs(geometry.groups);
    let data = FileSet::open(&files, geometry.file_bytes, method)?;
    if let Some(misstated) = data.misstated()
        && geometry.block_bytes < misstated.accepted
    {
        let path = paths.directory.clone();
        let block = geometry.block_bytes;
        return Err(misstated.clone().refuses(path, block).into());
    }
    for (group, path) in (0_u32..).zip(&files) {
        let mut head = [0_u8; FILE_HEADER_BYTES];
        data.read(u64::from(group) * geometry.file_bytes, &mut head)?;
        check_header(&head, info, group, path)?;
    }
    Ok(data)
}

pub(super) fn check_header(
    head: &[u8],
    info: &ControlInfo,
    group: u32,
    path: &Path,
) -> Result<(), Error> {
    let path = path.to_owned();
    let found = match FileHeader::decode(head) {
        Ok(found) => found,
        Err(HeaderProblem::NotOurs) => return Err(Error::NotALog { path }),
        Err(HeaderProblem::Version(found)) => return Err(Error::Version { path, found }),
        Err(HeaderProblem::Damaged) => {
            let what = "its header is damaged".to_owned();
            return Err(Error::WrongLog { path, what });
        }
    };
    let geometry = &info.geometry;
    let expected = FileHeader {
        log_id: info.log_id,
        group,
        groups: geometry.groups,
        block_bytes: geometry.block_bytes,
        header_bytes: geometry.header_bytes as u32,
        file_bytes: geometry.file_bytes,
    };
    if found == expected {
        return Ok(());
    }
    let what = if found.log_id == expected.log_id {
        format!(
            "holds group {} of {} where group {group} was expected",
            found.group, found.groups
        )
    } else {
        "belongs to another log".to_owned()
    };
    Err(Error::WrongLog { path, what })
}

/// A log's identity: unique is enough, nobody must not guess it.
pub(super) fn fresh_id(directory: &Path) -> LogId {
    use std::hash::{BuildHasher, Hash, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    directory.hash(&mut hasher);
    std::process::id().hash(&mut hasher);
    std::time::SystemTime::now().hash(&mut hasher);
    let mut state = hasher.finish();
    let mut id = [0_u8; 16];
    id[..8].copy_from_slice(&split_mix(&mut state).to_le_bytes());
    id[8..].copy_from_slice(&split_mix(&mut state).to_le_bytes());
    LogId(id)
}

/// Extents of the log's files that the file system holds as unwritten; `None` where it can't tell.
#[must_use]
pub fn unwritten(directory: &Path, groups: u32) -> Option<u64> {
    Paths::new(directory)
        .logs(groups)
        .iter()
        .map(|path| unwritten_extents(path))
        .sum()
}
