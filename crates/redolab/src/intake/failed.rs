//! Why a file of evidence was not read.

use evidence::ImportRefusal;
use std::io;

/// Why a file was not read, or not to its end.
#[derive(Debug)]
pub enum Failed {
    /// It could not be opened, or is none to read.
    Open(String),
    /// It is no evidence.
    Refused(ImportRefusal),
    /// It was read up to a damage; what stands before it was taken.
    Cut(String),
    /// The values that were asked for could not be written.
    Samples(io::Error),
    /// The user ended it.
    Interrupted,
}
