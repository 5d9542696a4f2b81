//! What TPROC-C needs of a database server: a connection to the schema, and one for the calls of a
//! user. Each server has a folder of its own that implements this.
//!
//! Invariants: nothing outside the schema [`SCHEMA`] is changed; a schema of that name which
//! redolab did not make is neither read nor changed; what a server sends is untrusted.

use super::contents::TprocCTable;
use super::load::LoadPhase;
use super::rows::RowText;
use super::user::UserCall;
use measure::driver::{DriverError, ServerCounts, WaitSampling};
use measure::run::TargetFacts;
use measure::{Nanos, RealClock};
use std::time::Duration;

/// The schema that redolab makes.
pub const SCHEMA: &str = "redolab_tprocc";
/// What the mark of the schema contains while it is being loaded.
pub const LOADING: &str = "loading";
/// The longest wait for statements that read whole tables or build indexes.
pub const LONG: Duration = Duration::from_secs(3600);

/// Rows of a query as text; a value that is NULL is `None`.
pub type QueryRows = Vec<Vec<Option<String>>>;

/// What a server has under the schema's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// Nothing.
    Absent,
    /// A schema that redolab did not make.
    Foreign,
    /// A schema of redolab's whose load did not end, or one that is empty as a load makes it first.
    Unfinished,
    /// A loaded schema.
    Loaded,
}

/// How a connection uses the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaUse {
    /// Beside others.
    Shared,
    /// Alone: to load or to remove it.
    Alone,
}

/// What a connection to the schema is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaTask {
    /// Short readings during a run.
    Control,
    /// Statements that may take [`LONG`].
    Maintenance,
    /// Rows that are loaded, indexes that are built.
    Load,
}

/// Makes the next rows of a load, in place of those before. Whether there were any.
pub type RowSource<'a> = dyn FnMut(&mut RowText) -> Result<bool, DriverError> + 'a;

/// A server that can have tables of TPROC-C.
pub trait TprocCServer: Send + Sync {
    /// The address without a password.
    fn shown(&self) -> String;

    /// The clock of its transactions.
    fn clock(&self) -> RealClock;

    /// What a run says of it.
    fn facts(&self) -> TargetFacts;

    /// A connection to the schema, which need not exist.
    ///
    /// # Errors
    /// Of the server.
    fn connect(&self, task: SchemaTask) -> Result<Box<dyn SchemaConnection>, DriverError>;

    /// A connection for the calls of a user.
    ///
    /// # Errors
    /// Of the server; its settings are not those that were read at first.
    fn user(&self) -> Result<Box<dyn CallConnection>, DriverError>;

    /// Statements of a load after its rows, in any order and by several connections at a time.
    fn finishing(&self, phase: LoadPhase) -> Vec<String>;

    /// What the server has counted of its log so far.
    ///
    /// # Errors
    /// It does not answer.
    fn server_counts(&self) -> Result<ServerCounts, DriverError>;

    /// How late these counts are, at most.
    fn statistics_delay(&self) -> Duration;

    /// Begins to sample what the connections of users wait for; `None` where that cannot be seen.
    ///
    /// # Errors
    /// The server does not answer.
    fn sample_waits(&self) -> Result<Option<Box<dyn WaitSampling>>, DriverError> {
        Ok(None)
    }

    /// Ends the server, where redolab made it.
    ///
    /// # Errors
    /// It had ended before, and how.
    fn close(&self) -> Result<(), DriverError> {
        Ok(())
    }
}

/// A connection to the schema.
pub trait SchemaConnection: Send {
    /// Locks the schema until the connection ends, after a wait of seconds at most. Whether nobody
    /// else uses it so that this is possible.
    ///
    /// # Errors
    /// Of the server.
    fn lock(&mut self, usage: SchemaUse) -> Result<bool, DriverError>;

    /// What the server has under the schema's name.
    ///
    /// # Errors
    /// Of the server.
    fn state(&mut self) -> Result<SchemaState, DriverError>;

    /// Runs a statement.
    ///
    /// # Errors
    /// Of the server.
    fn query(&mut self, sql: &str) -> Result<QueryRows, DriverError>;

    /// Makes the schema, which is absent, marked with [`LOADING`], its tables and its routines.
    ///
    /// # Errors
    /// Of the server; what was made until then is left, and marked.
    fn create(&mut self) -> Result<(), DriverError>;

    /// Loads rows into a table.
    ///
    /// # Errors
    /// Of the server, or of the source.
    fn load(&mut self, table: TprocCTable, source: &mut RowSource<'_>) -> Result<(), DriverError>;

    /// Marks the schema with another state, durably.
    ///
    /// # Errors
    /// Of the server.
    fn mark(&mut self, state: &str) -> Result<(), DriverError>;

    /// Removes the schema, which is redolab's own.
    ///
    /// # Errors
    /// Others put something into it, which stays, or of the server.
    fn remove(&mut self) -> Result<(), DriverError>;

    /// Begins a transaction that reads one snapshot and changes nothing.
    ///
    /// # Errors
    /// Of the server.
    fn begin_snapshot(&mut self) -> Result<(), DriverError>;

    /// Commits and rollbacks of the whole server so far.
    ///
    /// # Errors
    /// Of the server.
    fn transactions(&mut self) -> Result<u64, DriverError>;
}

/// How a call ended.
#[derive(Debug)]
pub enum CallOutcome {
    /// With the number that it returned.
    Returned(i64),
    /// It was rolled back by a deadlock, a serialization failure or a wait for a lock, and is to be
    /// run again.
    Retry(DriverError),
}

/// The answer to a call.
#[derive(Debug)]
pub struct CallAnswer {
    /// When the call was sent.
    pub requested: Nanos,
    /// When its answer was read, which the server sends after the commit or the rollback.
    pub returned: Nanos,
    /// How it ended.
    pub outcome: CallOutcome,
}

/// A connection of a user: each transaction is one call and one round trip.
pub trait CallConnection: Send {
    /// Writes the call of a user of `warehouse`.
    ///
    /// # Errors
    /// It cannot be written.
    fn encode(&mut self, call: &UserCall, warehouse: u32) -> Result<(), DriverError>;

    /// Sends what was written, and reads the answer.
    ///
    /// # Errors
    /// Of the server or of the connection. A warning with a commit is an error.
    fn exchange(&mut self, clock: RealClock) -> Result<CallAnswer, DriverError>;
}
