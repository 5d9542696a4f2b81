//! The vocabulary of a redo-log measurement.
//!
//! What lives here: units, clocks, histograms with exact companions, wait events, the metric
//! catalogue, workload specifications with their generator, [`record::Recording`]: what was
//! measured, which merges exactly, and [`run::Run`]: plain data that every producer writes and
//! every reader reads; and the words in which numbers and names are written ([`words`]).
//!
//! What it must not know: devices, logs, threads of a run, files, where anything is shown.

mod bounded;
pub mod catalogue;
pub mod clock;
pub mod comparison;
pub mod driver;
mod enum_words;
pub mod histogram;
pub mod imported;
pub mod judgement;
pub mod origin;
pub mod power_test;
pub mod printed;
pub mod record;
pub mod run;
pub mod stack;
pub mod units;
pub mod waits;
pub mod words;
pub mod workload;

pub use clock::{Clock, RealClock};
pub use histogram::Histogram;
pub use units::Nanos;
pub use waits::WaitEvent;
