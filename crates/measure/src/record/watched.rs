//! What was seen of a log that somebody else writes, as it merges.

use super::Recording;
use crate::run::{RedoFigures, Row, WaitStats, WatchedFigures, WatchedLayers, measured};
use crate::units::{KB_BYTES, MB_BYTES};
use crate::{Histogram, bounded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Notes of a recording that is read, at most.
pub const WATCHED_NOTES_MAX: usize = 64;

/// What was seen of a log that somebody else writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchedRecord {
    /// Time of a call that writes, in nanoseconds.
    pub call: Histogram,
    /// Time of a flush, in nanoseconds.
    pub flush: Histogram,
    /// Bytes of a log write.
    pub size: Histogram,
    /// Time from the begin of a log write to the begin of the next, in nanoseconds.
    pub between: Histogram,
    /// Time of a request to the device that writes a log file, in nanoseconds.
    pub device_write: Histogram,
    /// Time of a flush of the device, in nanoseconds.
    pub device_flush: Histogram,
    /// Calls that wrote redo.
    pub calls: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Requests to the device are joined to the log files.
    pub follows_device: bool,
    /// Bytes of the log files' extents that the device was given.
    pub device_bytes: u64,
    /// Log writes whose time at the device is known.
    pub layered: u64,
    /// Sums of their time: the device wrote, it flushed, all of it, in nanoseconds.
    pub layers_ns: [u128; 3],
    /// Flushes without a log write before them.
    pub other_flushes: u64,
    /// Writes of headers and checkpoints.
    pub left_out: u64,
    /// Bytes with which new files were filled.
    pub filled_bytes: u64,
    /// Calls whose redo no flush had made durable at the end.
    pub not_flushed: u64,
    /// Time for which the oldest of these waited at the end for a flush to begin, in nanoseconds.
    #[serde(default)]
    pub unflushed_ns: Option<u64>,
    /// Events that were read.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Commits that the server counted; `None` where it was not read.
    pub commits: Option<u64>,
    /// Redo by the growth of the position of its log, bytes; `None` likewise.
    pub redo_bytes: Option<u64>,
    /// Writes of its log that the server counted; `None` where it was not read or does not count.
    pub server_writes: Option<u64>,
    /// Flushes that it counted; `None` likewise.
    pub server_flushes: Option<u64>,
    /// Transactions that wrote redo and committed, at least; `None` where that is not known.
    #[serde(default)]
    pub writing_commits: Option<u64>,
    /// Sessions of the server at one time, at most; `None` likewise.
    #[serde(default)]
    pub sessions: Option<u64>,
    /// What is to be known, in words.
    #[serde(deserialize_with = "bounded::names::<_, WATCHED_NOTES_MAX>")]
    pub notes: BTreeSet<String>,
}

impl WatchedRecord {
    /// Adds all of `other`, exactly.
    pub(super) fn merge(&mut self, other: &WatchedRecord) {
        for (mine, theirs) in [
            (&mut self.call, &other.call),
            (&mut self.flush, &other.flush),
            (&mut self.size, &other.size),
            (&mut self.between, &other.between),
            (&mut self.device_write, &other.device_write),
            (&mut self.device_flush, &other.device_flush),
        ] {
            mine.merge(theirs);
        }
        for (sum, part) in [
            (&mut self.calls, other.calls),
            (&mut self.written_bytes, other.written_bytes),
            (&mut self.device_bytes, other.device_bytes),
            (&mut self.layered, other.layered),
            (&mut self.other_flushes, other.other_flushes),
            (&mut self.left_out, other.left_out),
            (&mut self.filled_bytes, other.filled_bytes),
            (&mut self.not_flushed, other.not_flushed),
            (&mut self.events, other.events),
            (&mut self.lost, other.lost),
        ] {
            *sum = sum.saturating_add(part);
        }
        for (sum, part) in self.layers_ns.iter_mut().zip(other.layers_ns) {
            *sum = sum.saturating_add(part);
        }
        self.follows_device &= other.follows_device;
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        self.commits = both(self.commits, other.commits);
        self.redo_bytes = both(self.redo_bytes, other.redo_bytes);
        self.server_writes = both(self.server_writes, other.server_writes);
        self.server_flushes = both(self.server_flushes, other.server_flushes);
        self.writing_commits = both(self.writing_commits, other.writing_commits);
        let most = |a: Option<u64>, b: Option<u64>| Some(a?.max(b?));
        self.sessions = most(self.sessions, other.sessions);
        self.unflushed_ns = most(self.unflushed_ns, other.unflushed_ns);
        self.notes.extend(other.notes.iter().cloned());
        while self.notes.len() > WATCHED_NOTES_MAX {
            self.notes.pop_last();
        }
    }

    fn figures(&self, log_writes: u64) -> WatchedFigures {
        let stats = |of: &Histogram| -> Option<WaitStats> { (of.count() > 0).then(|| of.stats()) };
        let device = self.follows_device;
        let per_write = |sum: u64| (log_writes > 0).then(|| sum as f64 / log_writes as f64);
        WatchedFigures {
            log_writes: Some(log_writes),
            write_calls: Some(self.calls),
            written_bytes: Some(self.written_bytes),
            device_bytes: device.then_some(self.device_bytes),
            device_requests: device.then(|| self.device_write.count()),
            bytes_per_write: per_write(u64::try_from(self.size.sum()).unwrap_or(u64::MAX)),
            commits_per_write: self.commits.and_then(per_write),
            write_call: stats(&self.call),
            flush: stats(&self.flush),
            size_bytes: stats(&self.size),
            between_writes: stats(&self.between),
            device_write: stats(&self.device_write),
            device_flush: stats(&self.device_flush),
            layers: self.layers(),
            other_flushes: Some(self.other_flushes),
            left_out_writes: Some(self.left_out),
            filled_bytes: Some(self.filled_bytes),
            not_flushed: Some(self.not_flushed),
            unflushed_ns: self.unflushed_ns,
            writing_commits: self.writing_commits,
            sessions: self.sessions,
            server_writes: self.server_writes,
            server_flushes: self.server_flushes,
            events: Some(self.events),
            lost_events: Some(self.lost),
            notes: self.notes.iter().cloned().collect(),
        }
    }

