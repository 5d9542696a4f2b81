//! Where a run's log lived, and how it was written: what all targets share ([`Target`]), and what
//! only one kind of target has ([`TargetFacts`]).
//!
//! Invariants: as of [`crate::run`]. In JSON the facts lie flat in the target; `system` names their
//! kind.

use super::watched::WatchedFacts;
use crate::imported::Imported;
use crate::stack::Stack;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where the log lived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// `file`, `raw_device`, `null`, `server`, `evidence`, `watched_log`, `model`.
    pub kind: String,
    /// The path as the user gave it; the address of a server, without a password.
    pub path: String,
    /// The stack below it.
    pub stack: Stack,
    /// What only this kind of target has.
    #[serde(flatten)]
    pub facts: TargetFacts,
}

impl Target {
    /// The facts of a redo log; `None` where the target is none, or its log was not made.
    #[must_use]
    pub fn redo_log(&self) -> Option<&RedoLogFacts> {
        match &self.facts {
            TargetFacts::RedoLog(facts) => Some(facts),
            _ => None,
        }
    }

    /// The facts of a redo log, to be filled in; those that were there before are kept.
    pub fn redo_log_mut(&mut self) -> &mut RedoLogFacts {
        if self.redo_log().is_none() {
            self.facts = TargetFacts::RedoLog(RedoLogFacts::default());
        }
        match &mut self.facts {
            TargetFacts::RedoLog(facts) => facts,
            _ => unreachable!("the facts were just made those of a redo log"),
        }
    }
}

/// What only one kind of target has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "system", rename_all = "snake_case")]
pub enum TargetFacts {
    /// Nothing is known: the run ended before its target was ready.
    #[default]
    Unknown,
    /// The redo log of redolab.
    RedoLog(RedoLogFacts),
    /// A database server.
    Database(DatabaseFacts),
    /// Evidence that others recorded.
    Imported(ImportedFacts),
    /// A log that somebody else writes.
    Watched(WatchedFacts),
    /// A model in virtual time.
    Simulated(SimulatedFacts),
}

/// A model in virtual time, and how far it is to be believed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulatedFacts {
    /// Its name.
    pub model: String,
    /// Where its values come from.
    pub basis: String,
    /// The error of cells that were measured and not fitted, percent of their commits per second;
    /// `None` where none was measured.
    pub error_pct: Option<f64>,
    /// The least and the most sessions of the cells that it was fitted to.
    pub fitted_jobs: Option<[u32; 2]>,
    /// Processors of the model.
    pub processors: u32,
    /// `auto`, `inline` or `lgwr`.
    pub log_writer: String,
    /// How foregrounds learn that their redo is durable.
    pub log_file_sync: String,
    /// What makes the log writer write.
    pub flush_triggers: String,
    /// Bytes of the log files and of the log buffer.
    pub log_bytes: u64,
    /// Bytes of the log buffer.
    pub log_buffer_bytes: u64,
    /// What a fifth more of each value of the model changes in commits per second, percent, at the
    /// last row; those that change most first.
    pub influence: Vec<ModelInfluence>,
    /// Rows outside of what the model was fitted to, in words.
    pub extrapolated: Vec<String>,
    /// What the model leaves out, in words.
    pub not_modelled: Vec<String>,
    /// The members of the log, and what each of them decided in the last row; none of a log in one
    /// place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<SimulatedMember>,
}

/// A member of a log in virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulatedMember {
    /// The name of its device.
    pub device: String,
    /// Its cell, from 0: cells mirror each other, the members of a cell race.
    pub cell: u64,
    /// Log writes that it was the first to have durably; `None` outside of the first race.
    pub first: Option<u64>,
}

/// What a value of a model changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelInfluence {
    /// The value's key.
    pub value: String,
    /// Percent of the commits per second.
    pub change_pct: f64,
}

