//! The target: a redo log in a work folder of redolab's own, on a raw device, or on the null
//! device, opened with the recorder as its observer and a stand-in for the database writer that
//! moves the checkpoint.

use super::Failure;
use super::meter::Meter;
use super::plan::LogPlan;
use super::recorder::Recorder;
use super::site::Site;
use crate::budget::Budget;
use crate::cleanup::WorkFolder;
use device::probe::ProbedWay;
use device::raw::ClearedRawDevice;
use device::{IoEngine, LogDevice, NullDevice, SimDisk, SyncMethod};
use measure::Nanos;
use measure::run::{ProbeRow, RedoLogFacts};
use redo::engine::{BackEnd, LogWrite, Paths, open};
use redo::writer::Policy;
use redo::{Layout, Log, Options};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// How a log is made and run, once it is known how it is written and what may be.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How it was planned.
    pub log: LogPlan,
    /// How writes are made durable.
    pub sync_method: SyncMethod,
    /// Probe the ways of writing before the log is opened, and take the fastest.
    pub probe: bool,
    /// What may be written.
    pub budget: Arc<Budget>,
    /// Bytes of it that are set aside for making the log.
    pub making_bytes: u64,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            log: LogPlan::default(),
            sync_method: SyncMethod::Direct,
            probe: false,
            budget: Budget::of(None),
            making_bytes: 0,
        }
    }
}

/// A log that is ready for load.
pub struct LogTarget {
    /// The log.
    pub log: Arc<Log>,
    /// What it records.
    pub recorder: Arc<Recorder>,
    /// What charges its writes to the budget.
    pub meter: Arc<Meter>,
    /// Extents that the file system holds as unwritten.
    pub unwritten_extents: Option<u64>,
    dbwr: Option<Dbwr>,
    setup: Setup,
    /// The log stays when this is gone, so it is closed.
    stays: bool,
}

