//! What users of the log see beside the features: the few names at the root of the crate.
//!
//! Invariant: nothing is public here by a glob, so that what is promised is what is listed.

pub use crate::buffer::Stations;
pub use crate::commit::{Commit, CommitMode, CommitPath, CommitPost, CommitWait};
#[cfg(not(feature = "loom"))]
pub use crate::engine::{
    Appended, ArchiveMode, BackEnd, CommitFuture, CompletionEvent, Completions, Layout, Log,
    LogBuilder, LogWrite, LogWriter, MemberLayout, MemberState, Observer, Options, QueueFull,
    RingState, Session, Shape, SpaceWaits, Ticket,
};
pub use crate::error::{Error, ShapeError};
pub use crate::group::Geometry;
pub use crate::rba::{InvalidRba, Rba};
pub use crate::recovery::{DamageScan, End, RecordReader, Recovery, RedoRecord, Salvage, Scan};
#[cfg(not(feature = "loom"))]
pub use crate::sync::EngineClock;
pub use crate::tickets::Completion;
pub use crate::triggers::Triggers;
pub use crate::writer::{Adaptive, Cause, CommitWay, Learned, LogFileSync, Policy, SyncSwitch};
pub use device::file::Directory;
pub use device::pool::WorkerStats;
pub use device::queue::IoOrDevice;
pub use device::{DeviceError, IoEngine, IoFailure, LogDevice, SyncMethod, UringOptions};
pub use device::{StripeWidth, StripedDevice};
pub use measure::{Clock, Nanos};

/// Raw block devices: what is on one, who consents to overwriting it, and holding it.
pub mod raw {
    #[cfg(not(feature = "loom"))]
    pub use crate::engine::raw::device_bytes;
    pub use device::raw::{ClearedRawDevice, Consent, HeldRawDevice, RawDevice, RawDeviceRefusal};
}
