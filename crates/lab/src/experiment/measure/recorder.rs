//! What is recorded while a row runs: shared by all sessions, bounded whatever their number.
//!
//! Sessions buffer samples and hand them over in batches to one of a few shards; once a second
//! the shards are emptied into an interval. The log writer's observer has a shard of its own.
//! Histograms merge exactly, so nothing depends on which shard a sample went through.

use super::capture::Capture;
use super::earlier::EarlierWrites;
use super::sample::Sample;
use measure::Nanos;
use measure::record::{Background, Foreground, KINDS_MAX, SlowWrite, SlowWrites};
use measure::waits::OUTLIER_NS;
use redo::engine::LogWrite;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Shards at most: memory is bounded by them, not by jobs.
const SHARDS: usize = 16;

/// What sessions did, by the kind of transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foregrounds(Vec<Foreground>);

impl Foregrounds {
    fn add(&mut self, sample: &Sample) {
        let transaction = &sample.transaction;
        let foreground = self.kind(usize::from(transaction.kind));
        foreground.add(sample.latency_ns, transaction.sync_ns, transaction.path_ns);
    }

    /// # Panics
    /// A driver's transaction is of one of the kinds that it names.
    fn kind(&mut self, kind: usize) -> &mut Foreground {
        assert!(kind < KINDS_MAX, "a transaction is of kind {kind}");
        if self.0.len() <= kind {
            self.0.resize_with(kind + 1, Foreground::default);
        }
        &mut self.0[kind]
    }

    /// Adds all of `other`, exactly.
    pub fn merge(&mut self, other: &Foregrounds) {
        for (kind, theirs) in other.0.iter().enumerate() {
            self.kind(kind).merge(theirs);
        }
    }

    /// All kinds together.
    #[must_use]
    pub fn all(&self) -> Foreground {
        let mut all = Foreground::default();
        self.0.iter().for_each(|kind| all.merge(kind));
        all
    }

    /// Those of each kind, by number.
    #[must_use]
    pub fn kinds(&self) -> &[Foreground] {
        &self.0
    }
}

/// What the log writer did, and when it changed its way.
#[derive(Debug, Default)]
pub struct LogWrites {
    /// What it did.
    pub background: Background,
    /// When an adaptive log writer went over to workers (true) or back, on the log's clock; the
    /// first [`MODES_KEPT`].
    pub modes: Vec<(u64, bool)>,
    /// When the last flush ended, and the redo that it made durable so far.
    flushed: (u64, u64),
    /// The log has several members: which of them ended a log write last is not reported.
    has_members: bool,
}

/// Changes of mode of an interval that are kept one by one.
pub const MODES_KEPT: usize = 100;

impl LogWrites {
    /// None yet; those that take at least `warning_ns` are kept one by one.
    fn warned_from(warning_ns: u64) -> LogWrites {
        LogWrites {
            background: Background {
                slow: Some(SlowWrites::over(warning_ns)),
                ..Background::default()
            },
            ..LogWrites::default()
        }
    }

    fn add(&mut self, write: &LogWrite) {
        let stations = &write.stations;
        let took = stations
            .durable_ns
            .saturating_sub(stations.submitted_ns)
            .saturating_sub(write.deferred_ns);
        let background = &mut self.background;
        background.write.record(took);
        background.commits.record(u64::from(write.commits));
        if let Some(slow) = &mut background.slow {
            slow.add(SlowWrite {
                took_ns: took,
                at_ns: stations.submitted_ns,
                blocks: write.blocks,
                member: (!self.has_members).then_some(0),
            });
        }
        background.redo_bytes += u64::from(write.redo_bytes);
        background.blocks += u64::from(write.blocks);
        background.flushes += u64::from(write.flushes);
        let (at, bytes) = &mut self.flushed;
        if *at != stations.durable_ns {
            (*at, *bytes) = (stations.durable_ns, 0);
        }
        *bytes += u64::from(write.redo_bytes);
        if write.deferred_ns > 0 {
            let window = stations.durable_ns.saturating_sub(stations.written_ns);
            background.deferred_ns_max = background.deferred_ns_max.max(window);
            background.deferred_bytes_max = background.deferred_bytes_max.max(*bytes);
        }
        if write.checkpoint_wait_ns > 0 {
            background.checkpoint.record(write.checkpoint_wait_ns);
        }
        if write.archive_wait_ns > 0 {
            background.archive.record(write.archive_wait_ns);
        }
        if write.switched {
            background.switches += 1;
            background.switch.record(took);
        }
        if write.group_wait_ns > 0 {
            background.any_worker.record(write.group_wait_ns);
        }
        if let Some(worker) = write.worker {
            let worker = background.worker(usize::from(worker));
            worker.write.record(took);
        }
    }

