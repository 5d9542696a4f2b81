//! Many sessions of the embedded log on one thread, by tickets: each has one commit in flight.

use super::session::{append, counts, transaction};
use crate::work::work;
use measure::driver::{Begun, DriverError, SessionCounts, SessionGroup, SessionLoad, Transaction};
use measure::workload::{CommitWait, Generator, Workload};
use measure::{Nanos, RealClock};
use redo::{Commit, Completions, Log};
use std::sync::Arc;

struct Member {
    session: redo::Session,
    generator: Generator,
    workload: Arc<Workload>,
    cpu_per_txn: Nanos,
    /// When its commit was asked for.
    requested: Nanos,
}

/// The sessions of a thread, and the queue of those that have a commit in flight.
pub(super) struct LogGroup {
    clock: RealClock,
    members: Vec<Member>,
    queue: Completions<usize>,
}

impl LogGroup {
    pub(super) fn new(log: &Log, loads: Vec<SessionLoad>) -> LogGroup {
        let members = loads.into_iter().map(|load| Member {
            session: log.session(),
            generator: load.generator(),
            workload: load.workload,
            cpu_per_txn: load.cpu_per_txn,
            requested: Nanos::ZERO,
        });
        let members: Vec<Member> = members.collect();
        LogGroup {
            clock: log.clock(),
            queue: log.completions(members.len()),
            members,
        }
    }
}

impl SessionGroup for LogGroup {
    fn begin(&mut self, index: usize, now: Nanos) -> Result<Begun, DriverError> {
        let member = &mut self.members[index];
        let mode = member.workload.commit;
        append(&mut member.session, &mut member.generator, &member.workload)?;
        member.requested = work(self.clock, member.cpu_per_txn).unwrap_or(now);
        if mode.wait == CommitWait::Nowait {
            let commit = member.session.commit(mode).map_err(DriverError::failed)?;
            return Ok(Begun::Returned(transaction(&commit, false, None)));
        }
        let ticket = member.session.commit_async(mode.post);
        let ticket = ticket.map_err(DriverError::failed)?;
        let queued = self.queue.push(ticket, index);
        assert!(queued.is_ok(), "one commit of each session is in flight");
        Ok(Begun::InFlight)
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    fn wait(&mut self) -> usize {
        self.queue.wait()
    }

    fn poll(&mut self) -> usize {
        self.queue.poll()
    }

    fn take(&mut self, now: Nanos) -> Result<Option<(usize, Transaction)>, DriverError> {
        let Some(completion) = self.queue.take() else {
            return Ok(None);
        };
        completion.outcome.map_err(DriverError::failed)?;
        let requested = self.members[completion.tag].requested;
        let commit = Commit {
            batch: 0,
            durable: true,
            immediate: false,
            requested,
            returned: now.max(requested),
            stations: completion.stations,
        };
        Ok(Some((completion.tag, transaction(&commit, true, None))))
    }

    fn counts(&self, index: usize) -> Option<SessionCounts> {
        Some(counts(&self.members[index].session))
    }
}
