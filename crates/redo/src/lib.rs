//! An embeddable redo log: log buffer, log writer, group commit, log groups with switches and a
//! checkpoint position, recovery.
#![doc = ""]
#![doc = include_str!("overview.md")]

mod buffer;
pub mod commit;
pub mod control;
#[cfg(all(feature = "crash", not(feature = "loom")))]
pub mod crash;
#[cfg(not(feature = "loom"))]
pub mod engine;
pub mod error;
pub mod format;
pub mod group;
#[cfg(doctest)]
mod guide;
#[cfg(all(test, feature = "loom"))]
mod interleavings;
#[doc(hidden)]
pub mod planted;
pub mod rba;
mod read_ahead;
pub mod recovery;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
mod sync;
mod tickets;
mod triggers;
mod turn;
mod wait;
pub mod writer;

pub use buffer::{Batch, Stations};
pub use commit::{Commit, CommitMode, CommitPost, CommitWait};
/// The devices below a log, in the version that this one uses.
pub use device;
pub use device::{DeviceError, IoEngine, SyncMethod};
#[cfg(not(feature = "loom"))]
pub use engine::{Completions, Layout, Log, LogBuilder, LogWriter, Options, Session, Shape};
pub use error::{Error, ShapeError};
/// Units, clocks and histograms, in the version that this one uses.
pub use measure;
pub use rba::Rba;
pub use recovery::{RecordReader, Recovery, RedoRecord};
pub use tickets::{Completion, QueueFull, Ticket};
pub use triggers::Triggers;
pub use writer::LogFileSync;
