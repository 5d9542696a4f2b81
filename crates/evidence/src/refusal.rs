//! Why a file could not be imported.

use super::options::Kind;
use thiserror::Error;

/// Why a file could not be imported.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ImportRefusal {
    /// It is of another database.
    #[error("{file}: this is {what}, which only resembles Oracle's; redolab reads Oracle's")]
    LookAlike {
        /// The file.
        file: String,
        /// What it is.
        what: &'static str,
    },
    /// It is a report or the output of a tool that contains too little.
    #[error("{file}: this is {what}, which redolab does not read; {instead}")]
    NotRead {
        /// The file.
        file: String,
        /// What it is.
        what: &'static str,
        /// What to do.
        instead: &'static str,
    },
    /// It contains nothing.
    #[error("{file}: the file is empty")]
    Empty {
        /// The file.
        file: String,
    },
    /// It begins as `count,elapsed`, and a line of it is something else.
    #[error("{file}: line {line}: {what}; --kind count-elapsed leaves such lines out")]
    Malformed {
        /// The file.
        file: String,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Another program put something before each of its lines.
    #[error(
        "{file}: each line begins with {what} ({example}): cut it off{how}, and import what is left, which is \
         {kind}"
    )]
    Prefixed {
        /// The file.
        file: String,
        /// What the lines begin with.
        what: &'static str,
        /// The first of them.
        example: String,
        /// How it is cut off.
        how: String,
        /// What is behind it.
        kind: Kind,
    },
    /// It is a table of numbers, and nothing says what they measure.
    #[error(
        "{file}: {what}: redolab does not know what they measure. Single waits have the heading \
         `count,elapsed`, or no heading and --kind count-elapsed"
    )]
    Numbers {
        /// The file.
        file: String,
        /// Its columns.
        what: String,
    },
    /// Its kind was not recognised.
    #[error("{file}: {found}; it is of no kind that redolab reads: state its kind with --kind")]
    Unknown {
        /// The file.
        file: String,
        /// What it begins with.
        found: String,
    },
    /// It holds nothing of its kind.
    #[error("{file}: no {kind} in it: looked for {looked_for}{more}")]
    Nothing {
        /// The file.
        file: String,
        /// The kind it was read as.
        kind: Kind,
        /// What was looked for.
        looked_for: &'static str,
        /// The first diagnostic, if there is one.
        more: String,
    },
}
