//! What ran beside the sessions of a log: its database writer and its archiver.

use crate::run::{LogLifeFigures, measured};
use crate::units::MB_BYTES;
use serde::{Deserialize, Serialize};

/// Bytes of a block that a database writer writes.
pub const DATA_BLOCK_BYTES: u64 = 8192;

/// What the database writer and the archiver of a log did. `None` where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLife {
    /// Blocks of [`DATA_BLOCK_BYTES`] that the database writer made durable in a data file.
    pub data_blocks: Option<u64>,
    /// Checkpoints that moved.
    pub checkpoints: Option<u64>,
    /// Files that were archived.
    pub archived_files: Option<u64>,
    /// Bytes of these files.
    pub archived_bytes: Option<u64>,
}

impl LogLife {
    fn with(self, other: &LogLife, of: impl Fn(u64, u64) -> u64) -> LogLife {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| of(a, b));
        LogLife {
            data_blocks: both(self.data_blocks, other.data_blocks),
            checkpoints: both(self.checkpoints, other.checkpoints),
            archived_files: both(self.archived_files, other.archived_files),
            archived_bytes: both(self.archived_bytes, other.archived_bytes),
        }
    }

    /// What was done since `before`.
    #[must_use]
    pub fn since(self, before: &LogLife) -> LogLife {
        self.with(before, u64::saturating_sub)
    }

    /// Adds all of `other`.
    pub(super) fn merge(&mut self, other: &LogLife) {
        *self = self.with(other, u64::saturating_add);
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
        })
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
}
