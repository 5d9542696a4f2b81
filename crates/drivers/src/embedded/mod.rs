//! The embedded redo log behind the seam: opened by its owner, with a database writer (or a
//! stand-in for it) that moves the checkpoint, and an archiver if the log is archived.
//!
//! Invariants: a session keeps the log's memory, not the log: closing it ends it whatever sessions
//! are left; a log that stays where it is was closed, so that its end is known for certain.

mod archive_file;
mod archiver;
mod background;
mod database_writer;
mod group;
mod members;
mod neighbour;
mod nodes;
mod null;
mod session;

pub use archiver::{ArchiveOptions, ArchivedSoFar, archive_folder};
pub use database_writer::{DataFile, WRITTEN_PER_REDO, WrittenSoFar};
pub use members::AskedOfRing;
pub use neighbour::{NEIGHBOUR_BYTES, Neighbour};
pub use nodes::EmbeddedNodes;
pub use null::null_layout;

use archiver::{ArchiveCounts, Archiver};
use background::{Background, Progress};
use database_writer::WriterCounts;
use device::probe::ProbedWay;
use device::{IoEngine, SyncMethod};
use group::LogGroup;
use measure::RealClock;
use measure::driver::{
    Driver, DriverCounters, DriverError, DriverSession, LearntSoFar, SessionGroup, SessionLoad,
    WorkerCounts,
};
use measure::record::{LearntSwitch, LogLife, WaitSum};
use measure::run::{ProbeRow, RedoLogFacts, StripeFacts, TargetFacts};
use measure::workload::{CommitPost, Workload};
use members::{member_facts, ring_facts};
use neighbour::NeighbourTimes;
use redo::engine::BackEnd;
use redo::{Log, LogFileSync, LogWriter};
use session::LogSession;
use std::sync::{Arc, Mutex, PoisonError};

/// What was asked of a log, for the facts of a run; what came of it the log reports.
#[derive(Clone, Debug)]
pub struct AskedOfLog {
    /// How writes are made durable.
    pub sync_method: SyncMethod,
    /// Which thread writes the log.
    pub log_writer: LogWriter,
    /// CPUs that the log writer's threads stay on; anywhere when empty.
    pub log_writer_cpus: Vec<usize>,
    /// How foregrounds learn that their redo is durable.
    pub log_file_sync: LogFileSync,
    /// Batches in flight at most.
    pub io_depth: u32,
    /// Extents that the file system holds as unwritten, if it can report them.
    pub unwritten_extents: Option<u64>,
    /// The stripe that it lies in, if it does.
    pub stripe: Option<StripeFacts>,
    /// The directories of its members, if it has some.
    pub members: Vec<String>,
    /// Its ring, if it has one.
    pub ring: Option<AskedOfRing>,
    /// The log stays when the driver has ended, so it is closed.
    pub stays: bool,
}

/// An embedded log that is ready for load.
pub struct EmbeddedLog {
    log: Arc<Log>,
    asked: AskedOfLog,
    /// The database writer, and the archiver.
    background: Mutex<Option<(Background, Option<Background>)>>,
    progress: Progress,
    written: Arc<WriterCounts>,
    writes_data: bool,
    archived: Option<Arc<ArchiveCounts>>,
    neighbour: Mutex<Option<Background>>,
    neighbour_times: Option<Arc<NeighbourTimes>>,
}

/// What runs beside the sessions of an embedded log.
#[derive(Clone, Debug, Default)]
pub struct LogBackground {
    /// The data file of the database writer; without it nothing is written before the checkpoint
    /// moves.
    pub data: Option<DataFile>,
    /// Where the log is archived. The log is in archive mode then.
    pub archive: Option<ArchiveOptions>,
    /// Software that synchronises a file of its own.
    pub neighbour: Option<Neighbour>,
}

