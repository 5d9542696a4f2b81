//! How a log is written: which sync method and engine, as asked for or as probed, and what is done
//! without where the system refuses.
//!
//! Invariant: everything that differs from what was asked for ends in [`BackEnd::fallbacks`], in
//! words, so that a program that measures the log can report it.

use super::options::{LogWriter, Options};
use crate::planted::Bug;
use device::file::{Directory, LockGuard};
use device::probe::{self, ProbePlan, ProbedWay};
use device::{FileSet, IoEngine, LogDevice, Queue, Region, SyncMethod, UringFiles};
use std::sync::Arc;

/// How an open log is written.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BackEnd {
    /// How writes are made durable; `None` on devices that were handed over as they are.
    pub sync_method: Option<SyncMethod>,
    /// The engine of the log writer's queue: `threads` or `io_uring`.
    pub io: &'static str,
    /// What the probe at open found, if it was asked for.
    pub probe: Vec<ProbedWay>,
    /// What was asked for and is done without, each with the reason.
    pub fallbacks: Vec<String>,
}

impl BackEnd {
    /// What the log buffer and the log writer's queues say of themselves.
    pub(super) fn of(region: &Region, queue: &dyn Queue, pipe: Option<&dyn Queue>) -> BackEnd {
        let mut fallbacks = [region.notes(), queue.notes()].concat();
        for note in pipe.map_or(&[][..], |pipe| pipe.notes()) {
            if !fallbacks.contains(note) {
                fallbacks.push(note.clone());
            }
        }
        BackEnd {
            io: queue.kind(),
            fallbacks,
            ..BackEnd::default()
        }
    }
}

/// What was decided before the log's files are opened.
pub(super) struct Chosen {
    pub(super) method: SyncMethod,
    io: IoEngine,
    probe: Vec<ProbedWay>,
    notes: Vec<String>,
}

/// Decides, by a probe in `directory` where `options` ask for it. The log is locked. A raw device
/// has no directory, and no room beside its log.
pub(super) fn choose(directory: Option<&Directory>, block_bytes: u32, options: &Options) -> Chosen {
    let mut chosen = Chosen {
        method: options.sync_method,
        io: options.io,
        probe: Vec::new(),
        notes: Vec::new(),
    };
    // Rings overlap batches; a writer with one batch in flight is measured, or takes the shorter
    // way into the system.
    let overlaps = options.log_writer == LogWriter::Lgwr && options.policy.depth > 1;
    if options.io == IoEngine::Auto && overlaps {
        chosen.io = match options.uring.check() {
            Ok(()) => IoEngine::IoUring,
            Err(_) => IoEngine::Threads,
        };
    }
    if options.probe && directory.is_none() {
        chosen.notes.push(format!(
            "a raw device has no room for a probe in addition to its log: {} is used",
            chosen.method
        ));
    }
    if let Some(directory) = directory.filter(|_| options.probe) {
        // Refused rings say so later; the sync methods are measured without them.
        let io = match chosen.io {
            IoEngine::IoUring if options.uring.check().is_err() => IoEngine::Threads,
            io => io,
        };
        let plan = ProbePlan::for_log(block_bytes, io, options.uring);
        match probe::probe(directory, plan) {
            Ok(outcome) => {
                match outcome.best {
                    Some(best) => (chosen.method, chosen.io) = (best.method, best.io),
                    None => chosen.notes.push(format!(
                        "the probe could measure no way of writing: {} is used",
                        chosen.method
                    )),
                }
                chosen.probe = outcome.found;
            }
            Err(error) => chosen.notes.push(format!(
                "the probe could not be made: {error}: {} is used",
                chosen.method
            )),
        }
    }
    // Rings that were asked for by name and that the probe could not measure.
    if options.io == IoEngine::IoUring {
        chosen.io = IoEngine::IoUring;
    } else if chosen.io == IoEngine::Auto {
        chosen.io = IoEngine::Threads;
    }
    chosen
}

impl Chosen {
    /// The files as a device of the engine that was decided on, and what to say of it.
    /// `lock` is what keeps other owners away.
    pub(super) fn device(
        self,
        set: FileSet,
        options: &Options,
        lock: &LockGuard,
    ) -> (Arc<dyn LogDevice>, BackEnd) {
        let (mut devices, back_end) = self.devices(vec![set], options, &[lock]);
        (devices.pop().expect("one set is one device"), back_end)
    }

    /// As [`Chosen::device`], of several sets of files, each with its lock.
    pub(super) fn devices(
        self,
        sets: Vec<FileSet>,
        options: &Options,
        locks: &[&LockGuard],
    ) -> (Vec<Arc<dyn LogDevice>>, BackEnd) {
        let mut back_end = BackEnd {
            sync_method: Some(self.method),
            io: IoEngine::Threads.name(),
            probe: self.probe,
            fallbacks: self.notes,
        };
        let misstated = sets.iter().filter_map(FileSet::misstated);
        back_end
            .fallbacks
            .extend(misstated.map(ToString::to_string));
        if self.io == IoEngine::IoUring {
            match options.uring.check() {
                Ok(()) => {
                    let each = sets.into_iter().zip(locks);
                    let each = each.map(|(set, lock)| rings(set, options, lock));
                    return (each.collect(), back_end);
                }
                Err(refused) => back_end.fallbacks.push(format!(
                    "{refused}: the log is written with threads instead"
                )),
            }
        }
        let each = sets
            .into_iter()
            .map(|set| Arc::new(set) as Arc<dyn LogDevice>);
        (each.collect(), back_end)
    }
}

/// The files behind rings, which hold the lock until the last request of a killed process ended.
fn rings(set: FileSet, options: &Options, lock: &LockGuard) -> Arc<dyn LogDevice> {
    let mut ways = options.uring;
    ways.flush_ahead |= options.planted.has(Bug::FlushCountsInFlight);
    let files = UringFiles::new(set, ways);
    Arc::new(match options.planted.has(Bug::LockLeavesRing) {
        true => files,
        false => files.under_lock(lock),
    })
}
