//! What one of several logs did that were measured together.

use super::{Background, Foreground};
use crate::run::NodeFigures;
use crate::units::MB_BYTES;
use serde::{Deserialize, Serialize};

/// A log with its own log writer and sessions, beside others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// Sessions on it.
    pub jobs: u32,
    /// What its sessions did, with all kinds of transaction.
    pub foreground: Foreground,
    /// What its log writer did.
    pub background: Background,
}

impl NodeRecord {
    /// Adds what the same log did in another round, exactly.
    pub(super) fn then(&mut self, next: &NodeRecord) {
        self.foreground.merge(&next.foreground);
        self.background.merge(&next.background);
    }

    /// The figures of the log with that number, from 1, over `seconds`.
    pub(super) fn figures(&self, node: u32, seconds: f64) -> NodeFigures {
        let (fg, bg) = (&self.foreground, &self.background);
        let commits = fg.latency.count();
        NodeFigures {
            node,
            jobs: self.jobs,
            commits,
            commit_throughput_tps: commits as f64 / seconds,
            commit_latency: fg.latency.stats(),
            log_file_sync: (fg.sync.count() > 0).then(|| fg.sync.stats()),
            redo_size_bytes: bg.redo_bytes,
            redo_data_mbps: bg.redo_bytes as f64 / MB_BYTES / seconds,
            log_file_parallel_write: bg.write.stats(),
            flushes: bg.flushes,
            log_switches: bg.switches,
        }
    }
}
