//! The seam between the conductor and what it measures: a [`Driver`] opens sessions on a target, a
//! [`DriverSession`] runs transactions.
//!
//! Invariants: times are on the driver's clock, which all of its sessions share; a transaction that
//! returned is as durable as its workload asks for; what a driver cannot know is `None`.
//!
//! What it must not know: which targets there are, how long and how often sessions run, and what is
//! computed from their transactions.

mod error;
mod server;

pub use error::DriverError;
pub use server::{ServerCounts, ServerGrowth, WaitSampling};

use crate::record::{KINDS_MAX, LearntSwitch, LogLife, ONLY_KIND, WaitSum};
use crate::run::{ConsistencyCondition, TargetFacts};
use crate::workload::Generator;
use crate::workload::{CommitPost, Payload, Workload};
use crate::{Nanos, RealClock};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a session is to do.
#[derive(Clone, Debug)]
pub struct SessionLoad {
    /// Number of the session, from 0.
    pub number: u32,
    /// What a transaction is.
    pub workload: Arc<Workload>,
    /// CPU work before each commit.
    pub cpu_per_txn: Nanos,
    /// What redo is made of.
    pub payload: Payload,
    /// Pseudo-random bytes that all sessions share.
    pub pool: Arc<[u8]>,
    /// Seed of the payload.
    pub seed: u64,
}

impl SessionLoad {
    /// What makes the session's redo.
    #[must_use]
    pub fn generator(&self) -> Generator {
        Generator::of(self.payload, Arc::clone(&self.pool), self.number, self.seed)
    }
}

/// A transaction that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Its kind: an index into [`Driver::kinds`].
    pub kind: u16,
    /// When its commit was asked for.
    pub requested: Nanos,
    /// When it returned.
    pub returned: Nanos,
    /// Nanoseconds that it waited until its redo was durable; `None` where it did not wait, or only
    /// the server knows.
    pub sync_ns: Option<u64>,
    /// Where these went: queue, write, flush, wake-up; `None` where that is not known.
    pub path_ns: Option<[u64; 4]>,
    /// The log write that served it, where it is known.
    pub batch: Option<u64>,
}

/// What the target counted for a session, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Records of redo.
    pub records: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Waits for room in the log buffer.
    pub space_waits: WaitSum,
}

/// What a target counted of itself, from its beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverCounters {
    /// Flushes that it asked for beside those of its log writes.
    pub other_flushes: u64,
    /// What adaptive sessions learnt; `None` where the way of waiting is fixed.
    pub learnt: Option<LearntSoFar>,
    /// The log writer's workers, by number.
    pub workers: Vec<WorkerCounts>,
    /// What was counted of TPROC-C; `None` of every other target.
    pub tproc_c: Option<TprocCCounts>,
    /// What a log's database writer and archiver did; `None` where there are none.
    pub log_life: Option<LogLife>,
}

/// What was counted of TPROC-C until a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TprocCCounts {
    /// The moment, on the driver's clock.
    pub at: Nanos,
    /// Warehouses of the schema.
    pub warehouses: u32,
    /// Sum of `d_next_o_id` over all districts; `None` where it could not be read.
    pub next_orders: Option<u64>,
    /// Commits and rollbacks of the server; `None` where it does not report them.
    pub transactions: Option<u64>,
    /// New orders that its sessions rolled back as TPROC-C demands.
    pub rolled_back: u64,
    /// Transactions that its sessions ran again after a deadlock or a serialization failure.
    pub retries: u64,
}

/// What adaptive sessions have learnt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearntSoFar {
    /// Changes between post/wait and polling that stayed.
    pub switches: u64,
    /// Commits of all log writes.
    pub commits: u64,
    /// Those while foregrounds polled.
    pub polled: u64,
    /// The last changes, oldest first, on the driver's clock.
    pub recent: Vec<LearntSwitch>,
}

/// What a worker of the log writer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Writes and flushes.
    pub operations: u64,
    /// Waits for work that ended, with their time, that of a wait which goes on included.
    pub idle: WaitSum,
    /// A wait goes on.
    pub is_idle: bool,
}

/// A target on which transactions run.
pub trait Driver: Send + Sync {
    /// Names of the kinds of transaction, by [`Transaction::kind`]: 1 to [`KINDS_MAX`], each once.
    fn kinds(&self) -> Vec<String> {
        vec![ONLY_KIND.to_owned()]
    }

    /// The clock of its transactions.
    fn clock(&self) -> RealClock;

