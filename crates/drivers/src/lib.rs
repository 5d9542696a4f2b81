//! What redolab measures, behind the seam of [`measure::driver`]: the embedded redo log, and
//! database servers.
//!
//! What it must not know: how long and how often sessions run, what is recorded of them, and what
//! it means.

pub mod embedded;
pub mod postgres;

use measure::driver::DriverKind;

/// The drivers that open targets by their address.
pub const KINDS: &[DriverKind] = &[postgres::KIND];
