//! The laboratory: a plan is carried out, observed, judged and stored, without a command line.
//!
//! What lives here: experiments, the run store, what is observed beside a run (processors, device
//! counters, the flush audit), the safety checks before a run, and what has to happen when a run
//! ends or is interrupted.
//!
//! What it must not know: options of a command, how a run is shown, how a log works (`redo`), what
//! a result means (`analysis`; only
//! [`experiment::judge`] asks it, and `calibrate` for errors).

pub mod budget;
pub mod cleanup;
pub mod experiment;
pub mod folder;
pub mod harmless_json;
mod last_resort;
pub mod observe;
pub mod raw_consent;
pub mod safety;
pub mod signals;
pub mod standard_error;
pub mod store;
