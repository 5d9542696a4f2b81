//! Every event of a run, one line each, as Parquet: the columns, the names of the parts, writing
//! and reading them.
//!
//! ```text
//! RUN/events/log_file_sync-003-00001.parquet             row 3 of the run, its first part
//! RUN/events/log_file_parallel_write-003-00001.parquet
//! ```
//! Invariants: a part holds one kind of event of one row of the run, in one row group, and gets its
//! name only when it is whole, so a killed run is readable up to its last part; all parts have the
//! same columns ([`EventColumn`]), null where an event of that kind has no such figure; units are
//! in the names. docs/interchange.md describes the columns for readers elsewhere.
//!
//! What it must not know: who records the events, and when.

mod part;
mod reader;
mod writer;

pub use reader::{Chunk, CutPart, EventReader, Query};
pub use writer::{EventWriter, RowFacts, Written};

/// The folder of a run's events.
pub(super) const FOLDER: &str = "events";
const PARQUET: &str = ".parquet";

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventKind {
    /// A foreground's wait for its commit: one for each commit that waited.
    LogFileSync,
    /// A log write: one for each batch.
    LogFileParallelWrite,
}

impl EventKind {
    /// Both.
    pub const ALL: [EventKind; 2] = [EventKind::LogFileSync, EventKind::LogFileParallelWrite];

    /// Its name in the column `event` and in the parts' names: the wait event's key.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::LogFileSync => "log_file_sync",
            EventKind::LogFileParallelWrite => "log_file_parallel_write",
        }
    }
}

/// One wait for log file sync. Times are on the log's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncEvent {
    /// When the commit was asked for.
    pub start_ns: u64,
    /// Until the foreground ran again.
    pub latency_ns: u64,
    /// The transaction's time: from its start until its commit returned.
    pub transaction_ns: u64,
    /// Queue, write, flush and wake-up, which add up to the latency, where the commit could be
    /// joined to its log write.
    pub parts_ns: Option<[u64; 4]>,
    /// The batch that served it, where it is known.
    pub batch: Option<u64>,
    /// The session, from 0.
    pub session: u32,
}

/// One log file parallel write. Times are on the log's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteEvent {
    /// When it was submitted.
    pub start_ns: u64,
    /// Until it was complete.
    pub write_ns: u64,
    /// From then until it was durable.
    pub flush_ns: u64,
    /// The batch.
    pub batch: u64,
    /// Commits that waited for it.
    pub commits: u32,
    /// Bytes of redo, record headers included.
    pub redo_bytes: u32,
    /// Blocks written.
    pub blocks: u32,
    /// Operations that wrote it.
    pub writes: u32,
    /// Flushes that made it durable.
    pub flushes: u32,
    /// Log sequence number of its last block.
    pub log_seq: u64,
    /// A log switch happened in it.
    pub log_switch: bool,
    /// Waited for the checkpoint before it.
    pub checkpoint_wait_ns: u64,
    /// Waited for a worker before it.
    pub group_wait_ns: u64,
    /// The worker that ended it, from 0; `None` where the log writer wrote itself.
    pub worker: Option<u16>,
}

/// A column of the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventColumn {
    /// The kind of event: text.
    Event,
    /// Row of the run, from 1.
    Row,
    /// The row's workload: text.
    Workload,
    /// The row's sessions.
    Jobs,
    /// Start: whole microseconds since 1970 UTC, as a Parquet timestamp.
    StartUtcUs,
    /// Start: nanoseconds beyond the microsecond, 0 to 999.
    StartExtraNs,
    /// The wait.
    LatencyNs,
    /// Log file sync: from asking until the write was submitted.
    QueueNs,
    /// From then until the write was complete.
    WriteNs,
    /// From then until it was durable.
    FlushNs,
    /// From then until the foreground ran again.
    WakeNs,
    /// Log file sync: the whole transaction.
    TransactionNs,
    /// The batch, by which waits join their write.
    Batch,
    /// Log file sync: the session.
    Session,
    /// Log write: commits that waited for it.
    Commits,
    /// Log write: redo.
    RedoBytes,
    /// Log write: blocks.
    Blocks,
    /// Log write: operations.
    Writes,
    /// Log write: flushes.
    Flushes,
    /// Log write: log sequence number.
    LogSeq,
    /// Log write: a log switch, 0 or 1.
    LogSwitch,
    /// Log write: waited for the checkpoint before it.
    CheckpointWaitNs,
    /// Log write: waited for a worker before it.
    GroupWaitNs,
    /// Log write: the worker.
    Worker,
}

