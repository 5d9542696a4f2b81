//! A session: a connection, a table of its own, and the transactions that it commits there.

use super::MariadbError;
use super::insert::{Insert, row_max};
use super::server::{ServerState, commits_wait_for_nothing};
use super::watch::SessionCommits;
use crate::client::SocketError;
use crate::work::work;
use measure::driver::{DriverError, DriverSession, SessionLoad, Transaction};
use measure::workload::{CommitMode, Generator, STAMP_BYTES, Workload};
use measure::{Nanos, RealClock};
use std::sync::mpsc::Sender;

/// A session on a MariaDB or MySQL server.
#[derive(Debug)]
pub struct MariadbSession {
    insert: Insert,
    clock: RealClock,
    generator: Generator,
    cpu_per_txn: Nanos,
    is_failed: bool,
    commits: SessionCommits,
    _table: SessionTable,
}

/// A table that is given back when its session ends.
#[derive(Debug)]
pub struct SessionTable {
    /// Its name, with that of the schema.
    pub name: String,
    /// Where it is given back to.
    pub retired: Sender<String>,
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        // A target that has ended has dropped it.
        let _ = self.retired.send(std::mem::take(&mut self.name));
    }
}

impl MariadbSession {
    /// A session that runs a prepared INSERT.
    #[must_use]
    pub fn new(
        insert: Insert,
        table: SessionTable,
        clock: RealClock,
        load: &SessionLoad,
        commits: SessionCommits,
    ) -> MariadbSession {
        MariadbSession {
            insert,
            clock,
            generator: load.generator(),
            cpu_per_txn: load.cpu_per_txn,
            is_failed: false,
            commits,
            _table: table,
        }
    }
}

impl DriverSession for MariadbSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        if self.is_failed {
            return Err(MariadbError::from(SocketError::Closed(" before, or failed")).into());
        }
        // Until it returned well.
        self.is_failed = true;
        self.insert.encode(&mut self.generator);
        let _ = work(self.clock, self.cpu_per_txn);
        let committed = self.insert.commit(self.clock);
        let (requested, returned) = committed.map_err(MariadbError::of_commit)?;
        self.is_failed = false;
        self.commits.commits += 1;
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

/// Whether sessions can run a workload on a server.
///
/// # Errors
/// Why not, and which workloads can be run.
pub fn accepts(workload: &Workload, server: &ServerState) -> Result<(), MariadbError> {
    if workload.tproc_c.is_some() {
        return Err(MariadbError::Unusable(format!(
            "{} runs on tables that were loaded before: use redolab tprocc",
            workload.name
        )));
    }
    accepts_mode(workload, server)?;
    let redo = u64::from(workload.redo_bytes);
    let row_max = row_max(server.page_bytes);
    if !super::insert::RowLayout::fits(redo, row_max, server.packet_bytes) {
        return Err(MariadbError::Unusable(format!(
            "{} bytes of redo are more than one statement on this server can make: \
             max_allowed_packet is {} bytes, and redolab sends less than 16 MiB",
            workload.redo_bytes, server.packet_bytes
        )));
    }
    Ok(())
}

/// Whether commits on a server are what a workload asks for.
fn accepts_mode(workload: &Workload, server: &ServerState) -> Result<(), MariadbError> {
    let name = &workload.name;
    match workload.commit {
        CommitMode::WAIT_IMMEDIATE => Ok(()),
        CommitMode::NOWAIT_BATCH if commits_wait_for_nothing(&server.facts) => Ok(()),
        CommitMode::NOWAIT_BATCH => Err(MariadbError::Unusable(format!(
            "{name} commits with COMMIT WRITE NOWAIT BATCH, for which MariaDB and MySQL have no \
             equivalent in a session: whether commits wait is a setting of the whole server, which \
             redolab does not change. It runs on a server that has \
             innodb_flush_log_at_trx_commit = 2 or 0 already, and no binary log or sync_binlog = 0; \
             any server runs LGWR-LAT1, LGWR-LAT25, LGWR-LAT125, storm and size-sweep"
        ))),
        other => Err(MariadbError::Unusable(format!(
            "MariaDB and MySQL have no equivalent of COMMIT WRITE {other}, so the driver does not \
             run {name}: use wait-immediate"
        ))),
    }
}

/// Whether a pool has enough bytes for a row.
///
/// # Errors
/// It has not.
pub fn check_pool(pool: usize, row_bytes: u32) -> Result<(), MariadbError> {
    if pool + STAMP_BYTES >= row_bytes as usize {
        return Ok(());
    }
    Err(MariadbError::Unusable(format!(
        "the payload's pool of {pool} bytes is smaller than a row of {row_bytes} bytes"
    )))
}
