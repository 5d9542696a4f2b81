//! What ran beside the sessions of a log: its database writer and its archiver.

use crate::run::{LogLifeFigures, measured};
use crate::units::MB_BYTES;
use serde::{Deserialize, Serialize};

/// Bytes of a block that a database writer writes.
pub const DATA_BLOCK_BYTES: u64 = 8192;

/// What the database writer and the archiver of a log did. `None` where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLife {
    /// Blocks of [`DATA_BLOCK_BYTES`] that the database writer made durable in a data file.
    pub data_blocks: Option<u64>,
    /// Checkpoints that moved.
    pub checkpoints: Option<u64>,
    /// Files that were archived.
    pub archived_files: Option<u64>,
    /// Bytes of these files.
    pub archived_bytes: Option<u64>,
    /// The time of each fsync of a neighbour, nanoseconds, in their order.
    pub neighbour_fsync_ns: Option<Vec<u64>>,
}

impl LogLife {
    fn with(&self, other: &LogLife, of: impl Fn(u64, u64) -> u64) -> LogLife {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| of(a, b));
        LogLife {
            data_blocks: both(self.data_blocks, other.data_blocks),
            checkpoints: both(self.checkpoints, other.checkpoints),
            archived_files: both(self.archived_files, other.archived_files),
            archived_bytes: both(self.archived_bytes, other.archived_bytes),
            neighbour_fsync_ns: None,
        }
    }

    /// What was done since `before`.
    #[must_use]
    pub fn since(self, before: &LogLife) -> LogLife {
        let grown = self.with(before, u64::saturating_sub);
        let both = self
            .neighbour_fsync_ns
            .zip(before.neighbour_fsync_ns.as_ref());
        LogLife {
            neighbour_fsync_ns: both
                .map(|(mut all, before)| all.split_off(before.len().min(all.len()))),
            ..grown
        }
    }

    /// Adds all of `other`.
    pub(super) fn merge(&mut self, other: &LogLife) {
        let sum = self.with(other, u64::saturating_add);
        let all = self.neighbour_fsync_ns.take();
        let both = all.zip(other.neighbour_fsync_ns.as_ref());
        *self = LogLife {
            neighbour_fsync_ns: both.map(|(all, more)| [&all[..], more].concat()),
            ..sum
        };
    }

    /// The figures over `seconds`.
    pub(super) fn figures(&self, seconds: f64) -> Option<LogLifeFigures> {
        let bytes = |blocks: u64| blocks as f64 * DATA_BLOCK_BYTES as f64;
        let mbps = |blocks: u64| bytes(blocks) / MB_BYTES / seconds;
        measured(LogLifeFigures {
            data_blocks_written: self.data_blocks,
            data_written_mbps: self.data_blocks.map(mbps),
            log_checkpoints: self.checkpoints,
            archived_files: self.archived_files,
            archived_bytes: self.archived_bytes,
            ..neighbour_figures(self.neighbour_fsync_ns.as_deref())
        })
    }
}

/// By nearest rank; no times, no figures but their number.
fn neighbour_figures(times: Option<&[u64]>) -> LogLifeFigures {
    let Some(times) = times else {
        return LogLifeFigures::default();
    };
    let mut times = times.to_vec();
    times.sort_unstable();
    let rank = |part: f64| (part * times.len() as f64).ceil() as usize;
    let micros = |ns: u64| ns as f64 / 1000.0;
    let at = |part| times.get(rank(part).max(1) - 1).copied().map(micros);
    LogLifeFigures {
        neighbour_fsyncs: Some(times.len() as u64),
        neighbour_fsync_p50_us: at(0.5),
        neighbour_fsync_p99_us: at(0.99),
        neighbour_fsync_max_us: at(1.0),
        ..LogLifeFigures::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_one_part_counted_is_unknown_of_both() {
        let life = |data_blocks, archived_bytes| LogLife {
            data_blocks,
            checkpoints: Some(3),
            archived_files: None,
            archived_bytes,
            neighbour_fsync_ns: None,
        };
        let mut sum = life(Some(128), Some(5));
        sum.merge(&life(Some(128), None));
        let grown = sum.since(&life(Some(128), Some(1)));
        assert_eq!((grown.data_blocks, grown.archived_bytes), (Some(128), None));
        let figures = grown.figures(2.0).expect("measured");
        assert_eq!(figures.data_written_mbps, Some(0.5), "1 MiB in 2 s");
        assert_eq!(figures.log_checkpoints, Some(3));
        assert_eq!(LogLife::default().figures(2.0), None);
    }

    #[test]
    fn times_of_a_neighbour_are_those_of_the_window() {
        let life = |times: &[u64]| LogLife {
            neighbour_fsync_ns: Some(times.to_vec()),
            ..LogLife::default()
        };
        let mut row = life(&[9000, 1000, 3000]).since(&life(&[9000]));
        row.merge(&life(&[2000, 5000]));
        assert_eq!(row, life(&[1000, 3000, 2000, 5000]));
        let figures = row.figures(1.0).expect("measured");
        assert_eq!(figures.neighbour_fsyncs, Some(4));
        assert_eq!(figures.neighbour_fsync_p50_us, Some(2.0));
        assert_eq!(figures.neighbour_fsync_max_us, Some(5.0));
        let none = life(&[1]).since(&life(&[1])).figures(1.0).expect("counted");
        assert_eq!(
            (none.neighbour_fsyncs, none.neighbour_fsync_p99_us),
            (Some(0), None)
        );
    }
}