impl EventColumn {
    /// All, in the order of the file.
    pub const ALL: [EventColumn; 24] = [
        EventColumn::Event,
        EventColumn::Row,
        EventColumn::Workload,
        EventColumn::Jobs,
        EventColumn::StartUtcUs,
        EventColumn::StartExtraNs,
        EventColumn::LatencyNs,
        EventColumn::QueueNs,
        EventColumn::WriteNs,
        EventColumn::FlushNs,
        EventColumn::WakeNs,
        EventColumn::TransactionNs,
        EventColumn::Batch,
        EventColumn::Session,
        EventColumn::Commits,
        EventColumn::RedoBytes,
        EventColumn::Blocks,
        EventColumn::Writes,
        EventColumn::Flushes,
        EventColumn::LogSeq,
        EventColumn::LogSwitch,
        EventColumn::CheckpointWaitNs,
        EventColumn::GroupWaitNs,
        EventColumn::Worker,
    ];

    /// Its name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EventColumn::Event => "event",
            EventColumn::Row => "row",
            EventColumn::Workload => "workload",
            EventColumn::Jobs => "jobs",
            EventColumn::StartUtcUs => "start_utc_us",
            EventColumn::StartExtraNs => "start_extra_ns",
            EventColumn::LatencyNs => "latency_ns",
            EventColumn::QueueNs => "queue_ns",
            EventColumn::WriteNs => "write_ns",
            EventColumn::FlushNs => "flush_ns",
            EventColumn::WakeNs => "wake_ns",
            EventColumn::TransactionNs => "transaction_ns",
            EventColumn::Batch => "batch",
            EventColumn::Session => "session",
            EventColumn::Commits => "commits",
            EventColumn::RedoBytes => "redo_bytes",
            EventColumn::Blocks => "blocks",
            EventColumn::Writes => "writes",
            EventColumn::Flushes => "flushes",
            EventColumn::LogSeq => "log_seq",
            EventColumn::LogSwitch => "log_switch",
            EventColumn::CheckpointWaitNs => "checkpoint_wait_ns",
            EventColumn::GroupWaitNs => "group_wait_ns",
            EventColumn::Worker => "worker",
        }
    }

    /// Every event has it; otherwise it may be null.
    #[must_use]
    pub const fn is_required(self) -> bool {
        matches!(
            self,
            EventColumn::Event
                | EventColumn::Row
                | EventColumn::Workload
                | EventColumn::Jobs
                | EventColumn::StartUtcUs
                | EventColumn::StartExtraNs
                | EventColumn::LatencyNs
        )
    }
}

/// The name of a part.
fn part_name(kind: EventKind, row: u32, sequence: u32) -> String {
    format!("{}-{row:03}-{sequence:05}{PARQUET}", kind.name())
}

/// The kind of event and the row that a part's name contains.
fn parse_part_name(name: &str) -> Option<(EventKind, u32)> {
    let stem = name.strip_suffix(PARQUET)?;
    let mut fields = stem.split('-');
    let kind = fields.next()?;
    let kind = EventKind::ALL.into_iter().find(|k| k.name() == kind)?;
    let number = |text: &str| text.parse::<u32>().ok();
    let (row, _) = (number(fields.next()?)?, number(fields.next()?)?);
    fields.next().is_none().then_some((kind, row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_parts_tell_what_is_in_them() {
        for kind in EventKind::ALL {
            let name = part_name(kind, 3, 12_345_678);
            assert_eq!(parse_part_name(&name), Some((kind, 3)), "{name}");
            assert!(crate::folder::is_name(&name), "{name}");
        }
        for bad in [
            "",
            "x.parquet",
            "log_file_sync-1.parquet",
            "log_file_sync-1-2-3.parquet",
            "log_file_sync-a-2.parquet",
            "log_file_sync-001-00001",
        ] {
            assert_eq!(parse_part_name(bad), None, "{bad}");
        }
    }

    #[test]
    fn columns_have_names_of_their_own() {
        let names: std::collections::BTreeSet<&str> =
            EventColumn::ALL.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), EventColumn::ALL.len());
    }
}
