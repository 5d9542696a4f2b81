//! An embeddable redo log.

mod buffer;
pub mod format;
pub mod group;
pub mod planted;
pub mod rba;
mod sync;
mod wait;
pub mod writer;

pub use buffer::{Batch, Stations};
pub use rba::Rba;