    fn layers(&self) -> Option<WatchedLayers> {
        let mean = |sum: u128| sum as f64 / self.layered as f64;
        let [write, flush, all] = self.layers_ns;
        let is_known = self.follows_device && self.layered > 0;
        is_known.then(|| WatchedLayers {
            log_writes: self.layered,
            device_write_ns: mean(write),
            device_flush_ns: mean(flush),
            file_system_ns: mean(all.saturating_sub(write).saturating_sub(flush)),
        })
    }
}

impl Recording {
    /// Makes of `row` one in which only the log was seen: what sessions did is unknown, but for
    /// what the server counted of them.
    pub(super) fn add_watched(&self, row: &mut Row, watched: &WatchedRecord) {
        let seconds = row.elapsed_s.unwrap_or(0.0).max(1e-9);
        let log_writes = self.background.as_ref().map_or(0, |bg| bg.write.count());
        row.threads = None;
        row.commits = watched.commits;
        row.commit_throughput_tps = watched.commits.map(|n| n as f64 / seconds);
        (row.commit_latency_ms, row.commit_latency) = (None, None);
        (row.redo_synch_writes_iops, row.log_file_sync_ms) = (None, None);
        row.commit_path = None;
        let redo = watched.redo_bytes;
        let per_commit = redo.zip(watched.commits.filter(|n| *n > 0));
        row.redo = row.redo.take().map(|redo_figures| RedoFigures {
            redo_blocks_per_s: None,
            redo_data_mbps: redo.map(|bytes| bytes as f64 / MB_BYTES / seconds),
            redo_data_kb_per_txn: per_commit.map(|(b, n)| b as f64 / KB_BYTES / n as f64),
            redo_size_bytes: redo,
            commits_per_write: None,
            redo_wastage_bytes: None,
            log_switches: None,
            log_writer_switches: None,
            ..redo_figures
        });
        row.watched = measured(watched.figures(log_writes));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Background, RowLoad, TimeWindow};
    use super::*;

    fn record(commits: Option<u64>) -> WatchedRecord {
        let mut record = WatchedRecord {
            calls: 4,
            written_bytes: 32_768,
            follows_device: true,
            device_bytes: 40_960,
            layered: 2,
            layers_ns: [600, 1_000, 2_000],
            commits,
            redo_bytes: Some(8_000),
            ..WatchedRecord::default()
        };
        record.size.record_n(16_384, 2);
        record.flush.record_n(700, 2);
        record
    }

    fn recording(start_ns: u64, watched: WatchedRecord) -> Recording {
        let window = TimeWindow::of(start_ns, 1_000_000_000);
        let mut made = Recording::new(RowLoad::default(), window);
        let mut background = Background::default();
        background.write.record_n(1_000, 2);
        background.flushes = 2;
        made.background = Some(background);
        made.watched = Some(watched);
        made
    }

    #[test]
    fn a_watched_row_knows_nothing_of_sessions() {
        let row = recording(0, record(None)).row();
        assert_eq!((row.commits, row.commit_throughput_tps), (None, None));
        assert_eq!(
            (row.commit_latency.clone(), row.log_file_sync_ms),
            (None, None)
        );
        assert_eq!(row.redo().redo_writes_iops, Some(2.0));
        assert_eq!(
            (row.redo().commits_per_write.clone(), row.redo().flushes),
            (None, Some(2))
        );
        let watched = row.watched();
        assert_eq!(
            (watched.log_writes, watched.write_calls),
            (Some(2), Some(4))
        );
        assert_eq!(
            (watched.commits_per_write, watched.bytes_per_write),
            (None, Some(16_384.0))
        );
        let layers = watched.layers.as_ref().expect("known");
        assert_eq!(
            (layers.device_write_ns, layers.device_flush_ns),
            (300.0, 500.0)
        );
        assert_eq!(layers.file_system_ns, 200.0);
    }

    #[test]
    fn what_the_server_counted_is_that_of_all_rounds_or_of_none() {
        let mut all = recording(0, record(Some(30)));
        all.then(&recording(2_000_000_000, record(Some(10))))
            .expect("in sequence");
        let row = all.row();
        assert_eq!(
            (row.commits, row.watched().commits_per_write),
            (Some(40), Some(10.0))
        );
        assert_eq!(
            row.redo().redo_data_kb_per_txn,
            Some(16_000.0 / 1024.0 / 40.0)
        );
        all.then(&recording(4_000_000_000, record(None)))
            .expect("in sequence");
        let row = all.row();
        assert_eq!((row.commits, row.watched().write_calls), (None, Some(12)));
    }

    #[test]
    fn a_device_that_one_round_could_not_follow_is_unknown() {
        let mut all = recording(0, record(None));
        let unknown = WatchedRecord {
            follows_device: false,
            ..record(None)
        };
        all.then(&recording(2_000_000_000, unknown))
            .expect("in sequence");
        let row = all.row();
        assert_eq!(
            (row.watched().device_bytes, row.watched().layers.clone()),
            (None, None)
        );
    }
}
