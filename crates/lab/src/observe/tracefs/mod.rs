//! The kernel's tracing: a private instance of tracefs, and what it records as typed events.
//!
//! | file | what lives there |
//! |---|---|
//! | `mount` | where tracefs is, or a mount of it that no path leads to |
//! | `instance` | a private instance: its buffers, events and filters; removal of stale ones |
//! | `format` | the kernel's descriptions of pages, entries and events |
//! | `ring` | pages of a ring buffer as records with times |
//! | `events` | records as typed events |
//!
//! Invariants: offsets of fields come from the kernel's descriptions and are never fixed; bytes of
//! a page are not trusted: `format`, `ring` and `events` are pure, and whatever they read, they
//! never panic. Nothing of tracefs outside the instance is changed, and the instance is removed,
//! after a kill by the next start.
//!
//! What it must not know: databases, log files, and what the events mean.

pub mod events;
pub mod format;
pub mod instance;
pub mod mount;
pub mod ring;

use std::path::{Path, PathBuf};

/// Why the kernel's tracing cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    /// There is no tracefs, and it cannot be mounted.
    #[error(
        "tracefs: {why}; run as root, or have it mounted (mount -t tracefs nodev \
         /sys/kernel/tracing) and join the group that may use it"
    )]
    NotMounted {
        /// Why.
        why: String,
    },
    /// The user may not use it.
    #[error(
        "{}: permission denied; run as root, or join the group that owns tracefs (ls -ld \
         /sys/kernel/tracing shows it)",
        .0.display()
    )]
    Denied(PathBuf),
    /// The kernel has no such event.
    #[error(
        "this kernel has no trace event {0}, which is needed to follow this log; watch needs \
         Linux 5.15 or later with CONFIG_FTRACE"
    )]
    NoEvent(String),
    /// The kernel describes something in a form that is not known.
    #[error("{what}: the kernel's description has another form than is known: {why}")]
    Format {
        /// What is described.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// The system refused.
    #[error("{}: {action}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// Why not.
        source: std::io::Error,
    },
}

/// Why `action` on `path` failed.
fn failed(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> TracefsError {
    let path = path.to_owned();
    move |source| match source.kind() {
        std::io::ErrorKind::PermissionDenied => TracefsError::Denied(path),
        _ => TracefsError::System {
            path,
            action,
            source,
        },
    }
}
