//! An embeddable redo log: log buffer, log writer, group commit, log groups with switches and a
//! checkpoint position, recovery.
#![doc = ""]
#![doc = include_str!("overview.md")]
// Models replace the engine, and the library beside them has nobody who calls what they check.
#![cfg_attr(
    all(any(feature = "loom", feature = "shuttle"), not(test)),
    allow(dead_code)
)]
// Without `internals` what only tests and tools call has no caller; with it everything is checked.
#![cfg_attr(not(feature = "internals"), allow(dead_code, unused_imports))]

// With the feature `internals` the modules of the log's bytes, policy and threads are public, for
// the tests and tools of the project that this crate is a part of. They change without notice.
mod buffer;
mod commit;
#[cfg(feature = "internals")]
pub mod control;
#[cfg(not(feature = "internals"))]
mod control;
#[cfg(all(feature = "crash", not(feature = "loom")))]
pub mod crash;
#[cfg(all(feature = "internals", not(feature = "loom")))]
pub mod engine;
#[cfg(not(any(feature = "internals", feature = "loom")))]
mod engine;
mod error;
#[cfg(feature = "internals")]
pub mod format;
#[cfg(not(feature = "internals"))]
mod format;
#[cfg(feature = "internals")]
pub mod group;
#[cfg(not(feature = "internals"))]
mod group;
#[cfg(doctest)]
mod guide;
#[cfg(all(test, feature = "loom"))]
mod interleavings;
#[cfg(not(feature = "loom"))]
mod members;
#[cfg(feature = "internals")]
pub mod planted;
#[cfg(not(feature = "internals"))]
mod planted;
mod public;
mod rba;
mod read_ahead;
#[cfg(feature = "internals")]
pub mod recovery;
#[cfg(not(feature = "internals"))]
mod recovery;
#[cfg(feature = "internals")]
pub mod rules;
#[cfg(not(feature = "internals"))]
mod rules;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;
mod setters;
mod sync;
mod tickets;
mod triggers;
mod turn;
mod wait;
mod wakers;
#[cfg(feature = "internals")]
pub mod writer;
#[cfg(not(feature = "internals"))]
mod writer;

#[cfg(all(feature = "internals", not(feature = "loom")))]
pub use members::{CountedMembers, MemberOp};
pub use public::*;
