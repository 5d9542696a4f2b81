//! Evidence in: what people already hold (traces, histograms, listings) becomes rows, tables and
//! diagnostics of a run.
//!
//! ```text
//! bytes ─► text (UTF-16, byte order marks) ─► kind (recognised from content) ─► reader ─► Gathered
//!                                                                          └─► Notes (diagnostics)
//! ```
//! [`Import`] is the whole of it, with one [`Reading`] per file. A reader is one file or folder
//! here, an arm of `readers::KindReader` and a line of the table in [`kind`], and nothing else.
//!
//! Invariants: no I/O, no clock; memory is bounded whatever is fed; neither memory nor the result
//! depends on how the bytes are cut into chunks; text of the evidence is carried as data, and
//! whatever shows it makes it harmless first; a file that yields nothing is an error.
//!
//! What it must not know: what a figure means (`analysis`), where files are found and how they are
//! unpacked (`redolab`).

pub mod awr;
mod blanks;
mod count_elapsed;
mod counters;
mod event_histogram;
mod fio;
mod fio_log;
mod gathered;
pub mod hdr;
mod head;
mod hlog;
mod import;
mod json;
mod json_reader;
pub mod kind;
mod line_reader;
pub mod lines;
pub mod listing;
mod look_alike;
mod miner;
mod notes;
mod number;
mod options;
pub mod origin;
mod pgbench_log;
mod prefixes;
mod published;
mod quick;
mod readers;
pub mod redact;
mod refusal;
mod regions;
mod series;
pub mod sheets;
mod sink;
mod snapshots;
mod stamps;
mod tables;
mod tally;
mod text;
mod tools;
pub mod trace;
mod wrapped;

pub use gathered::Gathered;
pub use import::{HEAD_BYTES, Import, Outcome, Reading};
pub use kind::KindError;
pub use listing::LOG_DEVICE;
pub use notes::Notes;
pub use options::{Kind, Options, SourceOffset, SourceOffsetError};
pub use refusal::ImportRefusal;
pub use sink::Sink;
