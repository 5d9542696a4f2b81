//! What comes out of the join, as intervals and as the recording of a watched run.

use super::join::{JoinCounts, JoinOutput, SeenWrite};
use super::server::ServerGrown;
use crate::store::events::WriteEvent;
use measure::record::{
    Background, IntervalRecord, Recording, RowLoad, SlowWrite, SlowWrites, TimeWindow, WaitPeak,
    WatchedRecord,
};
use measure::run::{CapturedEvents, WATCHED_BLOCK_BYTES};
use measure::{Histogram, Nanos};

/// The name of the row of a watched run.
pub(super) const WATCHED_ROW: &str = "watched";
/// A second of a watched run, as it is shown.
#[derive(Clone, Debug, Default)]
pub struct WatchedSecond {
    /// Seconds since the beginning, at its end.
    pub at_s: f64,
    /// Its length in seconds.
    pub seconds: f64,
    /// Log file parallel write.
    pub write: Histogram,
    /// Flushes.
    pub flush: Histogram,
    /// Bytes written.
    pub bytes: u64,
}

/// What was seen so far.
#[derive(Debug)]
pub(super) struct WatchTally {
    /// The present interval.
    now: WatchedSecond,
    interval_from: Nanos,
    background: Background,
    watched: WatchedRecord,
    intervals: Vec<IntervalRecord>,
    last_begin_ns: Option<u64>,
    /// Log writes for the trace, since they were taken last.
    events: Vec<WriteEvent>,
    event_count: u64,
    keeps_events: bool,
    /// The zero of the run's clock on the trace's clock, and in nanoseconds since 1970 UTC.
    zero_ns: u64,
    zero_utc_ns: u64,
}

impl WatchTally {
    /// Nothing yet. `zero_ns`: the begin of the run on the trace's clock, `zero_utc_ns` since 1970
    /// UTC. Log writes that take at least `warning` are kept one by one.
    pub(super) fn new(
        (zero_ns, zero_utc_ns): (u64, u64),
        warning: Nanos,
        keeps_events: bool,
    ) -> WatchTally {
        WatchTally {
            now: WatchedSecond::default(),
            interval_from: Nanos::ZERO,
            background: Background {
                slow: Some(SlowWrites::over(warning.0)),
                ..Background::default()
            },
            watched: WatchedRecord::default(),
            intervals: Vec::new(),
            last_begin_ns: None,
            events: Vec::new(),
            event_count: 0,
            keeps_events,
            zero_ns,
            zero_utc_ns,
        }
    }

    fn since_begin(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.zero_ns)
    }

    /// Adds what came out.
    pub(super) fn add(&mut self, out: JoinOutput) {
        for (into, times) in [
            (&mut self.watched.call, &out.calls_ns),
            (&mut self.watched.flush, &out.flushes_ns),
            (&mut self.watched.device_write, &out.device_writes_ns),
            (&mut self.watched.device_flush, &out.device_flushes_ns),
        ] {
            times.iter().for_each(|ns| into.record(*ns));
        }
        out.flushes_ns
            .iter()
            .for_each(|ns| self.now.flush.record(*ns));
        out.writes.iter().for_each(|write| self.add_write(write));
    }

    fn add_write(&mut self, write: &SeenWrite) {
        let took = write.took_ns();
        let blocks = write.bytes.div_ceil(WATCHED_BLOCK_BYTES);
        self.now.write.record(took);
        self.now.bytes = self.now.bytes.saturating_add(write.bytes);
        let background = &mut self.background;
        background.write.record(took);
        // One that is durable by itself counts as a flush, as it does for redolab's own log.
        background.flushes += u64::from(write.flushes.max(1));
        background.blocks = background.blocks.saturating_add(blocks);
        background.block_bytes = background.blocks.saturating_mul(WATCHED_BLOCK_BYTES);
        let at_utc_ns = self.zero_utc_ns + write.begin_ns.saturating_sub(self.zero_ns);
        if let Some(slow) = &mut background.slow {
            slow.add(SlowWrite {
                took_ns: took,
                at_ns: at_utc_ns,
                blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
                member: None,
            });
        }
        self.watched.size.record(write.bytes);
        if let Some(last) = self.last_begin_ns.replace(write.begin_ns) {
            self.watched
                .between
                .record(write.begin_ns.saturating_sub(last));
        }
        if let Some(device) = write.device {
            self.watched.layered += 1;
            let flush_ns = device.flush_ns.min(took);
            // What happened at once is the flush's: it is what a log write waits for last.
            let write_ns = device.write_ns.min(took - flush_ns);
            for (sum, part) in self
                .watched
                .layers_ns
                .iter_mut()
                .zip([write_ns, flush_ns, took])
            {
                *sum += u128::from(part);
            }
        }
        self.event_count += 1;
        if self.keeps_events {
            self.events.push(WriteEvent {
                start_ns: self.since_begin(write.begin_ns),
                write_ns: write.write_ns,
                flush_ns: write.flush_ns,
                batch: self.event_count,
                blocks: u32::try_from(blocks).unwrap_or(u32::MAX),
                writes: write.calls,
                flushes: write.flushes,
                ..WriteEvent::default()
            });
        }
    }

    /// Log writes for the trace, since the last call.
    pub(super) fn take_events(&mut self) -> Vec<WriteEvent> {
        std::mem::take(&mut self.events)
    }

    /// Ends the present interval at `end` of the run's clock: its beginning, and what was seen in
    /// it.
    pub(super) fn end_interval(&mut self, end: Nanos) -> (Nanos, WatchedSecond) {
        let from = std::mem::replace(&mut self.interval_from, end);
        let length = end.since(from);
        let mut second = std::mem::take(&mut self.now);
        (second.at_s, second.seconds) = (end.as_secs(), length.as_secs());
        self.intervals.push(IntervalRecord {
            window: TimeWindow::of(self.zero_utc_ns.saturating_add(from.0), length.0),
            write: WaitPeak::of(&second.write),
            ..IntervalRecord::default()
        });
        (from, second)
    }

    /// The recording of all that was seen until `end` of the run's clock.
    pub(super) fn recording(
        mut self,
        end: Nanos,
        counts: &JoinCounts,
        seen: SeenEvents,
        grown: ServerGrown,
        notes: impl IntoIterator<Item = String>,
    ) -> Recording {
        let load = RowLoad {
            workload: WATCHED_ROW.to_owned(),
            ..RowLoad::default()
        };
        let mut made = Recording::new(load, TimeWindow::of(self.zero_utc_ns, end.0));
        let watched = &mut self.watched;
        watched.calls = counts.calls;
        watched.written_bytes = counts.call_bytes;
        watched.device_bytes = counts.device_bytes;
        watched.follows_device = counts.device_writes > 0;
        watched.other_flushes = counts.other_flushes;
        watched.left_out = counts.left_out;
        watched.filled_bytes = counts.filled_bytes;
        (watched.not_flushed, watched.unflushed_ns) = (seen.not_flushed, seen.unflushed_ns);
        (watched.events, watched.lost) = (seen.events, seen.lost);
        (watched.commits, watched.redo_bytes) = (grown.commits, grown.redo_bytes);
        (watched.server_writes, watched.server_flushes) = (grown.writes, grown.flushes);
        (watched.writing_commits, watched.sessions) = (grown.writing_commits, seen.sessions);
        watched.notes.extend(notes);
        made.events = self.keeps_events.then_some(CapturedEvents {
            log_file_syncs: 0,
            log_file_parallel_writes: self.event_count,
            lost: seen.lost,
        });
        made.background = Some(self.background);
        made.watched = Some(self.watched);
        made.intervals = self.intervals;
        made
    }
}

