//! A session: a connection with one prepared statement, and the transactions that it commits.
//!
//! Invariants: a transaction is one exchange with one Sync, so that its messages and its commit are
//! one transaction of the server; it returned when the server is ready for the next one, which is
//! after its commit; a warning with a commit is an error, because it is how the server reports a
//! commit that is less durable than it should be.

use super::connection::Connection;
use super::error::{PostgresError, ServerMessage};
use super::sizes::TransactionMessages;
use super::wire::Frame;
use crate::client::SocketError;
use crate::work::work;
use bytes::BytesMut;
use measure::driver::{DriverError, DriverSession, SessionLoad, Transaction};
use measure::workload::{CommitMode, CommitWait, Generator, STAMP_BYTES, Workload};
use measure::{Clock, Nanos, RealClock};
use postgres_protocol::IsNull;
use postgres_protocol::message::backend;
use postgres_protocol::message::frontend::{self, BindError};

/// The one statement. The LSN that it returns is taken in binary, which costs the server nothing.
const STATEMENT: &str = "SELECT pg_catalog.pg_logical_emit_message(true, 'r', $1)";
const STATEMENT_NAME: &str = "r";
const BYTEA: u32 = 17;
const BINARY: i16 = 1;
/// The largest payload: PostgreSQL's own limit of a value is 1 GiB.
const PAYLOAD_MAX: u64 = 512 << 20;
/// A larger transaction is sent in parts of about this size: the server works on the first ones
/// while the next are made.
const PART_BYTES: usize = 256 << 10;

/// A session on a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresSession {
    connection: Connection,
    clock: RealClock,
    generator: Generator,
    messages: TransactionMessages,
    cpu_per_txn: Nanos,
    is_failed: bool,
}

impl PostgresSession {
    /// Prepares a session on a connection.
    ///
    /// # Errors
    /// The workload cannot be run, or the server refuses.
    pub fn new(
        mut connection: Connection,
        clock: RealClock,
        load: &SessionLoad,
        is_logical: bool,
    ) -> Result<PostgresSession, PostgresError> {
        let messages = messages_of(&load.workload, is_logical)?;
        let largest = messages.payload(0);
        if largest > PAYLOAD_MAX || largest > (load.pool.len() + STAMP_BYTES) as u64 {
            return Err(PostgresError::Unusable(format!(
                "{} bytes of redo in {} records are more than the PostgreSQL driver writes per \
                 record",
                load.workload.redo_bytes, load.workload.records
            )));
        }
        connection.prepare(STATEMENT_NAME, STATEMENT, &[BYTEA])?;
        if load.workload.commit.wait == CommitWait::Nowait {
            do_not_wait(&mut connection)?;
        }
        Ok(PostgresSession {
            connection,
            clock,
            generator: load.generator(),
            messages,
            cpu_per_txn: load.cpu_per_txn,
            is_failed: false,
        })
    }

    /// Puts messages from number `first` on into the outbox, as many as a part has, and behind the
    /// last one the Sync that commits. The number of the next message.
    fn encode(&mut self, first: u32) -> Result<u32, PostgresError> {
        let outbox = &mut self.connection.wire.outbox;
        outbox.clear();
        let mut index = first;
        while index < self.messages.records() && outbox.len() < PART_BYTES {
            let payload = self.messages.payload(index);
            // It is at most `PAYLOAD_MAX`.
            let (stamp, body) = self.generator.record(index, payload as u32);
            assert_eq!(
                (stamp.len() + body.len()) as u64,
                payload,
                "the pool is as large as the payload"
            );
            bind(stamp, body, outbox)?;
            frontend::execute("", 0, outbox)?;
            index += 1;
        }
        if index == self.messages.records() {
            frontend::sync(outbox);
        }
        Ok(index)
    }

    /// Sends the transaction, of which the outbox has the first part, and reads until the server is
    /// ready again.
    fn commit(&mut self, mut next: u32) -> Result<(Nanos, Nanos), PostgresError> {
        let mut answers = Answers::default();
        self.connection.wire.begin();
        let requested = self.clock.now();
        self.connection.wire.send()?;
        while next < self.messages.records() {
            while let Some(frame) = self.connection.wire.arrived_frame()? {
                if answers.take(&frame)? {
                    return Err(PostgresError::Protocol("a commit ends too early"));
                }
            }
            next = self.encode(next)?;
            self.connection.wire.begin();
            self.connection.wire.send()?;
        }
        while !answers.take(&self.connection.wire.frame()?)? {}
        let returned = self.clock.now();
        answers.check(self.messages.records())?;
        Ok((requested, returned))
    }
}

/// What the server answered to the messages of a transaction.
#[derive(Default)]
struct Answers {
    complete: u32,
    is_idle: bool,
    warning: Option<ServerMessage>,
}