    /// Whether sessions can run a workload.
    ///
    /// # Errors
    /// Why not, and which workloads can be run.
    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        let _ = workload;
        Ok(())
    }

    /// Makes ready what workloads need, and learns what only a commit shows, such as how the server
    /// opens its log; facts contain it. Called once, after everything was announced and before the
    /// first session. It may commit; the default does nothing.
    ///
    /// # Errors
    /// Of the target.
    fn prepare(&self, workloads: &[&Workload]) -> Result<(), DriverError> {
        let _ = workloads;
        Ok(())
    }

    /// Bytes of redo of a transaction as the target counts them, headers of records included,
    /// where they are known before it runs.
    fn predicted_redo(&self, workload: &Workload) -> Option<u64> {
        let _ = workload;
        None
    }

    /// Opens a session, to be run by a thread of its own.
    ///
    /// # Errors
    /// A workload that the target does not have, or a target that refuses.
    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError>;

    /// Whether [`Driver::group`] opens sessions.
    fn has_groups(&self) -> bool {
        false
    }

    /// Opens sessions that share a thread. The default refuses.
    ///
    /// # Errors
    /// As of [`Driver::session`], and where the target has no way to do so.
    fn group(&self, loads: Vec<SessionLoad>) -> Result<Box<dyn SessionGroup>, DriverError> {
        let _ = loads;
        Err(DriverError::no_groups())
    }

    /// Called again and again while sessions end: serves those who wait for others to commit.
    fn nudge(&self, post: CommitPost) {
        let _ = post;
    }

    /// Called again and again while a row runs: whether what runs beside the sessions (an archiver,
    /// a database writer) goes on.
    ///
    /// # Errors
    /// Why it does not. Sessions may wait for it, or fail with what follows from it.
    fn check(&self) -> Result<(), DriverError> {
        Ok(())
    }

    /// Returns when everything that was committed is durable.
    ///
    /// # Errors
    /// Of the target.
    fn drain(&self) -> Result<(), DriverError> {
        Ok(())
    }

    /// Bytes of redo that the target may keep in memory while nobody waits for them.
    fn buffered_bytes(&self) -> u64 {
        0
    }

    /// Bytes of a block of its log writes, where an observer sees each of these; `None` where log
    /// writes are not observed.
    fn block_bytes(&self) -> Option<u32> {
        None
    }

    /// What it counted of itself so far; no count ever goes back.
    fn counters(&self) -> DriverCounters {
        DriverCounters::default()
    }

    /// What the server of the target has counted so far; `None` of a target that is not a server.
    ///
    /// # Errors
    /// The server does not answer.
    fn server_counts(&self) -> Result<Option<ServerCounts>, DriverError> {
        Ok(None)
    }

    /// How late the server's counts are, at most: the time between the end of the last transaction
    /// and a reading of [`Driver::server_counts`] that contains it.
    fn statistics_delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Begins to sample what its sessions wait for in the server, on a thread of its own; `None`
    /// where that cannot be seen.
    ///
    /// # Errors
    /// The server does not answer.
    fn sample_waits(&self) -> Result<Option<Box<dyn WaitSampling>>, DriverError> {
        Ok(None)
    }

    /// Checks the consistency conditions of what the target stores, where it has any: called after
    /// a row, once its sessions have ended.
    ///
    /// # Errors
    /// Of the target.
    fn conditions(&self) -> Result<Vec<ConsistencyCondition>, DriverError> {
        Ok(Vec::new())
    }

    /// What a run says of it.
    fn facts(&self) -> TargetFacts;

    /// Ends the target, once its sessions have ended: what cannot be ended in order is an error.
    ///
    /// # Errors
    /// Of the target.
    fn close(&self) -> Result<(), DriverError> {
        Ok(())
    }
}

/// A session on a target.
pub trait DriverSession: Send {
    /// Runs its next transaction, and returns when that has returned.
    ///
    /// # Errors
    /// Of the target; the session is of no use any more.
    fn transaction(&mut self) -> Result<Transaction, DriverError>;

    /// How long its user waits before the next transaction; that time is in no latency.
    fn pause(&self) -> Nanos {
        Nanos::ZERO
    }

    /// What the target counted for it; `None` where it does not count by session.
    fn counts(&self) -> Option<SessionCounts> {
        None
    }
}

/// How a transaction of a [`SessionGroup`] began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Its commit is in flight.
    InFlight,
    /// It did not wait, and has returned.
    Returned(Transaction),
}