    fn changed(&mut self, at_ns: u64, scalable: bool) {
        self.background.mode_switches += 1;
        if self.modes.len() < MODES_KEPT {
            self.modes.push((at_ns, scalable));
        }
    }
}

/// What one of several logs did.
#[derive(Clone, Debug, Default)]
pub struct NodeSamples {
    /// What its sessions did.
    pub foreground: Foreground,
    /// What its log writer did.
    pub background: Background,
}

/// What is kept of one of several logs.
#[derive(Debug, Default)]
struct NodePart {
    foreground: Foreground,
    log_writes: LogWrites,
}

/// Shared by the sessions, the log writer and the collector of a run.
#[derive(Debug)]
pub struct Recorder {
    foreground: Box<[Mutex<Foregrounds>]>,
    log_writes: Mutex<LogWrites>,
    /// Log writes submitted from this time, and before that one, are recorded.
    window: [AtomicU64; 2],
    /// How the last log write of each log was made: not known, alone, by workers.
    modes: Box<[AtomicU8]>,
    /// Of several logs, what each did; empty where there is one.
    nodes: Box<[Mutex<NodePart>]>,
    /// Redo that became durable, whatever the window.
    durable_bytes: AtomicU64,
    /// Commits are joined to the log write before their own.
    joining: AtomicBool,
    earlier: Mutex<EarlierWrites>,
    /// Log writes that take at least this are kept one by one, in nanoseconds.
    warning_ns: u64,
    capture: OnceLock<Capture>,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder::warning_from(Nanos(OUTLIER_NS))
    }
}

impl Recorder {
    /// Of one log; keeps log writes that take at least `warning` one by one.
    #[must_use]
    fn warning_from(warning: Nanos) -> Recorder {
        Recorder::of_nodes(1, warning)
    }

    /// Of so many logs; keeps log writes that take at least `warning` one by one. Sessions are
    /// dealt out to the logs by their numbers.
    #[must_use]
    pub fn of_nodes(count: u32, warning: Nanos) -> Recorder {
        let Nanos(warning_ns) = warning;
        let parts = if count > 1 { count } else { 0 };
        Recorder {
            foreground: (0..SHARDS).map(|_| Mutex::default()).collect(),
            log_writes: Mutex::new(LogWrites::warned_from(warning_ns)),
            window: [AtomicU64::new(0), AtomicU64::new(u64::MAX)],
            modes: (0..count.max(1)).map(|_| AtomicU8::new(0)).collect(),
            nodes: (0..parts).map(|_| Mutex::default()).collect(),
            durable_bytes: AtomicU64::new(0),
            joining: AtomicBool::new(false),
            earlier: Mutex::default(),
            warning_ns,
            capture: OnceLock::new(),
        }
    }

    /// The same of a log with several members.
    #[must_use]
    pub fn with_members(self) -> Recorder {
        lock(&self.log_writes).has_members = true;
        self
    }
}

