//! A session: a connection with one prepared statement, and the transactions that it commits.
//!
//! Invariants: a transaction is one round trip; it returned when the server is ready for the next
//! one, which is after its commit; a warning with a commit is an error, because it is how the
//! server reports a commit that is less durable than it should be.

use super::connection::Connection;
use super::error::{PostgresError, ServerMessage};
use super::sizes;
use crate::work::work;
use measure::driver::{DriverError, DriverSession, SessionLoad, Transaction};
use measure::workload::{CommitMode, Generator, STAMP_BYTES, Workload};
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

/// A session on a PostgreSQL server.
#[derive(Debug)]
pub struct PostgresSession {
    connection: Connection,
    clock: RealClock,
    generator: Generator,
    payload: u32,
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
        let payload = payload_of(&load.workload, load.pool.len(), is_logical)?;
        connection.prepare(STATEMENT_NAME, STATEMENT, &[BYTEA])?;
        Ok(PostgresSession {
            connection,
            clock,
            generator: load.generator(),
            payload,
            cpu_per_txn: load.cpu_per_txn,
            is_failed: false,
        })
    }

    /// Puts the next transaction into the outbox.
    fn encode(&mut self) -> Result<(), PostgresError> {
        self.generator.next_transaction();
        let (stamp, body) = self.generator.record(0, self.payload);
        assert_eq!(
            stamp.len() + body.len(),
            self.payload as usize,
            "the pool is as large as the payload"
        );
        let outbox = &mut self.connection.wire.outbox;
        outbox.clear();
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
            BindError::Serialization(error) => PostgresError::Io(error),
            BindError::Conversion(_) => PostgresError::Protocol("a payload is too long"),
        })?;
        frontend::execute("", 0, outbox)?;
        frontend::sync(outbox);
        Ok(())
    }

    /// Sends it, and reads until the server is ready again.
    fn commit(&mut self) -> Result<(Nanos, Nanos), PostgresError> {
        let wire = &mut self.connection.wire;
        wire.begin();
        let requested = self.clock.now();
        wire.send()?;
        let (mut is_complete, mut is_warned) = (false, None);
        loop {
            let frame = wire.frame()?;
            match frame.tag {
                backend::BIND_COMPLETE_TAG
                | backend::DATA_ROW_TAG
                | backend::PARAMETER_STATUS_TAG => {}
                backend::COMMAND_COMPLETE_TAG => is_complete = true,
                backend::READY_FOR_QUERY_TAG => {
                    let returned = self.clock.now();
                    return match is_warned {
                        Some(message) => Err(PostgresError::Warned(message)),
                        None if is_complete && frame.body == b"I" => Ok((requested, returned)),
                        None => Err(PostgresError::Protocol("a commit has no end")),
                    };
                }
                backend::NOTICE_RESPONSE_TAG => {
                    let message = ServerMessage::of(frame.body);
                    if message.severity == "WARNING" {
                        is_warned = Some(message);
                    }
                }
                backend::ERROR_RESPONSE_TAG => {
                    return Err(PostgresError::Server(ServerMessage::of(frame.body)));
                }
                _ => return Err(PostgresError::Protocol("an answer does not fit its commit")),
            }
        }
    }
}

impl DriverSession for PostgresSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        if self.is_failed {
            return Err(PostgresError::Closed(" before, or failed").into());
        }
        // Until it returned well.
        self.is_failed = true;
        self.encode()?;
        let _ = work(self.clock, self.cpu_per_txn);
        let (requested, returned) = self.commit().map_err(PostgresError::of_commit)?;
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

/// Whether sessions can run a workload.
///
/// # Errors
/// Why not, and which workloads can be run.
pub fn accepts(workload: &Workload) -> Result<(), PostgresError> {
    let is_redo = workload.tproc_c.is_none();
    if is_redo && workload.records == 1 && workload.commit == CommitMode::WAIT_IMMEDIATE {
        return Ok(());
    }
    Err(PostgresError::Unusable(format!(
        "the PostgreSQL driver does not run {} (records per transaction: {}, COMMIT WRITE {}) yet: \
         it runs workloads with one record and COMMIT WRITE WAIT IMMEDIATE, which are LGWR-LAT1, \
         LGWR-LAT25, LGWR-LAT125 and storm",
        workload.name, workload.records, workload.commit
    )))
}

/// Bytes of payload of a workload's transaction.
fn payload_of(workload: &Workload, pool: usize, is_logical: bool) -> Result<u32, PostgresError> {
    accepts(workload)?;
    let payload = sizes::payload_for(u64::from(workload.redo_bytes), is_logical);
    let fits = payload <= PAYLOAD_MAX && payload <= (pool + STAMP_BYTES) as u64;
    u32::try_from(payload).ok().filter(|_| fits).ok_or_else(|| {
        PostgresError::Unusable(format!(
            "{} bytes of redo are more than the PostgreSQL driver writes per transaction",
            workload.redo_bytes
        ))
    })
}
