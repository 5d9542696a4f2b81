//! Power tests: does an acknowledged write survive a power cut on this device?
//!
//! What lives here: a writer (`write`) that commits unique records on the device under test and
//! sends each acknowledgement to a server on another machine; the server (`serve`), which keeps
//! them durably (`keep`); and, after the restart, the reader (`verify`) that looks for
//! everything acknowledged and has it judged (`judge`). `channel` and `messages` are the protocol
//! between them, `identity` what is known about machine and device, `evidence` what is recorded of
//! a cut.
//!
//! Invariants: an acknowledgement is sent only after the commit returned, and is kept only after
//! the server's own commit returned; what was in flight at the cut does not count; nothing that
//! comes after a broken connection counts; before a place may be overwritten the server has
//! answered that nobody asks for it any more.
//!
//! What it must not know: command lines, and what a result means for a verdict.

mod acks;
pub mod channel;
mod cut;
mod device_note;
mod evidence;
mod find;
mod find_raw;
mod folder;
pub mod identity;
pub mod judge;
mod keep;
mod left;
pub mod messages;
mod order;
mod pressure;
mod raw;
mod records;
mod serve;
mod sessions;
mod site;
mod verify;
mod write;

pub use cut::PowerSwitch;
pub use order::{PlantedWriterBug, RawWrites, WriteOrder, WrittenUntil};
pub use serve::{ServeOrder, serve};
pub use verify::{VerifyOrder, verify};
pub use write::write;

use crate::store::StoreError;

/// Why a part of a power test ends.
#[derive(Debug, thiserror::Error)]
pub enum PowerTestError {
    /// What was asked for cannot be, or is refused.
    #[error("{0}")]
    Refused(String),
    /// The test cannot be judged, and what to do.
    #[error("cannot be judged: {0}")]
    Unjudged(String),
    /// Something failed.
    #[error("{0}")]
    Failed(String),
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was attempted, and on what.
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The connection to the server, or the server's answer.
    #[error("{0}")]
    Channel(#[from] channel::ChannelError),
    /// The log failed.
    #[error("{0}")]
    Log(#[from] redo::Error),
    /// A device or its files failed.
    #[error("{0}")]
    Device(#[from] device::DeviceError),
    /// The run store refused.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl PowerTestError {
    /// The system refused `what`.
    fn system(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> PowerTestError {
        let what = what.to_string();
        move |source| PowerTestError::System { what, source }
    }
}