impl EmbeddedLog {
    /// Takes over an opened log, and begins to move its checkpoint.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(log: Log, asked: AskedOfLog) -> std::io::Result<EmbeddedLog> {
        EmbeddedLog::start_with(log, asked, LogBackground::default())
    }

    /// As [`EmbeddedLog::start`], with a database writer and an archiver.
    ///
    /// # Errors
    /// When the system gives no thread; an archive that cannot be begun or continued.
    pub fn start_with(
        log: Log,
        asked: AskedOfLog,
        beside: LogBackground,
    ) -> std::io::Result<EmbeddedLog> {
        let log = Arc::new(log);
        let progress = Progress::of(&log);
        let LogBackground {
            data,
            archive,
            neighbour,
        } = beside;
        let (written, writes_data) = (Arc::<WriterCounts>::default(), data.is_some());
        let archived = archive.as_ref().map(|_| Arc::<ArchiveCounts>::default());
        let counts = Arc::clone(&written);
        let writer = database_writer::start(&log, data, counts, progress.clone())?;
        let started = archive
            .zip(archived.clone())
            .map(|(options, counts)| Archiver::start(&log, options, counts, progress.clone()));
        let archiver = match started.transpose() {
            Ok(archiver) => archiver,
            Err(error) => {
                writer.end();
                return Err(std::io::Error::other(error));
            }
        };
        let neighbour_times = neighbour.as_ref().map(|_| Arc::<NeighbourTimes>::default());
        let started = neighbour
            .zip(neighbour_times.clone())
            .map(|(neighbour, times)| neighbour::start(neighbour, times, progress.clone()));
        let neighbour = match started.transpose() {
            Ok(neighbour) => neighbour,
            Err(error) => {
                archiver.into_iter().for_each(Background::end);
                writer.end();
                return Err(error);
            }
        };
        Ok(EmbeddedLog {
            log,
            asked,
            background: Mutex::new(Some((writer, archiver))),
            progress,
            written,
            writes_data,
            archived,
            neighbour: Mutex::new(neighbour),
            neighbour_times,
        })
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// How writes are made durable.
    #[must_use]
    pub fn sync_method(&self) -> SyncMethod {
        let found = self.log.back_end().sync_method;
        found.unwrap_or(self.asked.sync_method)
    }

    fn describe(&self) -> RedoLogFacts {
        let (log, asked) = (&self.log, &self.asked);
        let (geometry, back_end) = (log.geometry(), log.back_end());
        let mut fallbacks = back_end.fallbacks.clone();
        let workers = asked.log_writer.workers();
        let mut io_depth = workers.unwrap_or(asked.io_depth);
        // Calls that block have one batch in flight, unless workers make them.
        if workers.is_none() && io_depth > 1 && back_end.io != IoEngine::IoUring.name() {
            fallbacks.push(format!(
                "{io_depth} batches in flight: with {} the log writer has 1 in flight",
                back_end.io
            ));
            io_depth = 1;
        }
        let cpus = asked.log_writer_cpus.iter();
        RedoLogFacts {
            sync_method: self.sync_method().name().to_owned(),
            io: Some(back_end.io.to_owned()),
            io_depth: Some(io_depth),
            probe: probe_rows(back_end),
            fallbacks,
            redo_block_bytes: geometry.block_bytes,
            seal_bytes: geometry.block_bytes * geometry.seal_blocks,
            log_groups: geometry.groups,
            log_file_bytes: geometry.file_bytes,
            log_buffer_bytes: log.buffer_bytes(),
            huge_pages: log.huge_pages(),
            unwritten_extents: asked.unwritten_extents,
            log_writer: Some(asked.log_writer.to_string()),
            log_writer_cpus: cpus.filter_map(|n| u32::try_from(*n).ok()).collect(),
            log_file_sync: Some(asked.log_file_sync.name().to_owned()),
            flush_triggers: Some(log.triggers().to_string()),
            stripe: asked.stripe.clone(),
            members: member_facts(log, &asked.members),
            ring: asked
                .ring
                .as_ref()
                .map(|ring| Box::new(ring_facts(log, ring))),
            node_directories: Vec::new(),
        }
    }

    /// What runs beside the sessions did so far.
    fn life(&self) -> Option<LogLife> {
        let written = self.written.read(self.writes_data);
        let archived = self.archived.as_ref().map(|counts| counts.read());
        let times = self.neighbour_times.as_ref().map(|times| times.read());
        let there = self.writes_data || archived.is_some();
        (there || times.is_some()).then_some(LogLife {
            data_blocks: written.blocks,
            checkpoints: there.then_some(written.checkpoints),
            neighbour_fsync_ns: times,
            archived_files: archived.map(|archived| archived.files),
            archived_bytes: archived.map(|archived| archived.bytes),
        })
    }

    fn learnt(&self) -> Option<LearntSoFar> {
        let learnt = self.log.learned()?;
        let recent = learnt.recent.iter().map(|switch| LearntSwitch {
            at_ns: switch.at.0,
            to_polling: switch.to.polling,
            to_inline: switch.to.inline,
            left_per_s: switch.left_per_s,
            taken_per_s: switch.taken_per_s,
        });
        Some(LearntSoFar {
            switches: learnt.switches,
            commits: learnt.commits,
            polled: learnt.polled,
            recent: recent.collect(),
        })
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

impl Driver for EmbeddedLog {
    fn clock(&self) -> RealClock {
        self.log.clock()
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        match workload.tproc_c {
            Some(_) => Err(DriverError::unusable(
                "a redo log alone has no tables for TPROC-C: use a database server",
            )),
            None => Ok(()),
        }
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        let session = self.log.session();
        Ok(Box::new(LogSession::new(session, self.log.clock(), load)))
    }

    fn has_groups(&self) -> bool {
        true
    }

    fn group(&self, loads: Vec<SessionLoad>) -> Result<Box<dyn SessionGroup>, DriverError> {
        Ok(Box::new(LogGroup::new(&self.log, loads)))
    }

    /// A commit BATCH posts nobody, and others wait for triggers that may not come any more.
    fn nudge(&self, post: CommitPost) {
        let posts = self.log.triggers().commit && post == CommitPost::Immediate;
        // A log that failed reports that to its sessions.
        let _ = posts || self.log.flush().is_ok();
    }

    fn drain(&self) -> Result<(), DriverError> {
        self.log.flush().map_err(DriverError::failed)
    }

    fn buffered_bytes(&self) -> u64 {
        self.log.buffer_bytes()
    }

    fn block_bytes(&self) -> Option<u32> {
        Some(self.log.geometry().block_bytes)
    }

    fn counters(&self) -> DriverCounters {
        let workers = self.log.workers().iter().map(|worker| {
            let idle = worker.idle();
            WorkerCounts {
                operations: worker.operations(),
                idle: WaitSum {
                    count: idle.ended,
                    total_ns: idle.ns,
                },
                is_idle: idle.going_on,
            }
        });
        DriverCounters {
            other_flushes: self.progress.control_flushes(),
            learnt: self.learnt(),
            workers: workers.collect(),
            tproc_c: None,
            log_life: self.life(),
        }
    }

    fn check(&self) -> Result<(), DriverError> {
        let failure = self.progress.failure();
        failure.map_or(Ok(()), |why| Err(DriverError::failed(why.to_owned())))
    }

    fn facts(&self) -> TargetFacts {
        TargetFacts::RedoLog(self.describe())
    }

    fn close(&self) -> Result<(), DriverError> {
        let slot = self.neighbour.lock();
        let neighbour = slot.unwrap_or_else(PoisonError::into_inner).take();
        neighbour.into_iter().for_each(Background::end);
        let slot = self.background.lock();
        let background = slot.unwrap_or_else(PoisonError::into_inner).take();
        let Some((writer, archiver)) = background else {
            return Ok(());
        };
        // While the checkpoint still moves, so that a full log finds room.
        let flushed = match self.asked.stays || archiver.is_some() {
            true => self.log.flush(),
            false => Ok(()),
        };
        // It archives the rest, to the last record.
        let archived = archiver.map(Background::end);
        writer.end();
        if archived.is_some() {
            self.check()?;
        }
        let closed = match self.asked.stays {
            true => flushed.and_then(|()| self.log.close()),
            false => flushed,
        };
        closed.map_err(DriverError::failed)
    }
}

impl Drop for EmbeddedLog {
    fn drop(&mut self) {
        // After a failure its reason is on its way already; the log recovers.
        let _ = self.close();
    }
}
