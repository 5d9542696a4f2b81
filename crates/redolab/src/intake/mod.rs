//! Files of evidence: finding them, unpacking them, and feeding them to the crate `evidence`.
//!
//! Invariants: files are streamed, never mapped and never held whole; unpacked data is bounded in
//! size and ratio; directories are walked without following symbolic links.

pub mod ahead;
mod failed;
pub mod feed;
pub mod find;
mod members;
mod packed;
mod parallel;
pub mod redacted;
pub mod run;
pub mod unpack;
pub mod values;
mod waiting;
