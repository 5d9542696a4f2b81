//! The laboratory's binary as a library, so that integration tests use the same modules.
//!
//! What lives here: the run store, what is observed beside a run (processors, device counters,
//! the flush audit), output formats, the safety checks before a run, and what has to happen when
//! a run ends or is interrupted.
//!
//! What it must not know: how a log works (`redo`), what a result means (`analysis`).

pub mod archived;
pub mod budget;
pub mod cleanup;
pub mod cli;
pub mod collect;
pub mod command_line;
pub mod experiment;
pub mod folder;
pub mod harmless_json;
pub mod input;
mod inspection;
pub mod intake;
pub mod interchange;
pub mod last_resort;
pub mod observe;
pub mod output;
pub mod powertest;
mod raw_consent;
pub mod safety;
pub mod signals;
mod standard_error;
pub mod store;
pub mod watch;
