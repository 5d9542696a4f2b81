//! What an existing server counts and reports of its log, for a collection of evidence: readings
//! that change nothing on the server.
//!
//! Invariants: only statements that read are sent, in sessions whose transactions are read only;
//! no answer is awaited for longer than [`PATIENCE`]; what a version does not have, or the role may
//! not read, is a refusal with its reason and not an error.
//!
//! What it must not know: how long a collection lasts, and how listings are printed and stored.

use measure::driver::DriverError;
use std::time::Duration;

/// The longest wait for the answer to a statement.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The result of a statement, as its server returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerListing {
    /// The view or statement, as the name of a file: `pg_stat_wal`, `global_status`.
    pub name: &'static str,
    /// The statement.
    pub statement: String,
    /// Its columns.
    pub columns: Vec<ListingColumn>,
    /// Its rows as text; a value that is NULL is `None`.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A column of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingColumn {
    /// Its name.
    pub name: String,
    /// Whether it is of a type of numbers, which clients align to the right.
    pub is_number: bool,
}

impl ListingColumn {
    /// A column of text.
    #[must_use]
    pub fn text(name: &str) -> ListingColumn {
        ListingColumn {
            name: name.to_owned(),
            is_number: false,
        }
    }
}

/// What a server did not answer, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedListing {
    /// The view or statement.
    pub name: &'static str,
    /// The server's message.
    pub why: String,
}

/// What a server answered at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerReading {
    /// The results.
    pub listings: Vec<ServerListing>,
    /// What it did not answer.
    pub refused: Vec<RefusedListing>,
}

/// Which of a collection's two readings is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingMoment {
    /// The first: settings, and what is counted.
    Begin,
    /// The second: what is counted.
    End,
    /// Either of those around a log that is watched: settings, also those of roles and databases,
    /// what is counted, and transaction ids.
    Watched,
}

/// How a server's own client prints results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientLayout {
    /// That of `psql`.
    Psql,
    /// That of `mariadb` and `mysql`.
    Mariadb,
}

/// A server that is read.
pub trait ReadServer: Send {
    /// The address without a password.
    fn shown(&self) -> String;

    /// How its client prints results.
    fn layout(&self) -> ClientLayout;

    /// Whether it is reached by a Unix socket or an address of this machine. Behind a forwarded
    /// port it may be on another machine all the same.
    fn is_local(&self) -> bool;

    /// Settings, and what the server counts.
    ///
    /// # Errors
    /// The connection failed.
    fn read(&mut self, moment: ReadingMoment) -> Result<ServerReading, DriverError>;

    /// What its sessions wait for now: columns, and a row for each kind with its number of sessions
    /// last.
    ///
    /// # Errors
    /// The connection failed, or the server refuses.
    fn waits(&mut self) -> Result<ServerListing, DriverError>;
}
