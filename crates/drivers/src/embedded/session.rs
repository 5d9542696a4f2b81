//! A session of the embedded log: it appends the redo of a transaction and commits it.

use crate::work::work;
use measure::driver::{DriverError, DriverSession, SessionCounts, SessionLoad, Transaction};
use measure::record::WaitSum;
use measure::workload::{CommitWait, Generator, Workload};
use measure::{Nanos, RealClock};
use redo::Commit;
use std::sync::Arc;

/// One session on a thread of its own.
pub(super) struct LogSession {
    session: redo::Session,
    clock: RealClock,
    generator: Generator,
    workload: Arc<Workload>,
    cpu_per_txn: Nanos,
}

impl LogSession {
    pub(super) fn new(session: redo::Session, clock: RealClock, load: SessionLoad) -> LogSession {
        LogSession {
            session,
            clock,
            generator: load.generator(),
            workload: load.workload,
            cpu_per_txn: load.cpu_per_txn,
        }
    }
}

impl DriverSession for LogSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        let workload = &*self.workload;
        append(&mut self.session, &mut self.generator, workload)?;
        let _ = work(self.clock, self.cpu_per_txn);
        let commit = self.session.commit(workload.commit);
        let commit = commit.map_err(DriverError::failed)?;
        let waits = workload.commit.wait == CommitWait::Wait;
        Ok(transaction(&commit, waits, Some(commit.batch)))
    }

    fn counts(&self) -> Option<SessionCounts> {
        Some(counts(&self.session))
    }
}

/// The transaction that ended with that commit.
#[inline]
pub(super) fn transaction(commit: &Commit, waits: bool, batch: Option<u64>) -> Transaction {
    let path = commit.path();
    Transaction {
        kind: 0,
        requested: commit.requested,
        returned: commit.returned,
        sync_ns: waits.then(|| commit.log_file_sync().0),
        path_ns: path.map(|path| [path.queue_ns, path.write_ns, path.flush_ns, path.wake_ns]),
        batch,
    }
}

/// What the log counted for a session.
pub(super) fn counts(session: &redo::Session) -> SessionCounts {
    let (appended, waits) = (session.appended(), session.space_waits());
    SessionCounts {
        records: appended.records,
        bytes: appended.bytes,
        space_waits: WaitSum {
            count: waits.count,
            total_ns: waits.total.0,
        },
    }
}

/// Appends the redo of the next transaction.
#[inline]
pub(super) fn append(
    session: &mut redo::Session,
    generator: &mut Generator,
    workload: &Workload,
) -> Result<(), DriverError> {
    generator.next_transaction();
    for index in 0..workload.records.max(1) {
        let (stamp, body) = generator.record(index, workload.record_bytes(index));
        let appended = session.append(&[&stamp, body]);
        appended.map_err(DriverError::failed)?;
    }
    Ok(())
}
