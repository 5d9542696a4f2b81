//! What the holder of the baton reports to an observer: each batch when it is written, and again
//! when it is durable.

use super::core::Core;
use super::host::Underway;
use super::observer::{BatchEvent, LogObserver, LogWrite, Observer, WrittenBatch};
use measure::Nanos;

/// The observer, and what its reports are made from beside the batches.
pub(super) struct Reports {
    observer: Option<LogObserver>,
    /// Each write is durable by itself.
    durable_writes: bool,
    /// Flushes that no report has named.
    flushes: u32,
    /// When the last flush was submitted.
    flush_began: Nanos,
    /// The flush of the batches before this one was or is deferred.
    deferred: u64,
    /// Log sequence numbers of the last batch that was reported as written, and as durable.
    written_log_seq: u64,
    durable_log_seq: u64,
}

impl Reports {
    pub(super) fn new(observer: Option<Observer>, durable_writes: bool, log_seq: u64) -> Reports {
        Reports {
            observer: observer.map(Observer::of_log),
            durable_writes,
            flushes: 0,
            flush_began: Nanos::ZERO,
            deferred: 0,
            written_log_seq: log_seq,
            durable_log_seq: log_seq,
        }
    }

    /// There is an observer.
    #[inline(always)]
    pub(super) fn are_wanted(&self) -> bool {
        self.observer.is_some()
    }

    /// The flush of the batches before this one is left for later.
    #[inline(always)]
    pub(super) fn defers(&mut self, batches: u64) {
        self.deferred = batches;
    }

    /// A flush is submitted. No other is on its way, and what the last one covered is reported.
    #[inline(always)]
    pub(super) fn flushing(&mut self, now: Nanos) {
        self.flushes += 1;
        self.flush_began = now;
    }

    /// Reports a batch that is written.
    #[cold]
    pub(super) fn written(&mut self, core: &Core, underway: &Underway) {
        let Some(observer) = &mut self.observer else {
            return;
        };
        let batch = underway.batch;
        let log_seq = core.geometry.log_seq(batch.end() - 1);
        observer.observe(BatchEvent::Written(&WrittenBatch {
            batch: batch.id,
            blocks: batch.blocks,
            writes: underway.writes,
            switched: log_seq != self.written_log_seq,
            at_ns: underway.stations.written_ns,
        }));
        self.written_log_seq = log_seq;
    }

    /// Reports a batch that is durable.
    #[cold]
    pub(super) fn durable(&mut self, core: &Core, underway: &Underway) {
        let Some(observer) = &mut self.observer else {
            return;
        };
        let (batch, stations) = (underway.batch, underway.stations);
        let log_seq = core.geometry.log_seq(batch.end() - 1);
        let flushes = match self.durable_writes {
            true => underway.writes,
            false => std::mem::take(&mut self.flushes),
        };
        let deferred_ns = match batch.id < self.deferred {
            true => self.flush_began.0.saturating_sub(stations.written_ns),
            false => 0,
        };
        let carried = underway.pipelined;
        observer.observe(BatchEvent::Durable(&LogWrite {
            batch: batch.id,
            commits: core.buffer.commits(batch.id),
            redo_bytes: batch.bytes,
            blocks: batch.blocks,
            writes: underway.writes,
            flushes,
            deferred_ns,
            log_seq,
            switched: log_seq != self.durable_log_seq,
            checkpoint_wait_ns: underway.switch_waits.checkpoint_ns,
            archive_wait_ns: underway.switch_waits.archive_ns,
            scalable: carried.is_some(),
            worker: carried.map(|carried| carried.worker),
            group_wait_ns: carried.map_or(0, |carried| carried.group_wait_ns),
            stations,
        }));
        self.durable_log_seq = log_seq;
    }
}
