//! An embeddable redo log: log buffer, log writer, group commit, log groups with switches and a
//! checkpoint position, recovery.
#![doc = ""]
#![doc = include_str!("overview.md")]
// Models replace the engine, and the library beside them has nobody who calls what they check.
#![cfg_attr(
    all(any(feature = "loom", feature = "shuttle"), not(test)),
    allow(dead_code)
)]

// With the feature `internals` the modules of the log's bytes, policy and threads are public, for
// the tests and tools of the project that this crate is a part of. They change without notice.
mod buffer;
mod commit;
#[cfg(feature = "internals")]
pub mod control;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod control;
#[cfg(all(feature = "crash", not(feature = "loom")))]
pub mod crash;
#[cfg(all(feature = "internals", not(feature = "loom")))]
pub mod engine;
#[cfg(not(any(feature = "internals", feature = "loom")))]
#[allow(dead_code, unused_imports)]
mod engine;
mod error;
#[cfg(feature = "internals")]
pub mod format;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod format;
#[cfg(feature = "internals")]
pub mod group;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod group;
#[cfg(doctest)]
mod guide;
#[cfg(all(test, feature = "loom"))]
mod interleavings;
#[cfg(feature = "internals")]
pub mod planted;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod planted;
mod rba;
mod read_ahead;
#[cfg(feature = "internals")]
pub mod recovery;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod recovery;
#[cfg(feature = "internals")]
pub mod rules;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod rules;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
mod setters;
mod sync;
mod tickets;
mod triggers;
mod turn;
mod wait;
#[cfg(feature = "internals")]
pub mod writer;
#[cfg(not(feature = "internals"))]
#[allow(dead_code, unused_imports)]
mod writer;

pub use buffer::Stations;
pub use commit::{Commit, CommitMode, CommitPath, CommitPost, CommitWait};
pub use device::file::Directory;
pub use device::pool::WorkerStats;
pub use device::queue::IoOrDevice;
pub use device::{DeviceError, IoEngine, IoFailure, LogDevice, SyncMethod, UringOptions};
#[cfg(not(feature = "loom"))]
pub use engine::{
    Appended, BackEnd, Completions, Layout, Log, LogBuilder, LogWrite, LogWriter, Observer,
    Options, Session, Shape, SpaceWaits,
};
pub use error::{Error, ShapeError};
pub use group::Geometry;
pub use measure::{Clock, Nanos};
pub use rba::Rba;
pub use recovery::{End, RecordReader, Recovery, RedoRecord, Salvage, Scan};
#[cfg(not(feature = "loom"))]
pub use sync::EngineClock;
pub use tickets::{Completion, QueueFull, Ticket};
pub use triggers::Triggers;
pub use writer::{Adaptive, Cause, Learned, LogFileSync, Policy, SyncSwitch};

/// Raw block devices: what is on one, who consents to overwriting it, and holding it.
pub mod raw {
    #[cfg(not(feature = "loom"))]
    pub use crate::engine::raw::device_bytes;
    pub use device::raw::{Cleared, Consent, Held, Look, Refusal};
}