impl Recorder {
    /// Number of logs.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.modes.len() as u32
    }

    /// Takes over a session's samples.
    pub fn samples(&self, session: usize, samples: &[Sample]) {
        let mut shard = lock(&self.foreground[session % SHARDS]);
        for sample in samples {
            shard.add(sample);
        }
        if self.joining.load(Ordering::Relaxed) {
            let earlier = lock(&self.earlier);
            for sample in samples {
                if let Some(parts_ns) = earlier.parts_ns(&sample.transaction) {
                    let kind = usize::from(sample.transaction.kind);
                    shard.kind(kind).add_parts(parts_ns);
                }
            }
        }
        if let Some(node) = self.nodes.get(session % self.modes.len()) {
            let foreground = &mut lock(node).foreground;
            for Sample {
                latency_ns,
                transaction: t,
                ..
            } in samples
            {
                foreground.add(*latency_ns, t.sync_ns, t.path_ns);
            }
        }
        // Under the lock, so that the events that are handed over are those that were counted.
        if let Some(capture) = self.capture.get() {
            capture.samples(session % SHARDS, samples);
        }
    }

    /// Has every event captured from now on.
    ///
    /// # Errors
    /// The capture itself, where there is one already.
    pub fn capture_with(
        &self,
        start: impl FnOnce(usize) -> std::io::Result<Capture>,
    ) -> std::io::Result<()> {
        let capture = start(SHARDS)?;
        let one = |_| std::io::Error::other("events are being captured already");
        self.capture.set(capture).map_err(one)
    }

    /// The capture, where there is one.
    #[must_use]
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.get()
    }

    /// From now on each commit that waited is divided by the log writes of its batch and of those
    /// before it, or not.
    pub fn join_earlier_writes(&self, join: bool) {
        self.joining.store(join, Ordering::Relaxed);
    }

    /// Records log writes that are submitted from `from_ns`, until [`Recorder::close`].
    pub fn open(&self, from_ns: u64) {
        self.window[0].store(from_ns, Ordering::SeqCst);
        self.window[1].store(u64::MAX, Ordering::SeqCst);
    }

    /// Log writes that are submitted at `until_ns` or later are not recorded; those under way are,
    /// whenever they end.
    pub fn close(&self, until_ns: u64) {
        self.window[1].store(until_ns, Ordering::SeqCst);
    }

    /// Bytes of redo that the log writer has made durable so far, record headers included.
    #[must_use]
    pub fn durable_bytes(&self) -> u64 {
        self.durable_bytes.load(Ordering::Relaxed)
    }

    /// Takes note of a log write of the log with that number, from 0.
    pub fn log_write_of(&self, node: usize, write: &LogWrite) {
        let bytes = u64::from(write.redo_bytes);
        self.durable_bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.joining.load(Ordering::Relaxed) {
            lock(&self.earlier).add(write);
        }
        let at = write.stations.submitted_ns;
        let mode = 1 + u8::from(write.scalable);
        let before = self.modes[node].swap(mode, Ordering::Relaxed);
        let [from, until] = self.window.each_ref().map(|w| w.load(Ordering::Relaxed));
        if at < from || at >= until {
            return;
        }
        let mut log_writes = lock(&self.log_writes);
        log_writes.add(write);
        if let Some(part) = self.nodes.get(node) {
            lock(part).log_writes.add(write);
        }
        if let Some(capture) = self.capture.get() {
            capture.log_write(write);
        }
        if before != 0 && before != mode {
            log_writes.changed(at, write.scalable);
        }
    }

    /// Everything since the last call, and forgets it.
    #[must_use]
    pub fn take(&self) -> (Foregrounds, LogWrites, Vec<NodeSamples>) {
        let mut all = Foregrounds::default();
        let capture = self.capture.get();
        for (index, shard) in self.foreground.iter().enumerate() {
            let mut shard = lock(shard);
            if let Some(capture) = capture {
                capture.hand_over_syncs(index);
            }
            all.merge(&shard);
            shard.0.iter_mut().for_each(Foreground::clear);
        }
        let mut log_writes = lock(&self.log_writes);
        if let Some(capture) = capture {
            capture.hand_over_writes();
        }
        // A flush may end in the next interval what it began in this one.
        let next = LogWrites {
            flushed: log_writes.flushed,
            has_members: log_writes.has_members,
            ..LogWrites::warned_from(self.warning_ns)
        };
        let mut taken = std::mem::replace(&mut *log_writes, next);
        let nodes: Vec<NodeSamples> = self.nodes.iter().map(take_node).collect();
        if !nodes.is_empty() {
            // Reports of several logs come mixed: what one flush covers is known of each log alone.
            let most = nodes.iter().map(|node| node.background.deferred_bytes_max);
            taken.background.deferred_bytes_max = most.max().unwrap_or(0);
        }
        (all, taken, nodes)
    }
}

