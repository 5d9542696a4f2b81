//! The laboratory's binary as a library, so that integration tests use the same modules.
//!
//! What lives here: the command line, output formats, reading files of evidence, power tests, and
//! watching a database. Experiments and their store are in `lab`, whose modules have their names
//! here too.
//!
//! What it must not know: how a log works (`redo`), what a result means (`analysis`).

pub mod archived;
pub mod cli;
pub mod collect;
pub mod command_line;
pub mod input;
mod inspection;
pub mod intake;
pub mod interchange;
pub mod output;
pub mod powertest;
pub mod watch;

pub use lab::{budget, cleanup, experiment, folder, harmless_json, observe, raw_consent};
pub use lab::{safety, signals, standard_error, store};