/// What became of the events of the kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenEvents {
    /// Events that were read.
    pub(super) events: u64,
    /// Events that were lost.
    pub(super) lost: u64,
    /// Calls whose redo no flush had made durable at the end.
    pub(super) not_flushed: u64,
    /// Time for which the oldest of these waited for a flush to begin.
    pub(super) unflushed_ns: Option<u64>,
    /// Sessions of the server at one time, at most.
    pub(super) sessions: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::super::join::DeviceTimes;
    use super::*;

    fn write(begin_ns: u64, device: Option<DeviceTimes>) -> SeenWrite {
        SeenWrite {
            begin_ns,
            end_ns: begin_ns + 900,
            write_ns: 200,
            flush_ns: 700,
            bytes: 8192,
            calls: 2,
            flushes: 1,
            device,
            ..SeenWrite::default()
        }
    }

    #[test]
    fn a_recording_has_what_was_seen() {
        let mut tally = WatchTally::new((1_000, 5_000_000), Nanos(900), true);
        let device = DeviceTimes {
            write_ns: 500,
            flush_ns: 600,
        };
        tally.add(JoinOutput {
            writes: vec![write(1_500, Some(device)), write(4_500, None)],
            flushes_ns: vec![700, 700],
            ..JoinOutput::default()
        });
        let (from, second) = tally.end_interval(Nanos::from_secs(1));
        assert_eq!(
            (from, second.write.count(), second.bytes),
            (Nanos::ZERO, 2, 16_384)
        );
        let events = tally.take_events();
        assert_eq!(
            events.iter().map(|e| e.start_ns).collect::<Vec<_>>(),
            [500, 3_500]
        );
        assert_eq!((events[0].blocks, events[0].writes), (16, 2));
        let counts = JoinCounts {
            calls: 4,
            device_writes: 2,
            device_bytes: 9_000,
            ..JoinCounts::default()
        };
        let seen = SeenEvents {
            events: 40,
            lost: 1,
            ..SeenEvents::default()
        };
        let end = Nanos::from_secs(1);
        let made = tally.recording(end, &counts, seen, ServerGrown::default(), []);
        let row = made.row();
        assert_eq!((row.elapsed_ns, row.commits), (Some(1_000_000_000), None));
        let write = row
            .wait(measure::WaitEvent::LogFileParallelWrite)
            .expect("seen");
        assert_eq!((write.count, write.max_ns), (2, 900));
        assert_eq!(row.redo().log_write_warnings, Some(2));
        let layers = row.watched().layers.as_ref().expect("of one");
        // What the device did at once is not counted twice.
        assert_eq!((layers.log_writes, layers.device_flush_ns), (1, 600.0));
        assert_eq!(
            (layers.device_write_ns, layers.file_system_ns),
            (300.0, 0.0)
        );
        assert_eq!(
            row.watched().between_writes.as_ref().map(|w| w.max_ns),
            Some(3_000)
        );
        assert_eq!(
            row.events
                .as_ref()
                .map(|e| (e.log_file_parallel_writes, e.lost)),
            Some((2, 1))
        );
        assert_eq!(row.watched().lost_events, Some(1));
    }
}
