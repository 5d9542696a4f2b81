//! Setting options and shapes one by one: outside this crate both grow without breaking callers.

use super::host::Observer;
use super::{LogWriter, Options, Shape};
use crate::planted::Planted;
use crate::triggers::Triggers;
use crate::writer::{LogFileSync, Policy};
use device::{IoEngine, SyncMethod, UringOptions};

/// A setter for each field, with the field's name.
macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $kind:ty,)*) => {
        impl Options {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $field(mut self, $field: $kind) -> Options {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

setters! {
    /// These options with [`Options::sync_method`](struct@Options).
    sync_method: SyncMethod,
    /// These options with another way of handing operations to the system.
    io: IoEngine,
    /// These options with rings made in this way.
    uring: UringOptions,
    /// These options, with or without a probe of the ways of writing.
    probe: bool,
    /// These options with another log writer.
    log_writer: LogWriter,
    /// These options with a log buffer of so many bytes.
    buffer_bytes: usize,
    /// These options, with or without reserved huge pages for the log buffer.
    huge_pages: bool,
    /// These options with another way in which foregrounds learn of durable redo.
    log_file_sync: LogFileSync,
    /// These options with other triggers of log writes.
    triggers: Triggers,
    /// These options, with the log buffer locked in memory or not.
    lock_memory: bool,
    /// These options with other parameters of the writer.
    policy: Policy,
    /// These options with the log writer's threads on these CPUs; anywhere when empty.
    log_writer_cpus: Vec<usize>,
    /// These options, with the writer's history kept or not.
    record_history: bool,
    /// These options with bugs that a test plants.
    #[doc(hidden)]
    planted: Planted,
}

impl Options {
    /// These options with an observer, which is called for each log write.
    #[must_use]
    pub fn observer(mut self, observer: Observer) -> Options {
        self.observer = Some(observer);
        self
    }
}

impl Shape {
    /// This shape with another redo block size: 512, 4096, or `None` for the device's.
    #[must_use]
    pub const fn block_bytes(mut self, block_bytes: Option<u32>) -> Shape {
        self.block_bytes = block_bytes;
        self
    }

    /// This shape with so many log groups, 2 to 1024.
    #[must_use]
    pub const fn groups(mut self, groups: u32) -> Shape {
        self.groups = groups;
        self
    }

    /// This shape with log files of so many bytes.
    #[must_use]
    pub const fn file_bytes(mut self, file_bytes: u64) -> Shape {
        self.file_bytes = file_bytes;
        self
    }
}
