//! Runs in, understanding out: findings, verdict, report.
//!
//! [`findings::findings`] reads a run and says what it shows, each claim with its numbers, its
//! threshold and that threshold's source. [`verdict::verdict`] follows from the findings.
//! [`stats`] holds the statistics. [`report::html`] shows all of it in one file that needs nothing
//! else.
//!
//! What it must not know: devices, logs, files, clocks, networks. Everything is a function of
//! plain data.

pub mod account;
pub mod bytes;
pub mod calibration;
pub mod capacity;
pub mod compare;
pub mod envelope;
pub mod explain;
pub mod factors;
pub mod figures;
pub mod findings;
pub mod placement;
pub mod published;
pub mod report;
mod rows;
pub mod samples;
pub mod size_sweep;
pub mod stats;
pub mod thresholds;
pub mod verdict;

pub use envelope::Envelope;
pub use findings::{cache_resident, findings};
pub use rows::has_jobs;
pub use thresholds::{ThresholdError, Thresholds};
pub use verdict::verdict;

pub(crate) use measure::words as format;
