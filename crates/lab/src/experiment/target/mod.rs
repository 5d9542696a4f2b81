//! The target of a load: a redo log in a work folder of redolab's own, on a raw device, or on the
//! null device, with the recorder and the meter as its observer; or what others made, behind its
//! driver.

pub mod background;
mod identified;
pub(crate) mod identify;
pub(crate) mod managed;
mod members;
mod nodes;
pub(crate) mod place;
pub mod site;
pub mod storage;

use crate::budget::Budget;
use crate::cleanup::WorkFolder;
use crate::experiment::Failure;
use crate::experiment::guard::meter::Meter;
use crate::experiment::measure::recorder::Recorder;
use crate::experiment::measure::row::Spec;
use crate::experiment::plan::LogPlan;
use background::PlacedBackground;
use device::probe::ProbedWay;
use device::raw::ClearedRawDevice;
use device::{LogDevice, StripeWidth, SyncMethod};
use drivers::embedded::{AskedOfLog, DataFile, EmbeddedLog, LogBackground, null_layout};
use measure::Nanos;
use measure::driver::Driver;
use measure::run::StripeFacts;
use measure::workload::Workload;
use redo::engine::{BatchEvent, Paths, open};
use redo::writer::Policy;
use redo::{ArchiveMode, Layout, Log, Options};
use site::Site;
use std::sync::Arc;
use storage::Storage;

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
    /// Bytes of these that a probe has written already.
    pub probed_bytes: u64,
    /// What runs beside the sessions.
    pub background: PlacedBackground,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            log: LogPlan::default(),
            sync_method: SyncMethod::Direct,
            probe: false,
            budget: Budget::of(None),
            making_bytes: 0,
            probed_bytes: 0,
            background: PlacedBackground::default(),
        }
    }
}

/// A target that is ready for load.
pub struct LoadTarget {
    /// Its driver.
    pub driver: Arc<dyn Driver>,
    /// What is recorded of it.
    pub recorder: Arc<Recorder>,
    /// What charges its writes to the budget.
    pub meter: Arc<Meter>,
    /// What is below the log of a server, as far as that can be seen.
    pub storage: Option<Storage>,
    /// Bytes that making it has written, and opening it with the probe.
    made_bytes: u64,
}

/// The probe's file, and whatever else is written while a log is made and opened.
const PROBE_FILE_BYTES: u64 = 4 << 20;
const OTHER_MADE_BYTES: u64 = 2 << 20;