/// Sessions that share a thread, each with one transaction in flight at most.
pub trait SessionGroup: Send {
    /// Begins the next transaction of the session with that index, at `now`.
    ///
    /// # Errors
    /// Of the target.
    fn begin(&mut self, index: usize, now: Nanos) -> Result<Begun, DriverError>;

    /// No transaction is in flight.
    fn is_idle(&self) -> bool;

    /// Waits until a transaction in flight has ended. How many have and were not taken; 0 where
    /// none is in flight.
    fn wait(&mut self) -> usize;

    /// As [`SessionGroup::wait`], without waiting.
    fn poll(&mut self) -> usize;

    /// A transaction that has ended, learnt at `now`, with the index of its session. It returned at
    /// `now`, so that no time of the session belongs to no transaction.
    ///
    /// # Errors
    /// Of the target.
    fn take(&mut self, now: Nanos) -> Result<Option<(usize, Transaction)>, DriverError>;

    /// As [`DriverSession::counts`], of the session with that index.
    fn counts(&self, index: usize) -> Option<SessionCounts>;
}

/// A directory that is held open, because its path may change hands.
#[derive(Clone, Debug)]
pub struct HeldFolder {
    /// The directory.
    pub held: Arc<OwnedFd>,
    /// Its path when it was made.
    pub path: PathBuf,
}

/// Empty directories for a server of redolab's own, each in a work folder.
#[derive(Clone, Debug)]
pub struct ManagedFolders {
    /// Where its data goes.
    pub data: HeldFolder,
    /// Where its redo goes.
    pub log: HeldFolder,
}

/// A server of redolab's own that a driver is to make, use and remove.
#[derive(Clone, Debug)]
pub struct ManagedPlan {
    /// The directory of the server's programs; `None` for those that are installed.
    pub programs: Option<PathBuf>,
    /// Settings beside the driver's own, by the server's names.
    pub settings: BTreeMap<String, String>,
    /// Whether the user asked to stop.
    pub interrupted: Arc<AtomicBool>,
}

/// What a driver can do with servers of redolab's own.
#[derive(Clone, Copy, Debug)]
pub struct ManagedKind {
    /// Names of the driver, of its name and schemes, under which it makes servers: a driver of
    /// several products may be able to make those of one only.
    pub products: &'static [&'static str],
    /// Whether a server that is made with these settings, and the driver's own, can run a workload.
    pub accepts: fn(&Workload, &BTreeMap<String, String>) -> Result<(), DriverError>,
    /// Bytes of a new server: data, redo.
    pub footprint_bytes: fn(&ManagedPlan) -> [u64; 2],
    /// Bytes that making and starting it writes at most, by estimate.
    pub making_bytes: fn(&ManagedPlan) -> u64,
    /// Makes and starts a server. It ends when its driver is closed or dropped.
    pub make: fn(&ManagedPlan, &ManagedFolders) -> Result<OpenedTarget, DriverError>,
}

/// A kind of driver that opens targets by their address.
#[derive(Clone, Copy, Debug)]
pub struct DriverKind {
    /// Its name in options and plans.
    pub name: &'static str,
    /// What the addresses of its targets begin with, before `://`.
    pub schemes: &'static [&'static str],
    /// What an address looks like, for messages.
    pub address: &'static str,
    /// Opens the target with that address. What may be shown of the address, without a password, is
    /// in its result.
    pub open: fn(&str) -> Result<OpenedTarget, DriverError>,
    /// How it makes servers of redolab's own, if it does.
    pub managed: Option<ManagedKind>,
}

impl DriverKind {
    /// Whether `name` is its name or one of its schemes.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.schemes.contains(&name)
    }
}

impl OpenedTarget {
    /// Checks the names of its kinds of transaction.
    ///
    /// # Errors
    /// None, too many, or one twice.
    pub fn check(&self) -> Result<(), DriverError> {
        let kinds = self.driver.kinds();
        let names: std::collections::BTreeSet<&String> = kinds.iter().collect();
        if kinds.is_empty() || kinds.len() > KINDS_MAX || names.len() < kinds.len() {
            return Err(DriverError::failed(format!(
                "a driver has 1 to {KINDS_MAX} kinds of transaction, each with a name of its own"
            )));
        }
        Ok(())
    }
}

/// A target that was opened by its address.
pub struct OpenedTarget {
    /// Its driver.
    pub driver: Box<dyn Driver>,
    /// The address as results show it: without a password.
    pub shown: String,
}