impl Answers {
    /// Takes an answer. Whether it is the last one.
    #[inline]
    fn take(&mut self, frame: &Frame<'_>) -> Result<bool, PostgresError> {
        match frame.tag {
            backend::BIND_COMPLETE_TAG | backend::DATA_ROW_TAG | backend::PARAMETER_STATUS_TAG => {}
            backend::COMMAND_COMPLETE_TAG => self.complete += 1,
            backend::READY_FOR_QUERY_TAG => {
                self.is_idle = frame.body == b"I";
                return Ok(true);
            }
            backend::NOTICE_RESPONSE_TAG => {
                let message = ServerMessage::of(frame.body);
                if message.severity == "WARNING" {
                    self.warning = Some(message);
                }
            }
            backend::ERROR_RESPONSE_TAG => {
                return Err(PostgresError::Server(ServerMessage::of(frame.body)));
            }
            _ => return Err(PostgresError::Protocol("an answer does not fit its commit")),
        }
        Ok(false)
    }

    /// Whether all of the transaction's messages were written and committed, without a warning.
    fn check(self, records: u32) -> Result<(), PostgresError> {
        match self.warning {
            Some(message) => Err(PostgresError::Warned(message)),
            None if self.is_idle && self.complete == records => Ok(()),
            None => Err(PostgresError::Protocol("a commit has no end")),
        }
    }
}

/// Puts the Bind of a message into the outbox.
fn bind(stamp: [u8; STAMP_BYTES], body: &[u8], outbox: &mut BytesMut) -> Result<(), PostgresError> {
    let bound = frontend::bind(
        "",
        STATEMENT_NAME,
        [BINARY],
        [(stamp, body)],
        |(stamp, body): ([u8; STAMP_BYTES], &[u8]), out| {
            out.extend_from_slice(&stamp);
            out.extend_from_slice(body);
            Ok(IsNull::No)
        },
        [BINARY],
        outbox,
    );
    bound.map_err(|error| match error {
        BindError::Serialization(error) => error.into(),
        BindError::Conversion(_) => PostgresError::Protocol("a payload is too long"),
    })
}

/// Has the session's commits return before their WAL is flushed: COMMIT WRITE NOWAIT BATCH.
fn do_not_wait(connection: &mut Connection) -> Result<(), PostgresError> {
    connection.query("SET synchronous_commit = off")?;
    let rows = connection.query("SHOW synchronous_commit")?;
    if rows == [[Some("off".to_owned())]] {
        return Ok(());
    }
    // As behind a connection pool that gives each transaction another session.
    Err(PostgresError::Unusable(
        "synchronous_commit is not off after it was set for the session, so COMMIT WRITE NOWAIT \
         BATCH is not possible: connect to the server itself and not to a connection pool"
            .to_owned(),
    ))
}

impl DriverSession for PostgresSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        if self.is_failed {
            return Err(PostgresError::from(SocketError::Closed(" before, or failed")).into());
        }
        // Until it returned well.
        self.is_failed = true;
        self.generator.next_transaction();
        let next = self.encode(0)?;
        let _ = work(self.clock, self.cpu_per_txn);
        let (requested, returned) = self.commit(next).map_err(PostgresError::of_commit)?;
        self.is_failed = false;
        Ok(Transaction {
            kind: 0,
            requested,
            returned,
            sync_ns: None,
            path_ns: None,
            batch: None,
        })
    }
}

/// Commits one small transaction, and returns when it is flushed, and all before it.
///
/// # Errors
/// Of the server.
pub fn commit_durably(connection: &mut Connection) -> Result<(), PostgresError> {
    connection.query("SET synchronous_commit = local")?;
    connection
        .query("SELECT pg_catalog.pg_logical_emit_message(true, 'r', ''::pg_catalog.bytea)")?;
    Ok(())
}

/// The messages of a workload's transactions.
///
/// # Errors
/// Sessions cannot run the workload: why not, and what can be run.
pub fn messages_of(
    workload: &Workload,
    is_logical: bool,
) -> Result<TransactionMessages, PostgresError> {
    if workload.tproc_c.is_some() {
        return Err(PostgresError::Unusable(format!(
            "{} runs on tables that were loaded before: use redolab tprocc",
            workload.name
        )));
    }
    accepts(workload.commit)?;
    let redo = u64::from(workload.redo_bytes);
    let messages = TransactionMessages::of(redo, workload.records, is_logical);
    if workload.records > 1 && messages.redo() >= redo + 8 {
        return Err(PostgresError::Unusable(format!(
            "{} records take at least {} bytes of PostgreSQL's WAL, and a transaction of {} has \
             {redo}: use fewer records",
            workload.records,
            messages.redo(),
            workload.name
        )));
    }
    Ok(messages)
}

/// Whether PostgreSQL has the equivalent of a commit mode: docs/databases.md has the table.
fn accepts(commit: CommitMode) -> Result<(), PostgresError> {
    let reason = match commit {
        CommitMode::WAIT_IMMEDIATE | CommitMode::NOWAIT_BATCH => return Ok(()),
        CommitMode::WAIT_BATCH => {
            "a session of PostgreSQL that waits for its commit has the WAL flushed itself, and \
             cannot leave that to others"
        }
        _ => {
            "with synchronous_commit = off PostgreSQL leaves the WAL of a commit to the next round \
             of its WAL writer, and cannot have it written at once"
        }
    };
    Err(PostgresError::Unusable(format!(
        "PostgreSQL has no COMMIT WRITE {commit}: {reason}; use WAIT IMMEDIATE (the server's own \
         synchronous_commit) or NOWAIT BATCH (synchronous_commit = off)"
    )))
}