fn take_node(part: &Mutex<NodePart>) -> NodeSamples {
    let mut part = lock(part);
    let next = LogWrites {
        flushed: part.log_writes.flushed,
        ..LogWrites::default()
    };
    NodeSamples {
        foreground: std::mem::take(&mut part.foreground),
        background: std::mem::replace(&mut part.log_writes, next).background,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Adding to a histogram leaves nothing half done that a reader could misread.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::fixture::log_write;
    use measure::Nanos;
    use measure::driver::Transaction;

    #[test]
    fn a_log_write_belongs_to_the_window_in_which_it_was_submitted() {
        let write = log_write;
        let recorder = Recorder::default();
        recorder.open(1000);
        recorder.log_write_of(0, &write(999, 1500));
        recorder.log_write_of(0, &write(1000, 1600));
        recorder.close(2000);
        // Under way at the end, and the longest of all: it must not be lost.
        recorder.log_write_of(0, &write(1999, 900_000));
        recorder.log_write_of(0, &write(2000, 2100));
        let background = recorder.take().1.background;
        assert_eq!((background.write.count(), background.redo_bytes), (2, 1000));
        assert_eq!(background.write.stats().max_ns, 898_001);
        recorder.open(0);
        recorder.log_write_of(0, &write(1, 5000));
        assert_eq!(recorder.take().1.background.write.count(), 1);
    }

    #[test]
    fn a_flush_that_covers_several_log_writes_counts_once_and_its_deferral_is_no_time_of_theirs() {
        let recorder = Recorder::default();
        recorder.open(0);
        for batch in 0..5 {
            recorder.log_write_of(
                0,
                &LogWrite {
                    flushes: u32::from(batch == 0),
                    deferred_ns: 9_000,
                    ..log_write(1000, 10_500)
                },
            );
        }
        let background = recorder.take().1.background;
        assert_eq!((background.flushes, background.write.count()), (1, 5));
        assert_eq!(background.write.stats().max_ns, 500);
        assert_eq!(background.deferred_bytes_max, 2500);
    }

    #[test]
    fn a_flush_across_the_end_of_an_interval_has_the_redo_of_both() {
        let recorder = Recorder::default();
        recorder.open(0);
        let write = LogWrite {
            deferred_ns: 9_000,
            ..log_write(1000, 10_500)
        };
        recorder.log_write_of(0, &write);
        assert_eq!(recorder.take().1.background.deferred_bytes_max, 500);
        recorder.log_write_of(0, &write);
        assert_eq!(recorder.take().1.background.deferred_bytes_max, 1000);
    }

    #[test]
    fn a_slow_write_of_several_members_is_attributed_to_none() {
        let one = Recorder::warning_from(Nanos(1));
        let several = Recorder::warning_from(Nanos(1)).with_members();
        for (recorder, want) in [(one, Some(0)), (several, None)] {
            recorder.open(0);
            // What is taken leaves the next interval of the same log.
            for _ in 0..2 {
                recorder.log_write_of(0, &log_write(1000, 10_500));
                let slow = recorder.take().1.background.slow.expect("kept");
                let members: Vec<Option<u16>> = slow.kept.iter().map(|w| w.member).collect();
                assert_eq!(members, [want]);
            }
        }
    }

    /// Sessions and log writes of two logs: each log has its own, and both together are the row's.
    #[test]
    fn each_of_two_logs_has_its_sessions_and_its_log_writes() {
        let recorder = Recorder::of_nodes(2, Nanos(OUTLIER_NS));
        recorder.open(0);
        for (session, sync_ns) in [(0, 100), (1, 300), (2, 100), (4, 100)] {
            let transaction = Transaction {
                kind: 0,
                requested: Nanos(1),
                returned: Nanos(901),
                sync_ns: Some(sync_ns),
                path_ns: None,
                batch: None,
            };
            let sample = Sample {
                latency_ns: 2 * sync_ns,
                transaction,
                session: session as u32,
            };
            recorder.samples(session, &[sample]);
        }
        // Reports of two flushes that come mixed, and each covers 1000 bytes.
        for (node, durable) in [(0, 10_500), (1, 10_700), (0, 10_500), (1, 10_700)] {
            let write = LogWrite {
                deferred_ns: 9_000,
                ..log_write(1000, durable)
            };
            recorder.log_write_of(node, &write);
        }
        let (all, writes, nodes) = recorder.take();
        let syncs = |n: &NodeSamples| (n.foreground.sync.count(), n.foreground.sync.sum());
        assert_eq!(
            nodes.iter().map(syncs).collect::<Vec<_>>(),
            [(3, 300), (1, 300)]
        );
        assert_eq!((all.all().sync.count(), all.all().sync.sum()), (4, 600));
        let redo = |n: &NodeSamples| (n.background.redo_bytes, n.background.deferred_bytes_max);
        assert_eq!(
            nodes.iter().map(redo).collect::<Vec<_>>(),
            [(1000, 1000); 2]
        );
        let both = &writes.background;
        assert_eq!((both.redo_bytes, both.deferred_bytes_max), (2000, 1000));
        assert_eq!(both.mode_switches, 0);
        let (_, _, nodes) = recorder.take();
        assert!(
            nodes.iter().all(|n| n.foreground.sync.count() == 0),
            "taken once"
        );
        assert!(
            Recorder::default().take().2.is_empty(),
            "one log has no parts"
        );
    }

    #[test]
    fn taking_gives_everything_once() {
        let recorder = Recorder::default();
        for session in 0..100 {
            let transaction = |kind| Transaction {
                kind,
                requested: Nanos(1),
                returned: Nanos(901),
                sync_ns: Some(900),
                path_ns: None,
                batch: None,
            };
            let sample = |kind| Sample {
                latency_ns: 1000 + session as u64,
                transaction: transaction(kind),
                session: session as u32,
            };
            recorder.samples(session, &[sample(0), sample(2)]);
        }
        let (first, ..) = recorder.take();
        let counts = |kinds: &Foregrounds| -> Vec<u64> {
            kinds
                .kinds()
                .iter()
                .map(|kind| kind.latency.count())
                .collect()
        };
        assert_eq!(counts(&first), [100, 0, 100]);
        let first = first.all();
        assert_eq!((first.latency.count(), first.sync.count()), (200, 200));
        assert_eq!(first.sync.sum(), 200 * 900);
        assert_eq!(recorder.take().0.all().latency.count(), 0);
    }
}