impl LoadTarget {
    /// Makes a log on `site` and opens it. Folders are given back, to be removed after the log.
    ///
    /// # Errors
    /// Of making and opening; `cancel` gives [`Failure::Interrupted`].
    pub fn on(
        site: Site,
        setup: Setup,
        progress: &dyn Fn(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<(LoadTarget, Vec<WorkFolder>), Failure> {
        let (budget, making) = (Arc::clone(&setup.budget), setup.making_bytes);
        let probed = setup.probed_bytes;
        budget.take(making)?;
        let made = match site {
            Site::Folders(folders) => {
                let target = match (&folders[..], setup.log.members, setup.log.stripe) {
                    ([folder], ..) => LoadTarget::in_folder(folder, setup, progress, cancel)?,
                    (_, Some(members), _) => {
                        members::in_folders(&folders, members, setup, progress, cancel)?
                    }
                    (_, None, Some(stripe)) => {
                        LoadTarget::in_stripe(&folders, stripe.width, setup, progress, cancel)?
                    }
                    (_, None, None) => nodes::in_folders(&folders, setup, progress, cancel)?,
                };
                (target, folders)
            }
            Site::Device(device) => {
                let target = LoadTarget::on_device(*device, setup, progress, cancel)?;
                (target, Vec::new())
            }
        };
        budget.give_back(making.saturating_sub(made.0.made_bytes.saturating_add(probed)));
        budget.compare();
        Ok(made)
    }

    /// Makes a log on a raw device and opens it. It stays there, closed, when this is gone.
    fn on_device(
        device: ClearedRawDevice,
        setup: Setup,
        progress: &dyn Fn(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<LoadTarget, Failure> {
        let builder = Log::builder(device).shape(setup.log.shape);
        let made = match builder.progress(progress).cancel(cancel).create() {
            Err(_) if cancel() => return Err(Failure::Interrupted),
            made => made?,
        };
        let observers = Observers::new(&setup);
        let (log, _) = made.options(options(&setup, &observers)).open()?;
        let mut asked = asked_of(&setup);
        asked.stays = true;
        LoadTarget::start(log, observers, asked, &setup)
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
    ) -> Result<LoadTarget, Failure> {
        make_in(folder, &setup, progress, cancel)?;
        let directory = folder.directory();
        let mut asked = asked_of(&setup);
        asked.unwritten_extents = open::unwritten(directory, setup.log.shape.groups);
        let observers = Observers::new(&setup);
        let ways = options(&setup, &observers);
        let (log, _) = Log::builder(directory).options(ways).open()?;
        LoadTarget::start(log, observers, asked, &setup)
    }

    /// Makes the files of a striped log in `folders` and opens them.
    fn in_stripe(
        folders: &[WorkFolder],
        width: StripeWidth,
        setup: Setup,
        progress: &dyn Fn(u64, u64),
        cancel: &dyn Fn() -> bool,
    ) -> Result<LoadTarget, Failure> {
        for (at, folder) in folders.iter().enumerate() {
            let mut names = vec![Paths::STRIPE, Paths::UNFINISHED_STRIPE];
            // The ways of writing are probed in the first directory.
            names.extend((setup.probe && at == 0).then_some(device::probe::FILE_NAME));
            let registered = folder.register_all(&names);
            registered.map_err(Failure::system("registering the log's files"))?;
        }
        let directories = || folders.iter().map(|folder| folder.directory().clone());
        let layout = || Layout::Stripe {
            directories: directories().collect(),
            width,
        };
        let builder = Log::builder(layout()).shape(setup.log.shape);
        match builder.progress(progress).cancel(cancel).create() {
            Err(_) if cancel() => return Err(Failure::Interrupted),
            made => drop(made?),
        }
        let mut asked = asked_of(&setup);
        asked.stripe = Some(StripeFacts {
            width_bytes: width.bytes(),
            directories: folders.iter().map(place_of).collect(),
        });
        let observers = Observers::new(&setup);
        let ways = options(&setup, &observers);
        let (log, _) = Log::builder(layout()).options(ways).open()?;
        LoadTarget::start(log, observers, asked, &setup)
    }

    /// A log on the null device: what the lab itself costs.
    ///
    /// # Errors
    /// When the system gives no thread or memory.
    pub fn null(setup: Setup) -> Result<LoadTarget, Failure> {
        LoadTarget::null_in(setup, |device| device)
    }

    /// The same behind whatever `wrap` puts around the device.
    ///
    /// # Errors
    /// As of [`LoadTarget::null`], and what the wrapped device makes of opening.
    pub fn null_in(
        setup: Setup,
        wrap: impl FnOnce(Arc<dyn LogDevice>) -> Arc<dyn LogDevice>,
    ) -> Result<LoadTarget, Failure> {
        let setup = Setup {
            budget: Budget::of(None),
            ..setup
        };
        if setup.log.nodes > 1 {
            return nodes::null(setup);
        }
        let observers = Observers::new(&setup);
        let layout = null_layout(&setup.log.shape, wrap)?;
        let ways = options(&setup, &observers);
        let (log, _) = Log::builder(layout).options(ways).open()?;
        LoadTarget::start(log, observers, asked_of(&setup), &setup)
    }

    fn start(
        log: Log,
        observers: Observers,
        asked: AskedOfLog,
        setup: &Setup,
    ) -> Result<LoadTarget, Failure> {
        let made_bytes = made_bytes(&log, setup);
        let Observers { recorder, meter } = observers;
        let background = beside(&setup.background, &recorder);
        let log = EmbeddedLog::start_with(log, asked, background);
        let log = log.map_err(Failure::system("starting what runs beside the log"))?;
        meter.describe(log.log().geometry().block_bytes, log.sync_method());
        Ok(LoadTarget {
            driver: Arc::new(log),
            recorder,
            meter,
            storage: None,
            made_bytes,
        })
    }

    /// A server, made ready for the rows of a plan. What it writes is seen by `budget` if that
    /// counts the processes below this one.
    ///
    /// # Errors
    /// It cannot be made ready.
    pub fn behind(
        driver: Arc<dyn Driver>,
        rows: &[Spec],
        budget: &Arc<Budget>,
    ) -> Result<LoadTarget, Failure> {
        let Observers { recorder, meter } = Observers::new(&Setup {
            budget: Arc::clone(budget),
            ..Setup::default()
        });
        meter.set_server();
        let mut workloads: Vec<&Workload> = Vec::new();
        for row in rows {
            if !workloads.contains(&&row.workload) {
                workloads.push(&row.workload);
            }
        }
        driver.prepare(&workloads)?;
        Ok(LoadTarget {
            storage: Storage::of_server(&driver.facts()),
            driver,
            recorder,
            meter,
            made_bytes: 0,
        })
    }

    /// Looks at what is used of the budget, and ends the row at `now` where its share is.
    pub fn look(&self, now: Nanos) {
        if let Some(at_ns) = self.meter.look(now.0) {
            self.recorder.close(at_ns);
        }
    }

    /// Ends it. A log that stays is closed, so that its end is known for certain.
    ///
    /// # Errors
    /// A target that cannot be ended: a log recovers when it is opened again.
    pub fn close(self) -> Result<(), Failure> {
        Ok(self.driver.close()?)
    }
}

/// Makes the files of a log in `folder`.
fn make_in(
    folder: &WorkFolder,
    setup: &Setup,
    progress: &dyn Fn(u64, u64),
    cancel: &dyn Fn() -> bool,
) -> Result<(), Failure> {
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
    Ok(())
}

/// What runs beside the sessions, with the redo that `recorder` counts.
fn beside(placed: &PlacedBackground, recorder: &Arc<Recorder>) -> LogBackground {
    let data = placed.data.as_ref().map(|data| {
        let recorder = Arc::clone(recorder);
        DataFile {
            device: Arc::clone(&data.device),
            written_per_redo: data.written_per_redo,
            redo_bytes: Arc::new(move || recorder.durable_bytes()),
        }
    });
    LogBackground {
        data,
        archive: placed.archive.clone(),
        neighbour: placed.neighbour.clone(),
    }
}

/// Bytes that making `log` has written, and opening it with the probe.
fn made_bytes(log: &Log, setup: &Setup) -> u64 {
    setup.log.footprint_bytes() + opened_bytes(log, setup)
}

/// Bytes that opening `log` with the probe has written, and what else is written meanwhile.
fn opened_bytes(log: &Log, setup: &Setup) -> u64 {
    let probe = &log.back_end().probe;
    let probed = |found: &ProbedWay| found.writes.saturating_mul(found.bytes);
    let probed: u64 = probe.iter().map(probed).sum();
    let other = setup.making_bytes.min(OTHER_MADE_BYTES);
    let file = if probe.is_empty() {
        0
    } else {
        PROBE_FILE_BYTES
    };
    probed + file + other
}

/// What is asked of a log, for the facts of a run.
fn asked_of(setup: &Setup) -> AskedOfLog {
    let log = &setup.log;
    AskedOfLog {
        sync_method: setup.sync_method,
        log_writer: log.log_writer,
        log_writer_cpus: log.log_writer_cpus.clone(),
        log_file_sync: log.log_file_sync,
        io_depth: log.io_depth,
        unwritten_extents: None,
        stripe: None,
        members: Vec::new(),
        ring: None,
        stays: false,
    }
}

/// The directory in which a folder of redolab's own is.
fn place_of(folder: &WorkFolder) -> String {
    let path = folder.directory().path();
    path.parent().unwrap_or(path).display().to_string()
}

/// What is called for each log write.
struct Observers {
    recorder: Arc<Recorder>,
    meter: Arc<Meter>,
}

impl Observers {
    fn new(setup: &Setup) -> Observers {
        let meter = Arc::new(Meter::new(Arc::clone(&setup.budget)));
        meter.set_beside(setup.log.background.writes_per_redo());
        let recorder = Recorder::of_nodes(setup.log.nodes, setup.log.log_write_warning);
        Observers {
            recorder: Arc::new(match setup.log.members {
                Some(_) => recorder.with_members(),
                None => recorder,
            }),
            meter,
        }
    }
}

fn options(setup: &Setup, observers: &Observers) -> Options {
    options_of(0, setup, observers)
}

/// Options of the log with that number, from 0.
fn options_of(node: usize, setup: &Setup, observers: &Observers) -> Options {
    let (recorder, meter) = (
        Arc::clone(&observers.recorder),
        Arc::clone(&observers.meter),
    );
    let archive_mode = match setup.background.archive {
        Some(_) => ArchiveMode::On,
        None => ArchiveMode::Keep,
    };
    Options::default()
        .archive_mode(archive_mode)
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
        .observe_batches(move |event| match event {
            // What is submitted after the row was ended is no part of it.
            BatchEvent::Written(write) => {
                if let Some(at_ns) = meter.written(write) {
                    recorder.close(at_ns);
                }
            }
            BatchEvent::Durable(write) => {
                recorder.log_write_of(node, write);
                meter.stored(write);
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::control::Control;
    use crate::experiment::measure::fixture::{large_budget, log_write, written_batch};

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
        let durable =
            |submitted, at| observer.observe(BatchEvent::Durable(&log_write(submitted, at)));
        for at in 1..=80 {
            observer.observe(BatchEvent::Written(&written_batch(at + 1)));
            durable(at, at + 1);
        }
        assert_eq!(meter.ended_ns(), Some(81));
        // Under way when it ended, and one that began then.
        durable(80, 90);
        durable(81, 91);
        assert_eq!(recorder.take().1.background.write.count(), 81);
    }
}