/// A redo log: its shape, and how it was written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RedoLogFacts {
    /// The sync method used: `buffered`, `dsync`, `direct`, `direct-dsync`.
    pub sync_method: String,
    /// Redo block size in bytes.
    pub redo_block_bytes: u32,
    /// Writes are padded to this many bytes: the largest of block, physical sector, atomic unit.
    pub seal_bytes: u32,
    /// Log groups.
    pub log_groups: u32,
    /// Bytes of each log file.
    pub log_file_bytes: u64,
    /// Log buffer in bytes.
    pub log_buffer_bytes: u64,
    /// The log buffer is in huge pages.
    pub huge_pages: bool,
    /// Extents of the log files that the file system holds as unwritten, if it can report them.
    pub unwritten_extents: Option<u64>,
    /// How writes were handed to the system: `threads`, `io_uring`.
    pub io: Option<String>,
    /// Batches in flight at most.
    pub io_depth: Option<u32>,
    /// `inline`, `lgwr`, `workers=N` or `adaptive`.
    pub log_writer: Option<String>,
    /// CPUs that the log writer's threads stayed on; empty where they ran anywhere.
    #[serde(default)]
    pub log_writer_cpus: Vec<u32>,
    /// How foregrounds learn that their redo is durable: `post-wait`, `polling` or `adaptive`.
    pub log_file_sync: Option<String>,
    /// What makes the log writer write, as `commit,third,1MB,3s`.
    pub flush_triggers: Option<String>,
    /// What the probe at open found, if there was one.
    #[serde(default)]
    pub probe: Vec<ProbeRow>,
    /// What was asked for and not used, each with the reason.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// The stripe in which the log lies; `None` of a log in one place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<StripeFacts>,
    /// The members of the log, each of which holds all of it, as they were at the end of the run;
    /// none of a log in one place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberFacts>,
    /// The ring of the log, as it was at the end of the run; `None` of a log without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring: Option<Box<RingFacts>>,
    /// Directory of each of several logs; empty where there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_directories: Vec<String>,
}

/// A member of a log. A log write is what a flush made durable, from its submission to the moment
/// at which this member had it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberFacts {
    /// Its directory.
    pub directory: String,
    /// Its cell, from 0: cells mirror each other, the members of a cell race.
    pub cell: u64,
    /// It is in sync.
    pub in_sync: bool,
    /// Log writes that it completed.
    pub log_writes: u64,
    /// Of those, the ones that it was the first in its cell to complete.
    pub first: u64,
    /// By how much it was before the others of its cell then, nanoseconds, summed.
    pub margin_ns: u64,
    /// The longest log write, nanoseconds.
    pub longest_ns: u64,
    /// Log writes over the threshold of outliers on this member.
    pub outliers: u64,
    /// Log writes over it on all members of its cell.
    pub outliers_of_all: u64,
    /// The most that was acknowledged and that it did not have durably, bytes.
    pub window_bytes: u64,
    /// The longest time for which something acknowledged was not durable on it, nanoseconds.
    pub window_ns: u64,
}

/// When a ring is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RingFactsKind {
    /// Always, beside the disk.
    #[default]
    Ring,
    /// When the disk does not answer in time.
    Failover,
}

impl RingFactsKind {
    /// The word that `--members` and JSON have for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RingFactsKind::Ring => "ring",
            RingFactsKind::Failover => "failover",
        }
    }
}

/// The ring of a log: a small second member that holds what the disk does not have yet. Counts are
/// of the whole life of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingFacts {
    /// When it is written.
    pub kind: RingFactsKind,
    /// The directory of the log.
    pub disk_directory: String,
    /// The directory of the ring.
    pub directory: String,
    /// How long the disk may take before the ring is written, nanoseconds; `None` of a ring that is
    /// always written.
    pub delay_ns: Option<u64>,
    /// Size of the ring, bytes.
    pub ring_bytes: u64,
    /// It is in use; a ring that failed is given up until the log is opened again.
    pub in_use: bool,
    /// Log writes.
    pub log_writes: u64,
    /// Of those, the ones that were put on the ring.
    pub ring_writes: u64,
    /// Flushes that were acknowledged.
    pub flushes: u64,
    /// Of those, the ones that were acknowledged because of the ring, before the disk had completed
    /// them.
    pub first: u64,
    /// Log writes that were not put on the ring because it was full of what the disk did not have.
    pub skip_busy: u64,
    /// Log writes that were not put on the ring because they were larger.
    pub skip_large: u64,
    /// With failover: the disk was late with more log writes than may be put on the ring, and the
    /// log waited for it.
    pub over_budget: bool,
    /// What the disk did not have durably at the end, bytes of redo.
    pub lag_bytes: u64,
    /// The most that was acknowledged because of the ring and that the disk did not have durably,
    /// bytes: what would have been lost with the ring.
    pub most_lag_bytes: u64,
}