/// Moves the checkpoint after each log switch, as the database writer would have it: what a
/// workload writes is never needed again.
struct Dbwr {
    stop: Arc<AtomicBool>,
    flushes: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

/// The probe's file, and whatever else is written while a log is made and opened.
const PROBE_FILE_BYTES: u64 = 4 << 20;
const OTHER_MADE_BYTES: u64 = 2 << 20;
/// How often it looks.
const LOOK: Duration = Duration::from_millis(2);
/// Flushes of a checkpoint: two copies of the control information.
const CHECKPOINT_FLUSHES: u64 = 2;

impl LogTarget {
    /// Makes a log on `site` and opens it. A folder is given back, to be removed after the log.
    ///
    /// # Errors
    /// Of making and opening; `cancel` gives [`Failure::Interrupted`].
    pub fn on(
        site: Site,
        setup: Setup,
        progress: &dyn Fn(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<(LogTarget, Option<WorkFolder>), Failure> {
        let (budget, making) = (Arc::clone(&setup.budget), setup.making_bytes);
        budget.take(making)?;
        let made = match site {
            Site::Folder(folder) => {
                let target = LogTarget::in_folder(&folder, setup, progress, cancel)?;
                (target, Some(folder))
            }
            Site::Device(device) => (
                LogTarget::on_device(*device, setup, progress, cancel)?,
                None,
            ),
        };
        budget.give_back(making.saturating_sub(made.0.made_bytes()));
        budget.compare();
        Ok(made)
    }

    /// Bytes that making it has written, and opening it with the probe.
    fn made_bytes(&self) -> u64 {
        let probe = &self.log.back_end().probe;
        let probed = |found: &ProbedWay| found.writes.saturating_mul(found.bytes);
        let probed: u64 = probe.iter().map(probed).sum();
        let other = self.setup.making_bytes.min(OTHER_MADE_BYTES);
        let file = if probe.is_empty() {
            0
        } else {
            PROBE_FILE_BYTES
        };
        self.setup.log.footprint_bytes() + probed + file + other
    }

    /// Makes a log on a raw device and opens it. It stays there, closed, when this is gone.
    fn on_device(
        device: ClearedRawDevice,
        setup: Setup,
        progress: &dyn Fn(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<LogTarget, Failure> {
        let builder = Log::builder(device).shape(setup.log.shape);
        let made = match builder.progress(progress).cancel(cancel).create() {
            Err(_) if cancel() => return Err(Failure::Interrupted),
            made => made?,
        };
        let observers = Observers::new(&setup);
        let (log, _) = made.options(options(&setup, &observers)).open()?;
        let mut target = LogTarget::start(log, observers, None, setup)?;
        target.stays = true;
        Ok(target)
    }

    /// Makes log files in `folder` and opens them.
    ///
    /// # Errors
    /// Of making and opening; `cancel` gives [`Failure::Interrupted`].
    pub fn in_folder(
        folder: &WorkFolder,
        setup: Setup,
        progress: &dyn Fn(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<LogTarget, Failure> {
        let mut names = Paths::log_names(setup.log.shape.groups);
        names.extend([Paths::CONTROL, Paths::UNFINISHED].map(str::to_owned));
        if setup.probe {
            names.push(device::probe::FILE_NAME.to_owned());
        }
        folder
            .register_all(&names)
            .map_err(Failure::system("registering the log's files"))?;
        let directory = folder.directory();
        let builder = Log::builder(directory).shape(setup.log.shape);
        if let Err(error) = builder.progress(progress).cancel(cancel).create() {
            return Err(if cancel() {
                Failure::Interrupted
            } else {
                error.into()
            });
        }
        let unwritten_extents = open::unwritten(directory, setup.log.shape.groups);
        let observers = Observers::new(&setup);
        let ways = options(&setup, &observers);
        let (log, _) = Log::builder(directory).options(ways).open()?;
        LogTarget::start(log, observers, unwritten_extents, setup)
    }

    /// A log on the null device: what the lab itself costs.
    ///
    /// # Errors
    /// When the system gives no thread or memory.
    pub fn null(setup: Setup) -> Result<LogTarget, Failure> {
        LogTarget::null_in(setup, |device| device)
    }

    /// The same behind whatever `wrap` puts around the device.
    ///
    /// # Errors
    /// As of [`LogTarget::null`], and what the wrapped device makes of opening.
    pub fn null_in(
        setup: Setup,
        wrap: impl FnOnce(Arc<dyn LogDevice>) -> Arc<dyn LogDevice>,
    ) -> Result<LogTarget, Failure> {
        let caps = NullDevice::PLAIN;
        let geometry = setup.log.shape.geometry(&caps, Path::new("null"))?;
        let control = SimDisk::new(redo::control::CONTROL_BYTES as usize, 4096, false);
        control.set_immediate(true);
        let control: Arc<dyn LogDevice> = Arc::new(control);
        let id = redo::format::LogId(*b"null-device-log!");
        redo::control::ControlFile::format(Arc::clone(&control), geometry, id)?;
        let bytes = geometry.file_bytes * u64::from(geometry.groups);
        let setup = Setup {
            budget: Budget::of(None),
            ..setup
        };
        let observers = Observers::new(&setup);
        let data = wrap(Arc::new(NullDevice::new(bytes, caps)));
        let devices = Layout::devices(data, control);
        let ways = options(&setup, &observers);
        let (log, _) = Log::builder(devices).options(ways).open()?;
        LogTarget::start(log, observers, None, setup)
    }

    fn start(
        log: Log,
        observers: Observers,
        unwritten_extents: Option<u64>,
        setup: Setup,
    ) -> Result<LogTarget, Failure> {
        let method = log.back_end().sync_method.unwrap_or(setup.sync_method);
        let Observers { recorder, meter } = observers;
        meter.describe(log.geometry().block_bytes, method);
        let log = Arc::new(log);
        let dbwr = Dbwr::start(Arc::clone(&log))
            .map_err(Failure::system("starting the checkpoint thread"))?;
        Ok(LogTarget {
            log,
            recorder,
            meter,
            unwritten_extents,
            dbwr: Some(dbwr),
            setup,
            stays: false,
        })
    }

    /// Looks at what is used of the budget, and ends the row at `now` where its share is.
    pub fn look(&self, now: Nanos) {
        if let Some(at_ns) = self.meter.look(now.0) {
            self.recorder.close(at_ns);
        }
    }

    /// Flushes of checkpoints so far: the device sees them beside the log's.
    #[must_use]
    pub fn checkpoint_flushes(&self) -> u64 {
        self.dbwr
            .as_ref()
            .map_or(0, |d| d.flushes.load(Ordering::Relaxed))
    }

    /// What a run says of it.
    #[must_use]
    pub fn describe(&self) -> RedoLogFacts {
        let geometry = self.log.geometry();
        let back_end = self.log.back_end();
        let method = back_end.sync_method.unwrap_or(self.setup.sync_method);
        let mut fallbacks = back_end.fallbacks.clone();
        let workers = self.setup.log.log_writer.workers();
        let mut io_depth = workers.unwrap_or(self.setup.log.io_depth);
        // Calls that block have one batch in flight, unless workers make them.
        if workers.is_none() && io_depth > 1 && back_end.io != IoEngine::IoUring.name() {
            fallbacks.push(format!(
                "{io_depth} batches in flight: with {} the log writer has 1 in flight",
                back_end.io
            ));
            io_depth = 1;
        }
        let cpus = self.setup.log.log_writer_cpus.iter();
        RedoLogFacts {
            sync_method: method.name().to_owned(),
            io: Some(back_end.io.to_owned()),
            io_depth: Some(io_depth),
            probe: probe_rows(back_end),
            fallbacks,
            redo_block_bytes: geometry.block_bytes,
            seal_bytes: geometry.block_bytes * geometry.seal_blocks,
            log_groups: geometry.groups,
            log_file_bytes: geometry.file_bytes,
            log_buffer_bytes: self.log.buffer_bytes(),
            huge_pages: self.log.huge_pages(),
            unwritten_extents: self.unwritten_extents,
            log_writer: Some(self.setup.log.log_writer.to_string()),
            log_writer_cpus: cpus.filter_map(|n| u32::try_from(*n).ok()).collect(),
            log_file_sync: Some(self.setup.log.log_file_sync.name().to_owned()),
            flush_triggers: Some(self.setup.log.triggers.to_string()),
        }
    }
}

fn probe_rows(back_end: &BackEnd) -> Vec<ProbeRow> {
    let row = |found: &ProbedWay| ProbeRow {
        sync_method: found.way.method.name().to_owned(),
        io: found.way.io.name().to_owned(),
        write_bytes: found.bytes,
        writes: found.writes,
        p50_ns: found.p50_ns,
        mean_ns: found.mean_ns,
        refused: found.refused.clone(),
        chosen: Some(found.way.method) == back_end.sync_method
            && found.way.io.name() == back_end.io,
    };
    back_end.probe.iter().map(row).collect()
}

impl LogTarget {
    /// Ends it. A log that stays is closed, so that its end is known for certain.
    ///
    /// # Errors
    /// A log that cannot be closed: it recovers when it is opened again.
    pub fn close(mut self) -> Result<(), Failure> {
        Ok(self.end()?)
    }

    fn end(&mut self) -> Result<(), redo::Error> {
        let Some(dbwr) = self.dbwr.take() else {
            return Ok(());
        };
        // While the checkpoint still moves, so that a full log finds room.
        let flushed = if self.stays { self.log.flush() } else { Ok(()) };
        dbwr.stop.store(true, Ordering::SeqCst);
        // It holds nothing but the log, whose state every caller is told.
        let _ = dbwr.thread.join();
        match self.stays {
            true => flushed.and_then(|()| self.log.close()),
            false => flushed,
        }
    }
}

impl Drop for LogTarget {
    fn drop(&mut self) {
        // After a failure its reason is on its way already; the log recovers.
        let _ = self.end();
    }
}

impl Dbwr {
    fn start(log: Arc<Log>) -> std::io::Result<Dbwr> {
        let stop = Arc::new(AtomicBool::new(false));
        let flushes = Arc::new(AtomicU64::new(0));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&flushes));
        let thread = std::thread::Builder::new()
            .name("dbwr".to_owned())
            .spawn(move || {
                let mut last = log.durable().log_seq;
                while !stopped.load(Ordering::SeqCst) {
                    let durable = log.durable();
                    if durable.log_seq > last {
                        last = durable.log_seq;
                        // A poisoned log tells its sessions; there is nobody else to tell.
                        if log.checkpoint(durable).is_err() {
                            return;
                        }
                        counted.fetch_add(CHECKPOINT_FLUSHES, Ordering::Relaxed);
                    }
                    std::thread::sleep(LOOK);
                }
            })?;
        Ok(Dbwr {
            stop,
            flushes,
            thread,
        })
    }
}

/// What is called for each log write.
struct Observers {
    recorder: Arc<Recorder>,
    meter: Arc<Meter>,
}

impl Observers {
    fn new(setup: &Setup) -> Observers {
        Observers {
            recorder: Arc::new(Recorder::default()),
            meter: Arc::new(Meter::new(Arc::clone(&setup.budget))),
        }
    }
}

fn options(setup: &Setup, observers: &Observers) -> Options {
    let (recorder, meter) = (
        Arc::clone(&observers.recorder),
        Arc::clone(&observers.meter),
    );
    Options::default()
        .sync_method(setup.sync_method)
        .log_writer(setup.log.log_writer)
        .log_file_sync(setup.log.log_file_sync)
        .triggers(setup.log.triggers)
        .log_writer_cpus(setup.log.log_writer_cpus.clone())
        .buffer_bytes(setup.log.buffer_bytes)
        .huge_pages(setup.log.huge_pages)
        .lock_memory(setup.log.lock_memory)
        .io(setup.log.io)
        .policy(Policy::default().depth(setup.log.io_depth))
        .probe(setup.probe)
        .observer(move |write: &LogWrite| {
            recorder.log_write(write);
            // What is submitted after the row was ended is no part of it.
            if let Some(at_ns) = meter.log_write(write) {
                recorder.close(at_ns);
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::fixture::{large_budget, log_write};
    use crate::experiment::load::Control;

    /// What is written after the row was ended is in no figure of it: its time ends there.
    #[test]
    fn a_row_that_its_share_ended_records_nothing_submitted_later() {
        let setup = Setup {
            budget: large_budget(),
            ..Setup::default()
        };
        let observers = Observers::new(&setup);
        let observer = options(&setup, &observers).observer.expect("an observer");
        let Observers { recorder, meter } = &observers;
        meter.describe(4096, SyncMethod::Direct);
        meter.allow(100 * 4096, 20 * 4096);
        meter.begin(&Arc::new(Control::new(None)));
        recorder.open(0);
        for at in 1..=80 {
            observer.observe(&log_write(at, at + 1));
        }
        assert_eq!(meter.ended_ns(), Some(81));
        // Under way when it ended, and one that began then.
        observer.observe(&log_write(80, 90));
        observer.observe(&log_write(81, 91));
        assert_eq!(recorder.take().1.background.write.count(), 81);
    }
}
