//! Wait events by Oracle's names, so that a DBA's eye finds them where it looks for them.

use serde::{Deserialize, Serialize};

/// What somebody waited for. `name` is the event's name in Oracle's reference manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitEvent {
    /// Foreground: from asking for the commit until it runs again knowing that its redo is durable.
    LogFileSync,
    /// Log writer: from submitting a set of writes to the last durable completion, without the time
    /// for which a flush is deferred because nobody waits.
    LogFileParallelWrite,
    /// Foreground: no room in the log buffer.
    LogBufferSpace,
    /// Log writer: the next log may not be reused before the checkpoint has passed it.
    LogFileSwitchCheckpointIncomplete,
    /// Log writer: the next log may not be reused before it was archived; counted from when the
    /// checkpoint has passed it.
    LogFileSwitchArchivingNeeded,
    /// Log writer: from the first write of a new log until that write was complete.
    LogFileSwitchCompletion,
    /// Log writer: redo was to be written and every place in flight was taken.
    LgwrAnyWorkerGroup,
    /// A worker of the log writer: nothing to do.
    LgwrWorkerGroupIdle,
}

impl WaitEvent {
    /// Every event, in the order in which tables show them.
    pub const ALL: [WaitEvent; 8] = [
        WaitEvent::LogFileSync,
        WaitEvent::LogFileParallelWrite,
        WaitEvent::LogBufferSpace,
        WaitEvent::LogFileSwitchCheckpointIncomplete,
        WaitEvent::LogFileSwitchArchivingNeeded,
        WaitEvent::LogFileSwitchCompletion,
        WaitEvent::LgwrAnyWorkerGroup,
        WaitEvent::LgwrWorkerGroupIdle,
    ];

    /// The event's name as Oracle prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            WaitEvent::LogFileSync => "log file sync",
            WaitEvent::LogFileParallelWrite => "log file parallel write",
            WaitEvent::LogBufferSpace => "log buffer space",
            WaitEvent::LogFileSwitchCheckpointIncomplete => {
                "log file switch (checkpoint incomplete)"
            }
            WaitEvent::LogFileSwitchArchivingNeeded => "log file switch (archiving needed)",
            WaitEvent::LogFileSwitchCompletion => "log file switch completion",
            WaitEvent::LgwrAnyWorkerGroup => "LGWR any worker group",
            WaitEvent::LgwrWorkerGroupIdle => "LGWR worker group idle",
        }
    }

    /// The key in JSON and file names: `log_file_sync` and so on.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            WaitEvent::LogFileSync => "log_file_sync",
            WaitEvent::LogFileParallelWrite => "log_file_parallel_write",
            WaitEvent::LogBufferSpace => "log_buffer_space",
            WaitEvent::LogFileSwitchCheckpointIncomplete => "log_file_switch_checkpoint_incomplete",
            WaitEvent::LogFileSwitchArchivingNeeded => "log_file_switch_archiving_needed",
            WaitEvent::LogFileSwitchCompletion => "log_file_switch_completion",
            WaitEvent::LgwrAnyWorkerGroup => "lgwr_any_worker_group",
            WaitEvent::LgwrWorkerGroupIdle => "lgwr_worker_group_idle",
        }
    }
}

/// A log write or log file sync longer than this is an outlier (Oracle 12c `V$LGWRIO_OUTLIER`:
/// writes over 500 ms).
pub const OUTLIER_NS: u64 = 500_000_000;