impl std::fmt::Display for RingFacts {
    /// `ring of 64 MiB`, or `failover to 64 MiB after 20 ms`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = crate::words::size(self.ring_bytes);
        match (self.kind, self.delay_ns) {
            (RingFactsKind::Ring, _) => write!(f, "ring of {size}"),
            (RingFactsKind::Failover, None) => write!(f, "failover to {size}"),
            (RingFactsKind::Failover, Some(ns)) => {
                let delay = crate::words::latency(ns as f64);
                write!(f, "failover to {size} after {delay}")
            }
        }
    }
}

/// A log in a stripe over several directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeFacts {
    /// Bytes that lie on one device before the next one follows.
    pub width_bytes: u64,
    /// The directories, in the order of the stripe.
    pub directories: Vec<String>,
}

impl std::fmt::Display for StripeFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (kib, count) = (self.width_bytes >> 10, self.directories.len());
        write!(f, "{kib} KiB over {count} directories")
    }
}

impl RedoLogFacts {
    /// `mirror of 2`, `race of 2`, `mirror of 2 races of 2` or the ring in words; `None` of a log
    /// without members.
    #[must_use]
    pub fn members_kind(&self) -> Option<String> {
        if let Some(ring) = &self.ring {
            return Some(ring.to_string());
        }
        let count = self.members.len();
        let cells = 1 + self.members.iter().map(|member| member.cell).max()? as usize;
        Some(match (cells, count / cells) {
            (1, _) => format!("race of {count}"),
            (_, 1) => format!("mirror of {count}"),
            (cells, each) => format!("mirror of {cells} races of {each}"),
        })
    }

    /// Bytes of all log files together.
    #[must_use]
    pub fn footprint_bytes(&self) -> u64 {
        u64::from(self.log_groups).saturating_mul(self.log_file_bytes)
    }
}

/// A database server, as it reports itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseFacts {
    /// Name of the product.
    pub product: String,
    /// Its version, as it reports it.
    pub version: String,
    /// Settings that change how it commits, by its own names.
    pub settings: BTreeMap<String, String>,
    /// Flags with which the server has opened the file of its log, such as `O_RDWR|O_DSYNC`; `None`
    /// where the server is on another machine, or redolab may not look at its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_open_flags: Option<String>,
    /// The directory of that file; `None` where it cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_directory: Option<String>,
    /// What the redo of a transaction was measured to be, where it is not exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calibrations: Vec<RedoCalibration>,
}

/// What rows of a database make of redo: the growth of the LSN by each of some commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedoCalibration {
    /// The workload.
    pub workload: String,
    /// Bytes of redo per transaction that it asks for.
    pub redo_bytes: u64,
    /// Rows per transaction.
    pub rows: u32,
    /// Bytes of the value of each row.
    pub row_bytes: u32,
    /// Commits that were measured.
    pub commits: u64,
    /// Mean of the bytes of redo per commit.
    pub mean_bytes: u64,
    /// Their standard deviation.
    pub deviation_bytes: u64,
    /// Their median.
    pub median_bytes: u64,
    /// The least.
    pub least_bytes: u64,
    /// The most.
    pub most_bytes: u64,
}

/// Evidence that others recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFacts {
    /// Kinds of evidence, such as `oracle-trace`, each once, in the order in which they were read.
    pub evidence: Vec<String>,
}

impl ImportedFacts {
    /// The facts of what was imported.
    #[must_use]
    pub fn of(imported: &Imported) -> ImportedFacts {
        let mut evidence: Vec<String> = Vec::new();
        for source in &imported.sources {
            if !evidence.contains(&source.kind) {
                evidence.push(source.kind.clone());
            }
        }
        ImportedFacts { evidence }
    }
}

/// One way of writing as the probe at open found it: durable writes, one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeRow {
    /// `buffered`, `dsync`, `direct`, `direct-dsync`.
    pub sync_method: String,
    /// `threads`, `io_uring`.
    pub io: String,
    /// Bytes of each write.
    pub write_bytes: u64,
    /// Durable writes that were timed.
    pub writes: u64,
    /// Their median; `None` where none was timed.
    pub p50_ns: Option<u64>,
    /// Their mean.
    pub mean_ns: Option<f64>,
    /// Why not, or why not more.
    pub refused: Option<String>,
    /// The log was written in this way.
    pub chosen: bool,
}
